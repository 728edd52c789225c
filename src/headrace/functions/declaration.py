"""How a function is declared: its name, what it does, and for each signature the SQL it becomes.

In a template `{0}` is the first argument, `{*}` all of them with commas, `{type}` the result's type in Spark. Arguments come converted to the parameters' types.
A rule may be a Python function of (arguments as SQL, their types) instead, and say the result's type itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from headrace.functions.signature import LambdaType, Signature, parse_signature, substitute
from headrace.functions.sql_types import spark_type
from headrace.plan.conversions import widens
from headrace.plan.types import DataType, Decimal

Sql = str | Callable[[Sequence[str], Sequence[DataType]], str]
ResultType = Callable[[Sequence[DataType]], DataType | None]

# What is wrong with a constant, or None. Spark throws at a record for a pattern or a zone that it cannot read, so these are never taken from data.
Constant = str | int | float | bool
ConstantCheck = Callable[[Constant], str | None]
ConstantsCheck = Callable[[Sequence[Constant | None]], str | None]

_HOLE = re.compile(r"\{(\*|\d+|type)\}")


@dataclass(frozen=True)
class Rule:
    """The SQL of one signature; `result` gives the type where the signature's text cannot (None: it does not take these)."""

    sql: Sql
    result: ResultType | None = None
    convert: bool = True


@dataclass(frozen=True)
class Overload:
    signature: Signature
    rule: Rule


@dataclass(frozen=True)
class Match:
    """An overload with the types its variables have in one call."""

    overload: Overload
    parameters: tuple[DataType, ...]
    result: DataType

    def sql(self, arguments: Sequence[str], types: Sequence[DataType]) -> str:
        rule = self.overload.rule
        converted = [
            convert_sql(sql, type_, wanted) if rule.convert else sql
            for sql, type_, wanted in zip(arguments, types, self.parameters)
        ]
        if not isinstance(rule.sql, str):
            return rule.sql(converted, self.parameters if rule.convert else types)
        return fill(rule.sql, converted, self.result)


@dataclass(frozen=True)
class Function:
    """A scalar function."""

    name: str
    doc: str
    overloads: tuple[Overload, ...]
    subject: str = ""
    constants: Mapping[int, ConstantCheck] = field(default_factory=dict)
    together: ConstantsCheck | None = None

    def match(self, types: Sequence[DataType]) -> Match | None:
        """The overload for these argument types: an exact one before one that converts."""
        matches = [found for overload in self.overloads if (found := _match(overload, types)) is not None]
        exact = [found for found in matches if tuple(types) == found.parameters]
        return next(iter(exact or matches), None)

    def signatures(self) -> list[str]:
        return [f"{self.name}{overload.signature}" for overload in self.overloads]


def function(
    name: str,
    doc: str,
    overloads: Mapping[str, Sql | Rule],
    constants: Mapping[int, ConstantCheck] | None = None,
    together: ConstantsCheck | None = None,
) -> Function:
    """Declares a function: its signatures' texts and their SQL, and the arguments that must be constants."""
    return Function(name, doc, declared(overloads), constants=constants or {}, together=together)


def declared(overloads: Mapping[str, Sql | Rule]) -> tuple[Overload, ...]:
    return tuple(
        Overload(parse_signature(text), sql if isinstance(sql, Rule) else Rule(sql)) for text, sql in overloads.items()
    )


def _match(overload: Overload, types: Sequence[DataType]) -> Match | None:
    signature = overload.signature
    bound = signature.bind(types)
    if bound is None:
        return None
    parameters = tuple(_parameter(signature.parameter(position), one, bound) for position, one in enumerate(types))
    result = overload.rule.result(types) if overload.rule.result else substitute(signature.result, bound)
    return None if result is None else Match(overload, parameters, result)


def _parameter(pattern: DataType, argument: DataType, bound: Mapping[str, DataType]) -> DataType:
    wanted = substitute(pattern, bound)
    if isinstance(wanted, LambdaType):
        return argument
    # ANY and DECIMAL take the argument as it is.
    return wanted if widens(argument, wanted) else argument


def convert_sql(sql: str, from_: DataType, to: DataType) -> str:
    """A widening conversion, written only where it changes the type."""
    return sql if from_ == to else f"CAST({sql} AS {spark_type(to)})"


def fill(template: str, arguments: Sequence[str], result: DataType) -> str:
    """The template with its holes filled, in one pass: an argument's own braces are left alone."""

    def hole(found: re.Match[str]) -> str:
        name = found[1]
        if name == "*":
            return ", ".join(arguments)
        return spark_type(result) if name == "type" else arguments[int(name)]

    text = _HOLE.sub(hole, template)
    # Spark widens decimals by rules of its own: the declared type is made sure of.
    return f"CAST({text} AS {spark_type(result)})" if isinstance(result, Decimal) and "{type}" not in template else text
