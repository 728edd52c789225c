"""The JSON reader and writer of our own: for every text and row they do what Spark's from_json and to_json do, bit for bit."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DDL = (
    "s STRING, b BIGINT, i INT, d DOUBLE, l BOOLEAN, `ñ` STRING, a ARRAY<BIGINT>, o STRUCT<s: STRING, d: DOUBLE, a: ARRAY<STRING>>, "
    "objects ARRAY<STRUCT<i: INT>>"
)
CORRUPT = "headrace_corrupt"
READ = f"map('mode', 'PERMISSIVE', 'columnNameOfCorruptRecord', '{CORRUPT}', 'allowSingleQuotes', 'false')"
TEXTS = ("", "plain", "ñandú €", "😀", 'quote " backslash \\ slash /', "line\nend\ttab\r\b\f\x01\x7f", " ", "0", "null")
NUMBERS = (
    "0", "-0", "1", "-1", "00", "01", "2147483647", "2147483648", "-2147483648", "999999999999999999", "9223372036854775807",
    "9223372036854775808", "-9223372036854775808", "123456789012345678901234567890", "1.0", "-0.0", "0.1", "1.", ".5", "1e5", "1E-7",
    "1e400", "-1e-400", "123456789012345.6789", "0.30000000000000004", "12345678.9", "1e", "+1", "1_0", "0x10", "NaN", "Infinity",
    "-Infinity", "1" * 120, "3.141592653589793", "4.9e-324", "1.7976931348623157e308", "100000000000000000000", "0.000001",
)  # fmt: skip
PIECES = (
    "null", "true", "false", "tru", "nul", "nullx", "[]", "[1]", "[1,]", "[,1]", "[1 2]", "{}", '{"s":1}', '{"s"}', '"', '"\\', '"\\u12"', '"\\u00e9"',
    '"\\ud83d\\ude00"', '"\\ud83d"', '"\\udE00x"', '"\\x"', '"\\/"', "'single'", "/* c */ 1", "[[1],[2]]", '["a",null,"b"]', '"' + "x" * 300 + '"', "[" * 250 + "]" * 250,
    '[{"i":1},null,{"i":"x"},{}]', '{"s":"in","d":1,"a":["x","\\n"]}', '{"s":"in","s":"again","d":null}', '"1"', '"NaN"', '"true"',
)  # fmt: skip


def _value(chance: random.Random) -> str:
    kind = chance.random()
    if kind < 0.35:
        return json.dumps(chance.choice(TEXTS), ensure_ascii=chance.random() < 0.5)
    if kind < 0.7:
        return chance.choice(NUMBERS)
    return chance.choice(PIECES)


def _good_value(name: str, chance: random.Random) -> str:
    """A value that suits the column, mostly."""
    values: dict[str, Any] = {
        "b": chance.randint(-(2**63), 2**63 - 1) >> chance.randint(0, 63),
        "i": chance.randint(-(2**31), 2**31 - 1),
        "d": chance.choice(
            [
                chance.uniform(-1e6, 1e6),
                round(chance.uniform(0, 1000), 2),
                chance.random() * 10 ** chance.randint(-300, 300),
            ]
        ),
        "l": chance.random() < 0.5,
        "a": [chance.randint(-9, 9) for _ in range(chance.randint(0, 3))],
        "o": {"s": chance.choice(TEXTS), "d": chance.random(), "a": [chance.choice(TEXTS)]},
        "objects": [{"i": chance.randint(0, 9)}, {"other": [1, {"deep": None}]}],
    }
    return json.dumps(values.get(name, chance.choice(TEXTS)), ensure_ascii=chance.random() < 0.5)


def _document(chance: random.Random) -> bytes:
    names = ["s", "b", "i", "d", "l", "ñ", "a", "o", "objects", "other", CORRUPT, "S", 'q"']
    space = chance.choice(["", "", " ", "\n\t "])
    fields = []
    for _ in range(chance.randint(0, 6)):
        name = chance.choice(names)
        value = _value(chance) if chance.random() < 0.12 else _good_value(name, chance)
        fields.append(f"{json.dumps(name, ensure_ascii=chance.random() < 0.2)}{space}:{space}{value}")
    text = f"{space}{{{space}{(space + ',' + space).join(fields)}{space}}}{chance.choice(['', '', space, ' x', '{}'])}"
    data = bytearray(text.encode())
    if chance.random() < 0.3 and data:
        for _ in range(chance.randint(1, 3)):
            place = chance.randrange(len(data))
            change = chance.random()
            if change < 0.4:
                data[place] = chance.choice(b'"\\{}[]:,-+.eE01\x00\x1f\x80\xc3\xff nt')
            elif change < 0.7:
                del data[place:]
                break
            else:
                data.insert(place, chance.randrange(256))
    return bytes(data)


def test_every_text_is_read_as_spark_reads_it(spark: SparkSession) -> None:
    chance = random.Random(7)
    documents = [_document(chance) for _ in range(20_000)]
    documents += [
        f'{{"{name}":{value}}}'.encode()
        for name in ("s", "b", "i", "d", "l", "a", "o", "other")
        for value in (*NUMBERS, *PIECES)
    ]
    documents += [b"", b" ", b"[]", b"null", b"1", b'"s"', b"\xef\xbb\xbf{}", b'{"s":"\xed\xa0\x80"}', b"{" * 300]
    rows = spark.createDataFrame([(bytearray(one),) for one in documents], "bytes BINARY")
    found = rows.selectExpr(
        "bytes",
        f"headrace_from_json(bytes, '{DDL}, {CORRUPT} STRING') AS ours",
        f"from_json(CAST(bytes AS STRING), '{DDL}, {CORRUPT} STRING', {READ}) AS sparks",
    )
    # The text tells 0.0 from -0.0, the comparison what the text does not show.
    texts = found.selectExpr("bytes", "to_json(ours) AS ours", "to_json(sparks) AS sparks", "ours <=> sparks AS same")
    different = [row for row in texts.collect() if not row["same"] or row["ours"] != row["sparks"]]
    assert not different, different[:3]


def test_most_records_do_not_need_spark(spark: SparkSession) -> None:
    """What suits the schema is read here: were it not, only the speed would tell."""
    chance = random.Random(3)
    shape = spark._jvm.headrace.JsonShape.of(spark._jvm.org.apache.spark.sql.types.DataType.fromDDL(DDL)).get()
    for _ in range(200):
        names = ("s", "i", "d", "l", "ñ", "a", "o", "objects", "other")
        document = "{" + ", ".join(f'"{name}": {_good_value(name, chance)}' for name in names) + "}"
        shape.value(spark._jvm.headrace.JsonBytes(document.encode()))


def _row(chance: random.Random) -> tuple[Any, ...]:
    def maybe(value: Any) -> Any:
        return None if chance.random() < 0.15 else value

    doubles = [
        0.0,
        -0.0,
        1.0,
        9999999.0,
        1e7,
        0.001,
        1e-4,
        float("nan"),
        float("inf"),
        -float("inf"),
        1 / 3,
        123456.789,
        -5.0,
        5e-324,
    ]
    longs = [0, -1, 9, 10, 99, 100, 2**63 - 1, -(2**63), 10**18, 10**18 - 1]
    inner = {"s": maybe(chance.choice(TEXTS)), "d": maybe(chance.choice(doubles)), "a": maybe([maybe("x"), "ñ\n"])}
    return (
        maybe(chance.choice(TEXTS)), maybe(chance.choice(longs)), maybe(chance.randint(-(2**31), 2**31 - 1)), maybe(chance.choice(doubles)),
        maybe(chance.random() < 0.5), maybe("".join(chance.choice("aé€😀\"\\\n\x00\x1f/") for _ in range(chance.randint(0, 40)))),
        maybe([maybe(chance.choice(longs)) for _ in range(chance.randint(0, 3))]), maybe(inner), maybe([maybe({"i": maybe(1)})]),
    )  # fmt: skip


def test_every_row_is_written_as_spark_writes_it(spark: SparkSession) -> None:
    chance = random.Random(11)
    rows = spark.createDataFrame([(_row(chance),) for _ in range(3_000)], f"r STRUCT<{DDL.replace(' ', ':', 0)}>")
    written = rows.selectExpr(
        "headrace_to_json(r) AS ours",
        "CAST(to_json(r, map('ignoreNullFields', 'false')) AS BINARY) AS sparks",
        "r.s AS s",
    )
    different = [row for row in written.collect() if row["ours"] != row["sparks"]]
    assert not different, different[:3]


def test_what_is_no_text_is_written_as_spark_writes_it(spark: SparkSession) -> None:
    """Bytes that are not UTF-8, names with quotes, and types that are left to Spark."""
    row = spark.range(1).selectExpr(
        """named_struct('bad', CAST(X'61FF62' AS STRING), 'bad2', CAST(X'22FF' AS STRING), 'q"\\\\\\n', 1, 'm', map('a', 1), 't', TIMESTAMP '2020-01-01 00:00:00') AS r"""
    )
    for field in (
        "r",
        "named_struct('bad', r.bad)",
        "named_struct('bad2', r.bad2)",
        "named_struct('q\"\\\\\\\\\\n', 1)",
    ):
        (found,) = row.selectExpr(
            f"headrace_to_json({field}) AS ours",
            f"CAST(to_json({field}, map('ignoreNullFields', 'false')) AS BINARY) AS sparks",
        ).collect()
        assert found["ours"] == found["sparks"]
    (nothing,) = row.selectExpr(
        "headrace_to_json(CAST(NULL AS STRUCT<a: INT>)) AS j",
        "headrace_from_json(CAST(NULL AS BINARY), 'a INT, c STRING') AS r",
    ).collect()
    assert nothing["j"] is None and nothing["r"] is None


def test_what_is_seldom_needed_gives_the_same(spark: SparkSession) -> None:
    rows = spark.createDataFrame([(1, "a", None), (2, "b", 3.5), (3, None, 1.0)], "n INT, s STRING, d DOUBLE")
    found = rows.selectExpr(
        "CASE WHEN n <> 2 THEN headrace_seldom(concat(s, '-', n)) END AS a", "headrace_seldom(d + n) AS d", "headrace_seldom(n * 2) AS n",
        "headrace_seldom(named_struct('s', s)).s AS s",
    ).collect()  # fmt: skip
    assert [tuple(row) for row in found] == [("a-1", None, 2, "a"), (None, 5.5, 4, "b"), (None, 4.0, 6, None)]
