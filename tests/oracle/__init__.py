"""When in doubt, ask the original: the same requests to Apache Kafka and to Headrace, every answer compared field by field.

Kafka's answers are kept in `golden/`, so the comparison needs no Java; `python -m tests.oracle.record` asks Kafka anew.
"""
