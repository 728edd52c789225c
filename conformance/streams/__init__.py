"""Headrace's pipelines held against Kafka Streams: the same plans and records through both."""
