"""What the plan needs to know of functions and formats, without importing them: `headrace.functions` and `headrace.formats` fulfil these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from headrace.plan.expressions import Literal
from headrace.plan.serdes import Serde
from headrace.plan.types import DataType


class SignatureError(ValueError):
    """Arguments that a function does not take; says which it takes."""


class Functions(Protocol):
    """The catalogue of scalar and aggregate functions."""

    def result_type(self, name: str, arguments: Sequence[DataType]) -> DataType:
        """The type of a call; `SignatureError` when there is no such function or it takes other arguments."""
        ...

    def lambda_parameters(self, name: str, position: int, arguments: Sequence[DataType | None]) -> tuple[DataType, ...]:
        """The types of the parameters of the lambda at `position`; `arguments` has None for arguments not typed yet."""
        ...

    def check_constants(self, name: str, arguments: Sequence[Literal | None]) -> None:
        """`SignatureError` when an argument that must be a constant is none (None) or one that the function cannot use."""
        ...

    def aggregate_type(self, name: str, arguments: Sequence[DataType]) -> DataType:
        """The type of an aggregate's result."""
        ...

    def aggregate_undoes(self, name: str, arguments: Sequence[DataType]) -> bool:
        """Whether the aggregate can take a row out again, as aggregates of tables need."""
        ...


class Formats(Protocol):
    """The formats of keys and values."""

    def check(self, serde: Serde, is_key: bool) -> None:
        """`ValueError` when there is no such format, or it cannot hold these columns or options; says what it can."""
        ...
