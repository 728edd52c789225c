"""The schema registry: Confluent's API over a compacted topic. Reaches a broker only through a Kafka client."""
