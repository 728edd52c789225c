"""Signatures of functions, written as text: `ARRAY<T>, (T) => R -> ARRAY<R>`.

A single capital letter is a type variable: all its arguments get their common type. `N` and `M` are numbers, `C` and `K` hold no map, others anything. `X...` as the last parameter
stands for one or more. `DECIMAL` without digits is any decimal, `ANY` any type, each argument its own. What does not match is a `SignatureError`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headrace.plan.conversions import common_type, holds_map, is_number, widens
from headrace.plan.types import PRIMITIVES, Array, DataType, Decimal, Field, Map, Struct

NUMBERS = ("N", "M")
COMPARABLE = ("C", "K")


@dataclass(frozen=True)
class TypeVariable(DataType):
    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class AnyDecimal(DataType):
    def __str__(self) -> str:
        return "DECIMAL"


@dataclass(frozen=True)
class AnyType(DataType):
    def __str__(self) -> str:
        return "ANY"


@dataclass(frozen=True)
class LambdaType(DataType):
    parameters: tuple[DataType, ...]
    result: DataType

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.parameters))}) => {self.result}"


@dataclass(frozen=True)
class Signature:
    """The parameters and the result, which may be a variable."""

    parameters: tuple[DataType, ...]
    variadic: bool
    result: DataType

    def __str__(self) -> str:
        dots = "..." if self.variadic else ""
        return f"({', '.join(map(str, self.parameters))}{dots}) -> {self.result}"

    def parameter(self, position: int) -> DataType:
        return self.parameters[min(position, len(self.parameters) - 1)]

    def takes(self, count: int) -> bool:
        return count >= len(self.parameters) if self.variadic else count == len(self.parameters)

    def bind(self, arguments: Sequence[DataType | None]) -> dict[str, DataType] | None:
        """The variables' types for these arguments; None when the signature does not take them. An argument not known yet is None."""
        if not self.takes(len(arguments)):
            return None
        bound: dict[str, DataType] = {}
        for position, argument in enumerate(arguments):
            if argument is not None and not _unify(self.parameter(position), argument, bound):
                return None
        return bound


def substitute(pattern: DataType, bound: Mapping[str, DataType]) -> DataType:
    """The pattern with its variables replaced."""
    match pattern:
        case TypeVariable(name):
            return bound.get(name, pattern)
        case Array(item):
            return Array(substitute(item, bound))
        case Map(key, value):
            return Map(substitute(key, bound), substitute(value, bound))
        case Struct(fields):
            return Struct(tuple(Field(one.name, substitute(one.type, bound)) for one in fields))
        case LambdaType(parameters, result):
            return LambdaType(tuple(substitute(one, bound) for one in parameters), substitute(result, bound))
    return pattern


def _unify(pattern: DataType, argument: DataType, bound: dict[str, DataType]) -> bool:
    match pattern:
        case TypeVariable(name):
            return _bind_variable(name, argument, bound)
        case AnyDecimal():
            return isinstance(argument, Decimal)
        case AnyType():
            return True
        case LambdaType(_, result):
            return _unify(result, argument, bound)
        case Array(item):
            return isinstance(argument, Array) and _unify(item, argument.item, bound)
        case Map(key, value):
            return (
                isinstance(argument, Map) and _unify(key, argument.key, bound) and _unify(value, argument.value, bound)
            )
        case Struct(fields):
            return (
                isinstance(argument, Struct)
                and argument.names == tuple(one.name for one in fields)
                and all(_unify(one.type, given.type, bound) for one, given in zip(fields, argument))
            )
    return widens(argument, pattern)


def _bind_variable(name: str, argument: DataType, bound: dict[str, DataType]) -> bool:
    if (name in NUMBERS and not is_number(argument)) or (name in COMPARABLE and holds_map(argument)):
        return False
    both = common_type(bound[name], argument) if name in bound else argument
    if both is None:
        return False
    bound[name] = both
    return True


def parse_signature(text: str) -> Signature:
    """A signature from its text. Only declarations are read with it, so what is wrong is a bug and raises at import."""
    reader = _Reader(text)
    parameters: list[DataType] = []
    variadic = False
    while not reader.take("->"):
        parameters.append(reader.parameter())
        variadic = reader.take("...")
        reader.take(",")
    result = reader.type()
    if reader.tokens:
        raise ValueError(f"{text!r}: {reader.tokens} left over")
    return Signature(tuple(parameters), variadic, result)


class _Reader:
    def __init__(self, text: str) -> None:
        self.tokens = re.findall(r"->|=>|\.\.\.|[A-Za-z_][A-Za-z0-9_]*|[<>(),]", text)

    def take(self, token: str) -> bool:
        if self.tokens and self.tokens[0] == token:
            del self.tokens[0]
            return True
        return False

    def expect(self, token: str) -> None:
        if not self.take(token):
            raise ValueError(f"expected {token!r} before {self.tokens}")

    def parameter(self) -> DataType:
        if not self.take("("):
            return self.type()
        parameters = [self.type()]
        while self.take(","):
            parameters.append(self.type())
        self.expect(")")
        self.expect("=>")
        return LambdaType(tuple(parameters), self.type())

    def type(self) -> DataType:
        word = self.tokens.pop(0)
        if word == "ARRAY":
            self.expect("<")
            item = self.type()
            self.expect(">")
            return Array(item)
        if word == "MAP":
            self.expect("<")
            key = self.type()
            self.expect(",")
            value = self.type()
            self.expect(">")
            return Map(key, value)
        if word == "STRUCT":
            return self.struct()
        if word == "DECIMAL":
            return AnyDecimal()
        if word == "ANY":
            return AnyType()
        return TypeVariable(word) if len(word) == 1 else PRIMITIVES[word]

    def struct(self) -> DataType:
        self.expect("<")
        fields: list[Field] = []
        while not self.take(">"):
            name = self.tokens.pop(0)
            fields.append(Field(name, self.type()))
            self.take(",")
        return Struct(tuple(fields))
