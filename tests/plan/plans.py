"""Plans that show every kind of step and window at least once, by name. Golden files and other tests use them."""

from __future__ import annotations

from headrace.plan import steps as s
from headrace.plan import windows as w
from headrace.plan.expressions import (
    Call,
    Case,
    Cast,
    Column,
    Expression,
    FieldOf,
    Lambda,
    Literal,
    Meta,
    Named,
    PythonCall,
    RowMeta,
    Side,
    StructOf,
    Variable,
    When,
)
from headrace.plan.plan import Plan
from headrace.plan.serdes import KeyWindow, Option, Serde
from headrace.plan.types import BIGINT, BOOLEAN, DOUBLE, INTEGER, STRING, TIMESTAMP, Array, Decimal, Map, Struct, struct

KEY = Serde("kafka", struct(user=STRING), wrapped=False)
ORDER = Serde("json", struct(item=STRING, amount=BIGINT, price=DOUBLE))
USER = Serde("json", struct(name=STRING, city=STRING))
COUNTED = Serde("json", struct(n=BIGINT))


def orders(id_: str = "orders") -> s.StreamSource:
    return s.StreamSource(id_, "orders", KEY, ORDER)


def users(id_: str = "users") -> s.TableSource:
    return s.TableSource(id_, "users", KEY, USER)


def sink(input_: str, value: Struct, key: Serde = KEY, id_: str = "out") -> s.Sink:
    return s.Sink(id_, input_, f"{id_}-topic", key, Serde("json", value))


def column(name: str, side: Side | None = None) -> Column:
    return Column(name, side)


def named(*names: str, side: Side | None = None) -> tuple[Named, ...]:
    return tuple(Named(name, Column(name, side)) for name in names)


def call(function: str, *arguments: Expression) -> Call:
    return Call(function, arguments)


def number(value: int) -> Literal:
    return Literal(BIGINT, value)


def timed(size_ms: int, columns: Struct = KEY.columns) -> Serde:
    return Serde("kafka", columns, wrapped=False, window=KeyWindow.TIME, window_size_ms=size_ms)


SESSIONED = Serde("kafka", KEY.columns, wrapped=False, window=KeyWindow.SESSION)
COUNT = (s.AggregateCall("n", "count"),)
POSITIVE = call("greater", column("amount"), number(0))


def windowed(name: str, window: w.Window, key: Serde, emit: s.Emit = s.Emit.CHANGES) -> Plan:
    return Plan(
        name,
        (
            orders(),
            s.GroupBy("by-user", "orders"),
            s.Aggregate("counted", "by-user", COUNT, window=window, emit=emit),
            sink("counted", struct(n=BIGINT), key),
        ),
    )


def joined_columns() -> tuple[Named, ...]:
    return (*named("item", "amount", side=Side.LEFT), *named("name", side=Side.RIGHT))


JOINED = struct(item=STRING, amount=BIGINT, name=STRING)

PLANS: tuple[Plan, ...] = (
    Plan("filter", (orders(), s.Filter("positive", "orders", POSITIVE), sink("positive", ORDER.columns))),
    Plan(
        "select",
        (
            orders(),
            s.Select(
                "priced",
                "orders",
                (
                    Named("item", call("upper", column("item"))),
                    Named("total", call("multiply", Cast(column("amount"), DOUBLE), column("price"))),
                    Named("size", Case((When(POSITIVE, Literal(STRING, "some")),), Literal(STRING, "none"))),
                    Named("at", RowMeta(Meta.ROWTIME)),
                ),
            ),
            sink("priced", struct(item=STRING, total=DOUBLE, size=STRING, at=BIGINT)),
        ),
    ),
    Plan(
        "table_select",
        (
            users(),
            s.Filter("berliners", "users", call("equal", column("city"), Literal(STRING, "Berlin")), store="berliners"),
            s.Select("names", "berliners", named("name"), store="names"),
            sink("names", struct(name=STRING)),
        ),
    ),
    Plan(
        "select_key",
        (
            orders(),
            s.SelectKey("by-item", "orders", (Named("item", column("item")),)),
            s.Repartition("spread", "by-item", 8),
            sink("spread", ORDER.columns, Serde("kafka", struct(item=STRING), wrapped=False)),
        ),
    ),
    Plan(
        "flat_map",
        (
            s.StreamSource(
                "lines", "lines", Serde("none", struct()), Serde("kafka", struct(line=STRING), wrapped=False)
            ),
            s.FlatMap(
                "words",
                "lines",
                call("split", column("line"), Literal(STRING, " ")),
                (Named("length", call("length", column("word"))),),
                "word",
                (Named("word", call("lower", column("word"))),),
            ),
            sink("words", struct(length=INTEGER), Serde("kafka", struct(word=STRING), wrapped=False)),
        ),
    ),
    Plan(
        "flat_map_structs",
        (
            s.StreamSource(
                "carts", "carts", KEY, Serde("json", struct(items=Array(struct(item=STRING, amount=BIGINT))))
            ),
            s.FlatMap("items", "carts", column("items"), named("item", "amount")),
            sink("items", struct(item=STRING, amount=BIGINT)),
        ),
    ),
    Plan("merge", (orders("a"), orders("b"), s.Merge("both", ("a", "b")), sink("both", ORDER.columns))),
    Plan(
        "branch",
        (
            orders(),
            s.Branch(
                "size",
                "orders",
                (
                    s.BranchCase("large", call("greater", column("amount"), number(100))),
                    s.BranchCase("small", None),
                ),
            ),
            sink("size.large", ORDER.columns, id_="large"),
            sink("size.small", ORDER.columns, id_="small"),
        ),
    ),
    Plan(
        "to_table_and_back",
        (
            orders(),
            s.ToTable("latest", "orders", store="latest"),
            s.ToStream("changes", "latest"),
            sink("changes", ORDER.columns),
        ),
    ),
    Plan(
        "aggregate",
        (
            orders(),
            s.GroupBy("by-item", "orders", named("item")),
            s.Aggregate(
                "sales",
                "by-item",
                (
                    s.AggregateCall("n", "count"),
                    s.AggregateCall("sold", "sum", (column("amount"),)),
                    s.AggregateCall("best", "top_k", (column("price"), Literal(INTEGER, 3))),
                ),
                store="sales",
            ),
            sink(
                "sales",
                struct(n=BIGINT, sold=BIGINT, best=Array(DOUBLE)),
                Serde("kafka", struct(item=STRING), wrapped=False),
            ),
        ),
    ),
    Plan(
        "table_aggregate",
        (
            users(),
            s.GroupBy("by-city", "users", named("city")),
            s.Aggregate("people", "by-city", COUNT),
            sink("people", struct(n=BIGINT), Serde("kafka", struct(city=STRING), wrapped=False)),
        ),
    ),
    Plan(
        "fold",
        (
            orders(),
            s.GroupBy("by-user", "orders"),
            s.Aggregate(
                "spent",
                "by-user",
                fold=s.Fold(
                    struct(total=DOUBLE),
                    (Named("total", Literal(DOUBLE, 0.0)),),
                    (Named("total", call("add", column("total", Side.STATE), column("price"))),),
                    merge=(Named("total", call("add", column("total", Side.STATE), column("total", Side.OTHER))),),
                ),
                window=w.Session(60_000),
            ),
            sink("spent", struct(total=DOUBLE), SESSIONED),
        ),
    ),
    Plan(
        "reduce",
        (
            s.StreamSource("numbers", "numbers", KEY, Serde("kafka", struct(v=BIGINT), wrapped=False)),
            s.GroupBy("by-user", "numbers"),
            s.Aggregate(
                "largest",
                "by-user",
                fold=s.Fold(
                    struct(v=BIGINT),
                    (),
                    (Named("v", call("greatest", column("v", Side.STATE), column("v"))),),
                    first_is_initial=True,
                ),
            ),
            s.Sink("out", "largest", "out-topic", KEY, Serde("kafka", struct(v=BIGINT), wrapped=False)),
        ),
    ),
    windowed("tumbling", w.Tumbling(10_000), timed(10_000)),
    windowed("tumbling_final", w.Tumbling(10_000, 0), timed(10_000), s.Emit.FINAL),
    windowed("hopping", w.Hopping(60_000, 10_000), timed(60_000)),
    windowed("hopping_incremental", w.Hopping(600_000, 1000, 0, True), timed(600_000)),
    windowed("sliding", w.Sliding(5000), timed(5000)),
    windowed("session", w.Session(30_000, 5000), SESSIONED),
    windowed("count_window", w.Count(100, 10), SESSIONED),
    windowed("punctuation", w.Punctuation(call("equal", column("item"), Literal(STRING, "end"))), SESSIONED),
    Plan(
        "suppress",
        (
            orders(),
            s.GroupBy("by-user", "orders"),
            s.Aggregate("counted", "by-user", COUNT, window=w.Tumbling(10_000, 1000)),
            s.Suppress("closed", "counted"),
            sink("closed", struct(n=BIGINT), timed(10_000)),
        ),
    ),
    Plan(
        "suppress_for_a_while",
        (users(), s.Suppress("fewer", "users", False, 5000, 1000), sink("fewer", USER.columns)),
    ),
    Plan(
        "deduplicate",
        (
            orders(),
            s.Deduplicate("once", "orders", (column("item"), column("amount")), 60_000),
            sink("once", ORDER.columns),
        ),
    ),
    Plan(
        "stream_stream_join",
        (
            orders(),
            s.StreamSource("clicks", "clicks", KEY, Serde("json", struct(name=STRING))),
            s.StreamStreamJoin("joined", "orders", "clicks", s.JoinKind.OUTER, 5000, 1000, joined_columns(), 2000),
            sink("joined", JOINED),
        ),
    ),
    Plan(
        "stream_table_join",
        (
            orders(),
            users(),
            s.StreamTableJoin("joined", "orders", "users", s.JoinKind.LEFT, joined_columns()),
            sink("joined", JOINED),
        ),
    ),
    Plan(
        "global_table_join",
        (
            orders(),
            s.GlobalTableSource(
                "items", "items", Serde("kafka", struct(item=STRING), wrapped=False), Serde("json", struct(name=STRING))
            ),
            s.GlobalTableJoin("joined", "orders", "items", s.JoinKind.INNER, column("item"), joined_columns()),
            sink("joined", JOINED),
        ),
    ),
    Plan(
        "table_table_join",
        (
            users("left"),
            users("right"),
            s.TableTableJoin(
                "both",
                "left",
                "right",
                s.JoinKind.OUTER,
                (*named("name", side=Side.LEFT), *named("city", side=Side.RIGHT)),
                "both",
            ),
            sink("both", USER.columns),
        ),
    ),
    Plan(
        "foreign_key_join",
        (
            s.TableSource(
                "bookings",
                "bookings",
                Serde("kafka", struct(id=BIGINT), wrapped=False),
                Serde("json", struct(user=STRING, seat=STRING)),
            ),
            users(),
            s.ForeignKeyJoin(
                "who",
                "bookings",
                "users",
                s.JoinKind.LEFT,
                column("user"),
                (*named("seat", side=Side.LEFT), *named("name", side=Side.RIGHT)),
            ),
            sink("who", struct(seat=STRING, name=STRING), Serde("kafka", struct(id=BIGINT), wrapped=False)),
        ),
    ),
    Plan(
        "python_function",
        (
            orders(),
            s.Select(
                "scored",
                "orders",
                (Named("score", PythonCall("scoring:score", (column("item"), column("price")), DOUBLE)),),
            ),
            sink("scored", struct(score=DOUBLE)),
        ),
    ),
    Plan(
        "process",
        (
            orders(),
            s.Process(
                "alarm",
                "orders",
                "alarms:Alarm",
                (s.StateVariable("seen", BIGINT, 60_000), s.StateVariable("names", Array(STRING))),
                struct(text=STRING),
            ),
            sink("alarm", struct(text=STRING)),
        ),
    ),
    Plan(
        "every_expression",
        (
            s.StreamSource(
                "events",
                "events",
                Serde("json", struct(user=STRING), wrapped=False),
                Serde(
                    "json",
                    struct(
                        tags=Array(STRING),
                        attributes=Map(STRING, BIGINT),
                        place=struct(lat=DOUBLE, lon=DOUBLE),
                        cost=Decimal(10, 2),
                        at=TIMESTAMP,
                        ok=BOOLEAN,
                        user=STRING,
                    ),
                ),
                timestamp=column("at"),
                offset_reset=s.OffsetReset.LATEST,
            ),
            s.Select(
                "made",
                "events",
                (
                    Named("key's user", column("user", Side.KEY)),
                    Named("user", column("user")),
                    Named("lat", FieldOf(column("place"), "lat")),
                    Named(
                        "short",
                        call(
                            "filter",
                            column("tags"),
                            Lambda(("t",), call("less", call("length", Variable("t")), number(5))),
                        ),
                    ),
                    Named(
                        "pair",
                        StructOf(
                            (
                                Named("a", call("element_at", column("attributes"), Literal(STRING, "a"))),
                                Named("b", Literal(Decimal(5, 2), "1.50")),
                            )
                        ),
                    ),
                    Named(
                        "where",
                        call(
                            "concat", RowMeta(Meta.TOPIC), Literal(STRING, "-"), Cast(RowMeta(Meta.ROWOFFSET), STRING)
                        ),
                    ),
                    Named("it's", Literal(STRING, 'a "quote" & <tag> ${x} \\ \n')),
                ),
            ),
            s.Sink(
                "out",
                "made",
                "",
                Serde("json", struct(user=STRING), wrapped=False),
                Serde(
                    "json",
                    Struct(
                        struct(
                            **{
                                "key's user": STRING,
                                "user": STRING,
                                "lat": DOUBLE,
                                "short": Array(STRING),
                                "pair": struct(a=BIGINT, b=Decimal(5, 2)),
                                "where": STRING,
                                "it's": STRING,
                            }
                        ).fields
                    ),
                ),
                topic_expression=call("concat", Literal(STRING, "by-"), column("user")),
            ),
        ),
    ),
    Plan(
        "delimited",
        (
            s.StreamSource(
                "rows",
                "rows",
                Serde("none", struct()),
                Serde("delimited", struct(a=STRING, b=BIGINT), (Option("delimiter", "TAB"),)),
            ),
            s.Sink(
                "out",
                "rows",
                "out-topic",
                Serde("none", struct()),
                Serde("delimited", struct(a=STRING, b=BIGINT)),
                partitions=3,
            ),
        ),
    ),
    Plan(
        "many_queries",
        (
            orders(),
            users(),
            s.Filter("positive", "orders", POSITIVE),
            s.StreamTableJoin("joined", "positive", "users", s.JoinKind.INNER, joined_columns()),
            s.GroupBy("by-name", "joined", named("name")),
            s.Aggregate("counted", "by-name", COUNT, window=w.Tumbling(10_000), store="counted"),
            s.ToStream("changes", "counted"),
            s.SelectKey("unwindowed", "changes", named("name")),
            s.GroupBy("again", "unwindowed"),
            s.Aggregate("most", "again", (s.AggregateCall("most", "max", (column("n"),)),)),
            sink("most", struct(most=BIGINT), Serde("kafka", struct(name=STRING), wrapped=False)),
            sink("counted", struct(n=BIGINT), timed(10_000, struct(name=STRING)), "counts"),
            sink("positive", ORDER.columns, id_="positive-out"),
        ),
    ),
)
