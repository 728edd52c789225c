"""The parts of one topic's page: records, live, partitions, readers, settings, and what can be written."""
