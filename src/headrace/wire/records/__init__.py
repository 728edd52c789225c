"""Records that Kafka itself writes: its metadata log, its groups, its control batches."""
