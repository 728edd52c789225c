"""One file per API: its request, its response and the structs in them, as Kafka 4.3 has them."""
