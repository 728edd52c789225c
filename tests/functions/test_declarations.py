"""Every declared function: Spark gives it the type that its declaration says, for every signature and several types of its variables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from headrace.functions import CATALOGUE
from headrace.functions.signature import AnyDecimal, AnyType, LambdaType, Signature, substitute
from headrace.functions.sql_types import spark_type
from headrace.plan.catalogue import SignatureError
from headrace.plan.types import BIGINT, BOOLEAN, DOUBLE, INTEGER, STRING, TIMESTAMP, Array, DataType, Decimal, Map

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SAMPLES = (BIGINT, STRING, INTEGER, DOUBLE, Decimal(10, 2))


def calls(name: str, signature: Signature) -> Iterator[tuple[list[str], list[DataType]]]:
    """Arguments for a signature, as SQL, and their types."""
    patterns = [*signature.parameters, *signature.parameters[-1:] * signature.variadic]
    if name == "map":
        patterns = patterns[:2] * 2
    for sample in SAMPLES:
        bound = dict.fromkeys("TKCVRSU", sample) | dict.fromkeys("NM", sample if sample != STRING else INTEGER)
        yield [_argument(one, bound) for one in patterns], [_type(one, bound) for one in patterns]


def _type(pattern: DataType, bound: dict[str, DataType]) -> DataType:
    if isinstance(pattern, AnyDecimal):
        return Decimal(10, 2)
    if isinstance(pattern, AnyType):
        return bound["T"]
    found = substitute(pattern, bound)
    return found.result if isinstance(found, LambdaType) else found


def _argument(pattern: DataType, bound: dict[str, DataType]) -> str:
    if not isinstance(pattern, LambdaType):
        return f"CAST(NULL AS {spark_type(_type(pattern, bound))})"
    names = [f"x{one}" for one in range(len(pattern.parameters))]
    head = names[0] if len(names) == 1 else f"({', '.join(names)})"
    return f"{head} -> CAST(NULL AS {spark_type(_type(pattern, bound))})"


def test_spark_gives_every_call_its_declared_type(spark: SparkSession) -> None:
    """All calls in one select list: Spark's analysis is what takes time."""
    found: list[tuple[str, DataType]] = []
    for function in CATALOGUE.scalars.values():
        for overload in function.overloads:
            for arguments, types in calls(function.name, overload.signature):
                match = function.match(types)
                assert match is not None, function.name
                found.append((match.sql(arguments, types), match.result))
    check_types(spark, found)


def test_spark_gives_every_aggregate_its_declared_type_in_both_forms(spark: SparkSession) -> None:
    built_in: list[tuple[str, DataType]] = []
    folded: list[tuple[str, DataType]] = []
    for name in CATALOGUE.aggregates:
        for type_ in (*SAMPLES, BOOLEAN):
            for count in (0, 1, 2):
                types = [type_, INTEGER][:count]
                arguments = [f"CAST(NULL AS {spark_type(type_)})", "3"][:count]
                try:
                    result = CATALOGUE.aggregate_type(name, types)
                except SignatureError:
                    continue
                sql = CATALOGUE.aggregate_sql(name, arguments, types)
                if sql is not None:
                    built_in.append((sql, result))
                fold = CATALOGUE.fold(name, arguments, types)
                state = ", ".join(f"'{field}', {sql}" for (field, _), sql in zip(fold.state, fold.initial))
                folded += list(zip(fold.initial, (one for _, one in fold.state)))
                folded.append((f"get(transform(array(named_struct({state})), state -> {fold.result}), 0)", result))
    check_types(spark, built_in)
    check_types(spark, folded)


def check_types(spark: SparkSession, calls: list[tuple[str, DataType]]) -> None:
    columns = [f"{sql} AS r{position}" for position, (sql, _) in enumerate(calls)]
    declared = [f"CAST(NULL AS {spark_type(type_)}) AS r{position}" for position, (_, type_) in enumerate(calls)]
    rows = spark.range(1)
    found, wanted = (rows.selectExpr(*some).schema for some in (columns, declared))
    differing = [
        f"{sql}: {got.dataType.simpleString()}, not {type_}"
        for (sql, type_), got, expected in zip(calls, found, wanted)
        if got.dataType.simpleString() != expected.dataType.simpleString()
    ]
    assert not differing, "\n".join(differing)


def test_every_function_is_documented() -> None:
    for one in [*CATALOGUE.scalars.values(), *CATALOGUE.aggregates.values()]:
        assert one.doc.endswith("."), one.name
        assert one.signatures()


@pytest.mark.parametrize(
    ("name", "types", "result"),
    [
        ("add", [INTEGER, BIGINT], BIGINT),
        ("add", [Decimal(5, 2), INTEGER], Decimal(13, 2)),
        ("multiply", [Decimal(38, 10), Decimal(38, 10)], Decimal(38, 6)),
        ("divide", [INTEGER, INTEGER], INTEGER),
        ("true_divide", [INTEGER, INTEGER], DOUBLE),
        ("coalesce", [INTEGER, DOUBLE], DOUBLE),
        ("element_at", [Map(STRING, TIMESTAMP), STRING], TIMESTAMP),
        ("map", [STRING, INTEGER, STRING, BIGINT], Map(STRING, BIGINT)),
        ("transform", [Array(STRING), INTEGER], Array(INTEGER)),
        ("reduce", [Array(BIGINT), INTEGER, BIGINT], BIGINT),
    ],
)
def test_results_have_the_common_type(name: str, types: list[DataType], result: DataType) -> None:
    assert CATALOGUE.result_type(name, types) == result


@pytest.mark.parametrize(
    ("name", "types", "hint"),
    [
        ("uper", [STRING], "did you mean upper"),
        ("upper", [INTEGER], "upper takes upper(STRING) -> STRING"),
        ("count", [], "aggregate function"),
        ("equal", [STRING, INTEGER], "equal takes"),
        ("and", [STRING], "and takes"),
    ],
)
def test_a_wrong_call_says_what_there_is(name: str, types: list[DataType], hint: str) -> None:
    with pytest.raises(SignatureError, match=hint.replace("(", r"\(").replace(")", r"\)")):
        CATALOGUE.result_type(name, types)


def test_an_unknown_aggregate_names_the_closest() -> None:
    with pytest.raises(SignatureError, match="did you mean sum"):
        CATALOGUE.aggregate_type("summ", [BIGINT])
