"""Broker settings for listeners, connections, requests and the HTTP port."""

from __future__ import annotations

from headrace.settings.definition import INT_MAX, AtLeast, Between, Items, Setting, Type, Update
from headrace.settings.listeners import HostCounts

SETTINGS = (
    Setting(
        "listeners",
        Type.LIST,
        ["PLAINTEXT://127.0.0.1:9092"],
        "Where the broker listens: NAME://host:port, several with commas. An empty host means every address, port 0 any free one, and an "
        "IPv6 address stands in brackets. Loopback by default: nothing is reachable from other machines until this is set.",
        Items(may_be_empty=False),
        "high",
    ),
    Setting(
        "advertised.listeners",
        Type.LIST,
        None,
        "The addresses that clients are told to connect to, per listener name, when they differ from listeners: behind a proxy, in a "
        "container, or when listening on every address.",
        Items(may_be_empty=False),
        "high",
    ),
    Setting(
        "listener.security.protocol.map",
        Type.STRING,
        "PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL",
        "Which security protocol a listener name stands for. Only PLAINTEXT exists so far. CONTROLLER is taken as PLAINTEXT unless mapped.",
        None,
        "low",
    ),
    Setting(
        "inter.broker.listener.name",
        Type.STRING,
        None,
        "The listener that brokers use among themselves. A single node registers under it and uses it for nothing else.",
    ),
    Setting(
        "socket.request.max.bytes",
        Type.INT,
        100 * 1024 * 1024,
        "The largest request the broker reads. A connection that announces a larger one is closed.",
        AtLeast(1),
        "high",
    ),
    Setting(
        "socket.send.buffer.bytes",
        Type.INT,
        -1,
        "Send buffer of client sockets (SO_SNDBUF); -1 leaves it to the operating system. (Apache Kafka's default is 102400.)",
        AtLeast(-1),
        "high",
    ),
    Setting(
        "socket.receive.buffer.bytes",
        Type.INT,
        -1,
        "Receive buffer of client sockets (SO_RCVBUF); -1 leaves it to the operating system. (Apache Kafka's default is 102400.)",
        AtLeast(-1),
        "high",
    ),
    Setting(
        "socket.listen.backlog.size",
        Type.INT,
        1024,
        "How many connections the operating system may hold before the broker accepts them. (Apache Kafka's default is 50.)",
        AtLeast(1),
    ),
    Setting(
        "max.connections",
        Type.INT,
        INT_MAX,
        "How many connections a broker accepts. Further ones are closed at once.",
        AtLeast(0),
        update=Update.CLUSTER_WIDE,
    ),
    Setting(
        "max.connections.per.ip",
        Type.INT,
        INT_MAX,
        "How many connections one address may hold. Further ones are closed at once.",
        AtLeast(0),
        update=Update.CLUSTER_WIDE,
    ),
    Setting(
        "max.connections.per.ip.overrides",
        Type.STRING,
        "",
        "Other limits for some addresses: host:count, several with commas. Names are looked up when this is set.",
        HostCounts(),
        update=Update.CLUSTER_WIDE,
    ),
    Setting(
        "connections.max.idle.ms",
        Type.LONG,
        10 * 60 * 1000,
        "A connection without a request for this long is closed. Negative never closes one.",
    ),
    Setting(
        "queued.max.request.bytes",
        Type.LONG,
        -1,
        "How many bytes of requests may wait or be worked on before the broker stops reading from sockets. -1 sets no limit beyond "
        "headrace.max.inflight.bytes.",
    ),
    Setting(
        "fetch.max.bytes",
        Type.INT,
        55 * 1024 * 1024,
        "The most bytes that one fetch is answered with, however much a client asks for.",
        AtLeast(1024),
    ),
    Setting(
        "max.incremental.fetch.session.cache.slots",
        Type.INT,
        1000,
        "How many incremental fetch sessions the broker remembers.",
        AtLeast(0),
    ),
    Setting(
        "max.request.partition.size.limit",
        Type.INT,
        2000,
        "How many partitions one DescribeTopicPartitions answer holds at most.",
        AtLeast(1),
    ),
    Setting(
        "num.io.threads",
        Type.INT,
        8,
        "How many threads read from disks on behalf of the event loop what is not in the page cache.",
        AtLeast(1),
        "high",
        Update.CLUSTER_WIDE,
    ),
    Setting(
        "headrace.http.port",
        Type.INT,
        -1,
        "Port for /metrics (Prometheus) and /healthz. 0 picks a free one, -1 opens none.",
        Between(-1, 65535),
    ),
    Setting(
        "headrace.http.host",
        Type.STRING,
        "127.0.0.1",
        "The address the HTTP port is opened on.",
    ),
    Setting(
        "headrace.max.inflight.bytes",
        Type.LONG,
        256 * 1024 * 1024,
        "How many bytes of requests and unsent responses the broker holds in memory before it stops reading from sockets.",
        AtLeast(1024 * 1024),
        "high",
    ),
)
