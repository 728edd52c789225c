"""Group settings (resource type 32) and client-metrics subscriptions (resource type 16), as Kafka 4.3 declares them.

The classic group protocol uses none of the group settings; they are stored, checked and described for the newer protocols to use.
"""

from __future__ import annotations

from headrace.settings.definition import AtLeast, Items, OneOf, Setting, Synonym, Type

_DECLARED = (
    Setting(
        "consumer.assignment.interval.ms",
        Type.INT,
        1000,
        "The shortest time between two assignments of a group of the new consumer protocol.",
        AtLeast(0),
    ),
    Setting(
        "consumer.heartbeat.interval.ms",
        Type.INT,
        5000,
        "How often members of the new consumer protocol send heartbeats.",
        AtLeast(1),
        synonyms=(Synonym("group.consumer.heartbeat.interval.ms"),),
    ),
    Setting(
        "consumer.session.timeout.ms",
        Type.INT,
        45000,
        "A member of the new consumer protocol is removed after this long without a heartbeat.",
        AtLeast(1),
        synonyms=(Synonym("group.consumer.session.timeout.ms"),),
    ),
    Setting(
        "share.assignment.interval.ms",
        Type.INT,
        1000,
        "The shortest time between two assignments of a share group.",
        AtLeast(0),
    ),
    Setting(
        "share.auto.offset.reset",
        Type.STRING,
        "latest",
        "Where a share group starts in a partition that it has not read yet: earliest, latest or by_duration:<ISO-8601 duration>.",
    ),
    Setting(
        "share.delivery.count.limit",
        Type.INT,
        5,
        "How often a record is offered to a share group before it is given up.",
        AtLeast(2),
    ),
    Setting(
        "share.heartbeat.interval.ms", Type.INT, 5000, "How often members of a share group send heartbeats.", AtLeast(1)
    ),
    Setting(
        "share.isolation.level",
        Type.STRING,
        "read_uncommitted",
        "Whether a share group sees records of open and aborted transactions.",
        OneOf(("read_committed", "read_uncommitted")),
    ),
    Setting(
        "share.partition.max.record.locks",
        Type.INT,
        2000,
        "How many records of a partition a share group may have handed out at once.",
        AtLeast(100),
    ),
    Setting(
        "share.record.lock.duration.ms",
        Type.INT,
        30000,
        "How long a member of a share group may keep a record before another one gets it.",
        AtLeast(1000),
    ),
    Setting(
        "share.renew.acknowledge.enable",
        Type.BOOLEAN,
        True,
        "Whether members of a share group may extend the time they keep a record.",
    ),
    Setting(
        "share.session.timeout.ms",
        Type.INT,
        45000,
        "A member of a share group is removed after this long without a heartbeat.",
        AtLeast(1),
    ),
    Setting(
        "streams.assignment.interval.ms",
        Type.INT,
        1000,
        "The shortest time between two assignments of a streams group.",
        AtLeast(0),
    ),
    Setting(
        "streams.heartbeat.interval.ms",
        Type.INT,
        5000,
        "How often members of a streams group send heartbeats.",
        AtLeast(1),
    ),
    Setting(
        "streams.initial.rebalance.delay.ms",
        Type.INT,
        3000,
        "How long a new streams group waits for more members before its first assignment.",
        AtLeast(0),
    ),
    Setting(
        "streams.num.standby.replicas",
        Type.INT,
        0,
        "How many standby copies of state a streams group keeps.",
        AtLeast(0),
    ),
    Setting(
        "streams.session.timeout.ms",
        Type.INT,
        45000,
        "A member of a streams group is removed after this long without a heartbeat.",
        AtLeast(1),
    ),
)

GROUP_SETTINGS: dict[str, Setting] = {setting.name: setting for setting in _DECLARED}

CLIENT_METRICS_SETTINGS: dict[str, Setting] = {
    setting.name: setting
    for setting in (
        Setting(
            "interval.ms", Type.INT, 300000, "How often clients push the metrics of this subscription.", AtLeast(100)
        ),
        Setting(
            "match", Type.LIST, [], "Which clients a subscription is for: selectors such as client_id=app-.*.", Items()
        ),
        Setting(
            "metrics",
            Type.LIST,
            [],
            "Which metrics a subscription asks for, by name prefix; empty asks for none.",
            Items(),
        ),
    )
}
