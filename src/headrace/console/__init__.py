"""The web console: pages over a cluster and Headrace's services. Reaches them only as anybody may, through Kafka's protocol and HTTP, so it serves Apache Kafka as well."""
