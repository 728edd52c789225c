"""Broker settings for compaction. How a topic is compacted is in the topic's settings, whose defaults are in `log.py`."""

from __future__ import annotations

import sys

from headrace.settings.definition import AtLeast, Between, Setting, Type, Update
from headrace.settings.topic import MIB

_LIVE = Update.CLUSTER_WIDE

SETTINGS = (
    Setting(
        "log.cleaner.enable", Type.BOOLEAN, True, "Whether topics with `cleanup.policy=compact` are compacted at all."
    ),
    Setting(
        "log.cleaner.threads",
        Type.INT,
        1,
        "How many logs are compacted at the same time, each by a process of its own that lives as long as there is work.",
        AtLeast(0),
        update=_LIVE,
    ),
    Setting(
        "log.cleaner.backoff.ms",
        Type.LONG,
        15_000,
        "How long compaction rests when no log needs it.",
        AtLeast(0),
        update=_LIVE,
    ),
    Setting(
        "log.cleaner.dedupe.buffer.size",
        Type.LONG,
        128 * MIB,
        "How many keys one round can tell apart: one for each 24 bytes, over all processes, as Kafka counts. "
        "A key takes about 150 bytes of memory here while its log is compacted.",
        AtLeast(MIB),
        update=_LIVE,
    ),
    Setting(
        "log.cleaner.io.buffer.load.factor",
        Type.DOUBLE,
        0.9,
        "The part of log.cleaner.dedupe.buffer.size that is used.",
        Between(0, 1),
        update=_LIVE,
    ),
    Setting(
        "log.cleaner.io.max.bytes.per.second",
        Type.DOUBLE,
        sys.float_info.max,
        "What compaction may read and write per second, over all processes.",
        AtLeast(1),
        update=_LIVE,
    ),
)
