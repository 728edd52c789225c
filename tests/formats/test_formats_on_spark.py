"""Formats as Spark SQL: equal to the formats in Python, for rows, for bytes and for what is wrong."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from headrace.formats import FORMATS, FormatError
from headrace.functions.sql_types import spark_type
from headrace.plan.serdes import Serde
from headrace.plan.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INTEGER,
    STRING,
    TIME,
    TIMESTAMP,
    Decimal,
    Struct,
    struct,
)
from tests.formats.strategies import examples

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = struct(
    i=INTEGER, b=BIGINT, d=DOUBLE, s=STRING, x=BYTES, e=Decimal(10, 2), l=BOOLEAN, t=TIMESTAMP, da=DATE, ti=TIME
)


def passed(
    spark: SparkSession, batch: list[tuple[Serde, list[bytes | None]]]
) -> list[list[tuple[bytes | None, str | None]]]:
    """For each serde's bytes: what Spark writes of what it has read, and the error. One job for all."""
    count = max(len(data) for _, data in batch)
    rows = [
        (
            position,
            *(
                None if one is None else bytearray(one)
                for _, data in batch
                for one in [data[position] if position < len(data) else None]
            ),
        )
        for position in range(count)
    ]
    ddl = ", ".join(["n INT", *(f"b{position} BINARY" for position in range(len(batch)))])
    frame = spark.createDataFrame(rows, ddl)
    sqls = [FORMATS[serde.format].decode_sql(f"b{position}", serde) for position, (serde, _) in enumerate(batch)]
    frame = frame.selectExpr("*", *(f"{sql.parse} AS p{position}" for position, sql in enumerate(sqls)))
    columns = ["n"]
    for position, sql in enumerate(sqls):
        parts = {"r": sql.row, "e": sql.error or "CAST(NULL AS STRING)", "ws": sql.window_start, "we": sql.window_end}
        columns += [
            f"{text.replace('{parsed}', f'p{position}')} AS {name}{position}" for name, text in parts.items() if text
        ]
    frame = frame.selectExpr(*columns)
    for position, (serde, _) in enumerate(batch):
        if serde.columns.fields:
            wanted = spark.sql(f"SELECT CAST(NULL AS {spark_type(serde.columns)}) AS r").schema["r"].dataType
            assert frame.schema[f"r{position}"].dataType.simpleString() == wanted.simpleString()
    written = []
    for position, ((serde, _), sql) in enumerate(zip(batch, sqls)):
        bounds = (f"ws{position}", f"we{position}") if sql.window_start else ()
        written += [
            f"{FORMATS[serde.format].encode_sql(f'r{position}', serde, *bounds)} AS o{position}",
            f"e{position}",
        ]
    found = frame.selectExpr("n", *written).orderBy("n").collect()
    return [
        [
            (None if row[f"o{position}"] is None else bytes(row[f"o{position}"]), row[f"e{position}"])
            for row in found[: len(data)]
        ]
        for position, (_, data) in enumerate(batch)
    ]


@settings(
    max_examples=6,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
    phases=(Phase.generate,),
)
@given(batch=st.lists(examples, min_size=8, max_size=8))
def test_python_writes_spark_reads_and_writes_python_reads(
    spark: SparkSession, batch: list[tuple[Serde, list[Any]]]
) -> None:
    written = [(serde, [FORMATS[serde.format].encode(row, serde) for row in rows]) for serde, rows in batch]
    for (serde, rows), (_, data), found in zip(batch, written, passed(spark, written)):
        for row, given_bytes, (bytes_out, error) in zip(rows, data, found):
            assert error is None, (serde, row, given_bytes)
            expected = None if given_bytes is None else FORMATS[serde.format].decode(given_bytes, serde)
            assert FORMATS[serde.format].decode(bytes_out, serde) == expected, (serde, row, given_bytes, bytes_out)
            if serde.format == "json" and serde.window is None and given_bytes is not None and bytes_out is not None:
                assert json.loads(bytes_out) == json.loads(given_bytes)


def test_spark_and_python_write_the_same_bytes(spark: SparkSession) -> None:
    """Equal keys must be equal bytes, whoever wrote them: partitions are chosen by them and tables looked up."""
    row = {
        "i": -1,
        "b": 1 << 60,
        "d": 1.0,
        "s": 'é"\\/\n\u2028',
        "x": b"\1\xff",
        "e": "",
        "l": True,
        "t": 5,
        "da": 1,
        "ti": 2,
    }
    import decimal

    rows = [
        {**row, "d": d, "e": decimal.Decimal(e)}
        for d in (1.0, 0.1, 1e7, 123456.789, 1e-5, -0.0)
        for e in ("1.50", "-0.01", "0.00")
    ]
    serdes = [Serde("json", COLUMNS), Serde("delimited", COLUMNS)]
    batch = [(serde, [FORMATS[serde.format].encode(one, serde) for one in rows]) for serde in serdes]
    for (_, data), found in zip(batch, passed(spark, batch)):
        assert [out for out, _ in found] == data


BAD: list[tuple[Serde, list[tuple[bytes, str | None]]]] = [
    (
        Serde("json", COLUMNS),
        [
            (b"", "empty"),
            (b"  ", "empty"),
            (b"{", "no JSON object"),
            (b"[]", "no JSON object"),
            (b"5", "no JSON object"),
            (b"null", "no JSON object"),
            (b"\xff", "no JSON object"),
            (b'{"i":1,', "no JSON object"),
            (b'{"i":"x"}', "i is no INTEGER: x"),
            (b'{"i":3000000000}', "i is no INTEGER: 3000000000"),
            (b'{"b":9223372036854775808,"l":5}', "b is no BIGINT: 9223372036854775808; l is no BOOLEAN: 5"),
            (b'{"t":999999999999999}', "t is out of the range of TIMESTAMP"),
            (b'{"da":99999999}', "da is out of the range of DATE"),
            (b'{"ti":-1}', "ti is out of the range of TIME"),
            (b'{"x":"!"}', "x is no BYTES: !"),
            (b'{"e":1e20}', "e is no DECIMAL(10, 2)"),
            (b'{"d":"1"}', "d is no DOUBLE: 1"),
            (b"{'i':1}", "i is no INTEGER"),
            (b'{"zzz":1}', None),
            (b'{"i":1} x', None),
            (b'{"d":"NaN"}', None),
            (b'{"s":"\xff"}', None),
        ],
    ),
    (
        Serde("json", struct(k=BIGINT), wrapped=False),
        [
            (b"", "empty"),
            (b"5,6", "expected one value"),
            (b"5 6", "expected BIGINT"),
            (b'"x"', "expected BIGINT"),
            (b"x", "expected BIGINT"),
            (b" 5 ", None),
            (b"null", None),
        ],
    ),
    (
        Serde("kafka", struct(k=INTEGER)),
        [(b"", "it has 4 bytes, not 0"), (b"12345", "it has 4 bytes, not 5"), (b"1234", None)],
    ),
    (Serde("kafka", struct(k=BOOLEAN)), [(b"\2", "k is no BOOLEAN: 02"), (b"", "k is no BOOLEAN"), (b"\0", None)]),
    (
        Serde("delimited", struct(i=INTEGER, s=STRING, t=TIMESTAMP, x=BYTES)),
        [
            (b"", "expected 4 fields"),
            (b"1,a,5", "expected 4 fields"),
            (b"1,a,5,AQ==,z", "expected 4 fields"),
            (b"x,a,5,", "expected 4 fields of INTEGER, STRING, TIMESTAMP, BYTES, found x,a,5,"),
            (b"3000000000,a,5,", "expected 4 fields"),
            (b"1,a,999999999999999,", "t is out of the range of TIMESTAMP"),
            (b"1,a,5,!!!!", "x is no BYTES"),
            (b'1,"a""b",5,', None),
            (b",,,", None),
        ],
    ),
]


def test_bytes_that_cannot_be_read_say_why_and_python_agrees(spark: SparkSession) -> None:
    found = passed(spark, [(serde, [data for data, _ in cases]) for serde, cases in BAD])
    for (serde, cases), results in zip(BAD, found):
        for (data, wanted), (_, error) in zip(cases, results):
            assert (error is None) == (wanted is None), (data, error)
            assert wanted is None or wanted in str(error), (data, error)
            if wanted is None:
                FORMATS[serde.format].decode(data, serde)
            else:
                with pytest.raises(FormatError):
                    FORMATS[serde.format].decode(data, serde)


def test_names_of_any_kind(spark: SparkSession) -> None:
    columns = Struct(
        tuple(struct(**{name: BIGINT}).fields[0] for name in ("a b", "a'b", "`", "A", "a", "x.y", "ü", "$1"))
    )
    serde = Serde("json", columns)
    data = FORMATS["json"].encode({name: position for position, name in enumerate(columns.names)}, serde)
    ((good, bad),) = passed(spark, [(serde, [data, b'{"a":"x"}'])])
    assert good == (data, None)
    assert bad[1] == "a is no BIGINT: x"
