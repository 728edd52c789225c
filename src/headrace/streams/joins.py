"""Joins: which one it is follows from what is joined; the joiner is traced over both rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.plan import steps as s
from headrace.plan.expressions import Expression, Named, PythonCall, Side, walk
from headrace.plan.windows import DAY_MS
from headrace.streams.errors import StreamsError
from headrace.streams.flow import Flow
from headrace.streams.rows import Columns, key_symbol, value_columns, value_symbol
from headrace.streams.schema import Shape
from headrace.streams.symbols import Symbol, call, symbol
from headrace.streams.tracing import arguments_by_arity, trace
from headrace.streams.windows import JoinWindow

if TYPE_CHECKING:
    from headrace.streams.kstream import KStream
    from headrace.streams.ktable import GlobalKTable, KTable

_NAMES = {s.JoinKind.INNER: "join", s.JoinKind.LEFT: "left_join", s.JoinKind.OUTER: "outer_join"}


def stream_join(
    left: KStream[Any, Any],
    right: Any,
    joiner: Callable[..., Any] | None,
    within: JoinWindow | None,
    on: Callable[..., Any] | None,
    kind: s.JoinKind,
    name: str | None,
) -> KStream[Any, Any]:
    from headrace.streams.kstream import KStream
    from headrace.streams.ktable import GlobalKTable, KTable

    what = _NAMES[kind]
    if isinstance(right, KStream):
        return _stream_stream(left, right, joiner, within, kind, name)
    if within is not None:
        raise StreamsError(
            f"{what} with a table takes no window: each record meets the row of that moment; leave `within` out"
        )
    if kind is s.JoinKind.OUTER:
        raise StreamsError(
            "outer_join of a stream and a table does not exist: a table's change is no record; use left_join"
        )
    if isinstance(right, GlobalKTable):
        return _global(left, right, joiner, on, kind, name)
    if isinstance(right, KTable):
        if on is not None:
            raise StreamsError(
                f"{what} of a stream and a KTable goes by their keys; use select_key first, or app.global_table(…) with `on`"
            )
        joined = _joined(left, right, joiner, kind)
        step = left._add(
            lambda id_: s.StreamTableJoin(id_, left._step, right._step, kind, joined.columns), "join", name
        )
        return _stream(left, step, joined)
    raise StreamsError(f"{what} takes a KStream, a KTable or a GlobalKTable, not {right!r}")


def _stream_stream(
    left: KStream[Any, Any], right: KStream[Any, Any], joiner: Callable[..., Any] | None, within: JoinWindow | None,
    kind: s.JoinKind, name: str | None,
) -> KStream[Any, Any]:  # fmt: skip
    if not isinstance(within, JoinWindow):
        raise StreamsError(
            f"{_NAMES[kind]} of two streams needs to know how far apart two records may be: within(minutes=5)"
        )
    joined = _joined(left, right, joiner, kind)
    before, after, grace = within.before_ms, within.after_ms, _grace(within, kind)
    step = left._add(
        lambda id_: s.StreamStreamJoin(id_, left._step, right._step, kind, before, after, joined.columns, grace),
        "join",
        name,
    )
    return _stream(left, step, joined)


def _grace(within: JoinWindow, kind: s.JoinKind) -> int:
    """A day as for windows. Where records without a partner wait for it, nobody would guess that: it has to be said."""
    if within.grace_ms is not None:
        return within.grace_ms
    if kind is s.JoinKind.INNER:
        return DAY_MS
    raise StreamsError(
        f"{_NAMES[kind]} of two streams needs a grace: a record without a partner comes out when its time and the grace have passed, "
        "and what comes later than that is late: within(minutes=5, grace=seconds(30))"
    )


def _global(
    left: KStream[Any, Any], right: GlobalKTable[Any, Any], joiner: Callable[..., Any] | None, on: Callable[..., Any] | None,
    kind: s.JoinKind, name: str | None,
) -> KStream[Any, Any]:  # fmt: skip
    key: Expression = (left._trace(on, "on").symbol if on is not None else symbol(left._key_symbol()))._hr_expression
    joined = _joined(left, right, joiner, kind)
    step = left._add(
        lambda id_: s.GlobalTableJoin(id_, left._step, right._step, kind, key, joined.columns), "join", name
    )
    return _stream(left, step, joined)


def table_join(
    left: KTable[Any, Any], right: KTable[Any, Any], joiner: Callable[..., Any] | None, on: Callable[..., Any] | None,
    kind: s.JoinKind, store: str | None, name: str | None,
) -> KTable[Any, Any]:  # fmt: skip
    from headrace.streams.ktable import KTable

    if not isinstance(right, KTable):
        raise StreamsError(
            f"{_NAMES[kind]} of a table takes a table, not {right!r}; a stream is the left side: stream.join(table, …)"
        )
    joined = _joined(left, right, joiner, kind)
    kept = store if joined.joiner is None else None
    if on is None:
        step = left._add(
            lambda id_: s.TableTableJoin(id_, left._step, right._step, kind, joined.columns, kept), "join", name
        )
    else:
        if kind is s.JoinKind.OUTER:
            raise StreamsError("outer_join by a foreign key does not exist; use left_join")
        key = left._trace(on, "on").symbol._hr_expression
        step = left._add(
            lambda id_: s.ForeignKeyJoin(id_, left._step, right._step, kind, key, joined.columns, kept), "join", name
        )
    table: KTable[Any, Any] = KTable(left._app, step, left._key, joined.shape)
    if joined.joiner is not None:
        step, shape = _python_joined(table, joined.joiner, store)
        table = KTable(left._app, step, left._key, shape)
    return left._app._remember(table, store)


@dataclass(frozen=True)
class _Joined:
    """The columns of a join. A joiner that stays Python runs after it, over the columns `left` and `right`."""

    columns: tuple[Named, ...]
    shape: Shape
    joiner: Callable[..., Any] | None = None


def _joined(left: Flow[Any, Any], right: Any, joiner: Callable[..., Any] | None, kind: s.JoinKind) -> _Joined:
    """The joiner over both rows; the side that may be missing is optional."""
    one = value_symbol(left._value, Side.LEFT, optional=kind is s.JoinKind.OUTER)
    other = value_symbol(right._value, Side.RIGHT, optional=kind is not s.JoinKind.INNER)
    both = value_columns({"left": one, "right": other}, _NAMES[kind])
    if joiner is None:
        return _Joined(both.named, both.shape)
    key = _key(left, right, kind) if left._key.column is not None else None
    arguments = arguments_by_arity(joiner, {2: (one, other), 3: (key, one, other)}, "a joiner")
    found = value_columns(trace(joiner, arguments, _NAMES[kind]).result, _NAMES[kind])
    if _is_python(found):
        return _Joined(both.named, both.shape, joiner)
    return _Joined(found.named, found.shape)


def _is_python(columns: Columns) -> bool:
    nodes = (node for one in (*columns.named, *((columns.before,) if columns.before else ())) for node in walk(one))
    return any(isinstance(node, PythonCall) for node in nodes)


def _python_joined(flow: Flow[Any, Any], joiner: Callable[..., Any], store: str | None) -> tuple[str, Shape]:
    pair = flow._value_symbol()
    arguments = arguments_by_arity(
        joiner, {2: (pair.left, pair.right), 3: (flow._key_symbol(), pair.left, pair.right)}, "a joiner"
    )
    columns = value_columns(flow._app._builder.note(trace(joiner, arguments, "a joiner")).result, "a joiner")
    return flow._selected(flow._step, columns, "joiner", None, store), columns.shape


def _key(left: Flow[Any, Any], right: Any, kind: s.JoinKind) -> Symbol:
    key = key_symbol(left._key, left._windowed, Side.LEFT)
    if kind is not s.JoinKind.OUTER or left._windowed is not None:
        return key
    found: Symbol = call("coalesce", key, key_symbol(right._key, None, Side.RIGHT))
    return found


def _stream(left: KStream[Any, Any], step: str, joined: _Joined) -> KStream[Any, Any]:
    from headrace.streams.kstream import KStream

    stream: KStream[Any, Any] = KStream(left._app, step, left._key, joined.shape)
    if joined.joiner is None:
        return stream
    step, shape = _python_joined(stream, joined.joiner, None)
    return KStream(left._app, step, left._key, shape)
