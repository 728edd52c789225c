"""The Python faces of the Scala processors: one function each, which takes a keyed flow and a frozen specification and gives a flow.

The keyed flow: `key STRUCT NOT NULL, side INT, left STRUCT, right STRUCT, undo BOOLEAN, ts TIMESTAMP, topic STRING, partition INT,
offset BIGINT`, and `window_start, window_end BIGINT` where keys are windowed; a processor says which of them it reads, the others may be
missing. What comes out: `key STRUCT, value STRUCT, old STRUCT, ts TIMESTAMP, window_start BIGINT, window_end BIGINT`; a null value deletes.

Nothing here decides what a plan means, and no SQL is made here: texts come from the lowering, already quoted.
"""
