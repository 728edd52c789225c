"""Compaction: of the records of a key only the last one stays, and offsets do not change.

`planning` says what of a log may be cleaned, `cleaning` writes closed segments anew beside the old ones (in a process of its
own, see `worker`), `swapping` puts the new files in their place. The rules are those of Kafka's log cleaner.
"""
