"""How keys and values lie in bytes: one declaration per format, as Spark SQL for pipelines and in Python for tables, tests and the command line.

`FORMATS` holds them by name. To add one: a `Format` in a file of its own and a line here. Needs no pyspark.
"""

from __future__ import annotations

from headrace.formats.delimited_format import DelimitedFormat
from headrace.formats.format import DecodeSql, Format, FormatError
from headrace.formats.json_format import JsonFormat
from headrace.formats.kafka_format import KafkaFormat
from headrace.formats.none_format import NoneFormat
from headrace.plan.plan import Plan, PlanError
from headrace.plan.scope import one_of
from headrace.plan.serdes import Serde
from headrace.plan.steps import SOURCES, Sink

__all__ = ["FORMATS", "DecodeSql", "Format", "FormatError", "Formats", "check_serdes"]


class Formats(dict[str, Format]):
    """Formats by name. Fulfils `headrace.plan.catalogue.Formats`."""

    def check(self, serde: Serde, is_key: bool) -> None:
        """`FormatError` when the serde's format is not there or cannot hold its columns and options."""
        found = self.get(serde.format)
        if found is None:
            raise FormatError(f"there is no format {serde.format!r}{one_of(serde.format, self)}")
        found.check(serde, is_key)


FORMATS = Formats({one.name: one for one in (JsonFormat(), KafkaFormat(), DelimitedFormat(), NoneFormat())})


def check_serdes(plan: Plan) -> None:
    """`PlanError` for the first source or sink whose serde no format can carry."""
    for step in plan.steps:
        if isinstance(step, (*SOURCES, Sink)):
            for what, serde, is_key in (("key", step.key, True), ("value", step.value, False)):
                try:
                    FORMATS.check(serde, is_key)
                except FormatError as error:
                    raise PlanError(step.id, f"the {what}: {error}") from None
