"""A real broker for tests: in this process within a tenth of a second, or as a process of its own that can be killed.

    from headrace.testing import broker

    def test_orders():
        with broker() as b:
            b.create_topic("orders", partitions=3)
            my_service(bootstrap_servers=b.bootstrap_servers)

`broker` takes Kafka's server settings as keywords (`num_partitions=3`) or as a mapping, a `ManualClock` to set the time and a file
system from `headrace.testing.faults` to make disks slow, full or broken. `broker_process` gives the same as a child process for
tests with `kill -9`. The pytest fixtures `headrace_broker` and `headrace_shared_broker` come with the package. Nothing here is
private to Headrace: its own tests use exactly this.

`StreamsDriver` runs a streams app on given records and returns what comes out: see `headrace.testing.streams`.
"""

from typing import Any

from headrace.clock import Clock, ManualClock
from headrace.testing.in_process import LocalBroker, broker
from headrace.testing.process import BrokerDied, BrokerProcess, broker_process
from headrace.testing.waiting import wait_until

__all__ = [
    "BrokerDied",
    "BrokerProcess",
    "Clock",
    "LocalBroker",
    "ManualClock",
    "StreamsDriver",
    "broker",
    "broker_process",
    "wait_until",
]


def __getattr__(name: str) -> Any:
    """`StreamsDriver` comes when it is asked for: whoever tests a Kafka client does not pay for the Streams API."""
    if name != "StreamsDriver":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from headrace.testing.streams import StreamsDriver

    return StreamsDriver
