"""Bytes to messages and back: frames, messages, record batches, compression.

This package owns Kafka's formats and nothing else. It does no I/O, keeps no state between calls and imports nothing of
Headrace. Whatever bytes a peer sends, a decoder here returns a message or raises `errors.WireError`.
"""
