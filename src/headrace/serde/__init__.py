"""Records in the framing of a schema registry, for people: JSON in, bytes out, and back.

Avro, JSON Schema and Protobuf. The registry is whoever answers `SchemaSource`, over HTTP or in a test; nothing here reaches for a network itself.
"""
