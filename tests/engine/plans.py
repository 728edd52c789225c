"""Small plans for the tests of the engine."""

from headrace.plan.plan import Plan
from headrace.plan.serdes import Serde
from headrace.plan.steps import Sink, StreamSource
from headrace.plan.types import STRING, struct

TEXT = Serde("kafka", struct(key=STRING), wrapped=False)
VALUE = Serde("kafka", struct(value=STRING), wrapped=False)


def copy_plan(name: str = "copy", source: str = "in", sink: str = "out") -> Plan:
    return Plan(name, (StreamSource("source", source, TEXT, VALUE), Sink("sink", "source", sink, TEXT, VALUE)))
