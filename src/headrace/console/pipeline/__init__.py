"""The parts of one pipeline's page: its tables, and the records it could not read."""
