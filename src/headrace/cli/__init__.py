"""The `headrace` command: what people type. Talks to any Kafka broker through `headrace.client` and to nothing else."""
