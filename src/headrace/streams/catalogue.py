"""The functions of `headrace.functions` as the tracer sees them: the type of a call, with errors at the user's line."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from headrace.plan.catalogue import Functions, SignatureError
from headrace.plan.types import DataType
from headrace.streams.errors import StreamsError


@cache
def functions() -> Any:
    """The catalogue, which fulfils `plan.catalogue.Functions` and lists its names."""
    from headrace.functions import CATALOGUE

    return CATALOGUE


def result_type(name: str, arguments: Sequence[DataType]) -> DataType:
    catalogue: Functions = functions()
    try:
        return catalogue.result_type(name, arguments)
    except SignatureError as error:
        raise StreamsError(str(error)) from None


def lambda_parameters(name: str, position: int, arguments: Sequence[DataType | None]) -> tuple[DataType, ...]:
    catalogue: Functions = functions()
    try:
        return catalogue.lambda_parameters(name, position, arguments)
    except SignatureError as error:
        raise StreamsError(str(error)) from None


def aggregate_type(name: str, arguments: Sequence[DataType]) -> DataType:
    catalogue: Functions = functions()
    try:
        return catalogue.aggregate_type(name, arguments)
    except SignatureError as error:
        raise StreamsError(str(error)) from None
