"""Pipelines measured: Headrace's against hand-written PySpark and Kafka Streams, as throughput, CPU, latency, idling and start."""
