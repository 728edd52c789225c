"""Other projects' programs and test suites, run on Headrace and on Apache Kafka side by side."""
