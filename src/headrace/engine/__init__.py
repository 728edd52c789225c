"""The pipeline service: keeps which pipelines are wanted, runs them on one Spark session, and answers for them over HTTP.

Reaches brokers through a Kafka client only, so it runs on Headrace and on Apache Kafka alike.
"""
