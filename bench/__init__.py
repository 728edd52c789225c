"""Headrace and Apache Kafka side by side, same machine, same client, alternating runs; only ratios are claimed."""
