"""Users' Python functions as functions of Spark SQL, and what becomes of their exceptions.

A call gives a struct of `value` and `error`: an exception is data, so that the record can leave for the processing log with its reason and
the pipeline lives on. Functions are looked up by reference, from modules that the settings allow.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

from headrace.functions.sql_text import spark_type
from headrace.plan.expressions import PythonCall
from headrace.plan.plan import PlanError
from headrace.plan.python_code import CodeReferenceError, adapted, resolve
from headrace.plan.types import DataType
from headrace.spark.python_values import checked, plain

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class PythonFunctions:
    """The functions of one query's session."""

    def __init__(self, session: SparkSession, allowed_modules: Collection[str] | None) -> None:
        self._session = session
        share_import_path(session)
        self._allowed = allowed_modules
        self._names: dict[tuple[str, str, tuple[str, ...]], str] = {}

    def name(self, call: PythonCall, arguments: Sequence[DataType]) -> str:
        """The SQL function that a call is; registered when it is first met."""
        known = (call.reference, str(call.type), tuple(map(str, arguments)))
        if known not in self._names:
            self._names[known] = self._register(call, arguments, known)
        return self._names[known]

    def _register(self, call: PythonCall, arguments: Sequence[DataType], known: tuple[object, ...]) -> str:
        from pyspark.sql.functions import udf

        try:
            function = adapted(resolve(call.reference, self._allowed))
        except CodeReferenceError as error:
            raise PlanError("", str(error)) from error
        # The same call has the same name after a restart, and takes the place of the one before.
        name = "headrace_python_" + hashlib.sha256(repr(known).encode()).hexdigest()[:16]
        returned = f"STRUCT<value: {spark_type(call.type)}, error: STRING>"
        wrapped = udf(guarded(function, call.reference, tuple(arguments), call.type), returned, useArrow=True)
        self._session.udf.register(name, wrapped.asNondeterministic())
        return name


def share_import_path(session: SparkSession) -> None:
    """On this machine Python workers find the modules that this process finds. Elsewhere they have what is installed there."""
    context = session.sparkContext
    if str(context.master).startswith("local"):
        context.environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)


def guarded(
    function: Callable[..., Any], reference: str, arguments: tuple[DataType, ...], result: DataType
) -> Callable[..., tuple[Any, str | None]]:
    """The function over Spark's values, with its exception as the second part of its result."""

    def call(*values: Any) -> tuple[Any, str | None]:
        try:
            outcome = function(*(plain(value, type_) for value, type_ in zip(values, arguments, strict=True)))
            return checked(outcome, result), None
        except Exception as error:
            return None, f"{reference}: {type(error).__name__}: {error}"[:1000]

    return call
