"""The rules of sources, sinks and processors: where rows come from and go to. See `relations.py`."""

from __future__ import annotations

import re

from headrace.plan import steps as s
from headrace.plan.relation import Context, Relation, RelationKind
from headrace.plan.row_rules import check_store_name
from headrace.plan.serdes import KeyWindow, Serde
from headrace.plan.types import BIGINT, STRING, TIMESTAMP

_TOPIC = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_KINDS = {
    s.StreamSource: RelationKind.STREAM,
    s.TableSource: RelationKind.TABLE,
    s.GlobalTableSource: RelationKind.GLOBAL_TABLE,
}


def source(step: s.StreamSource | s.TableSource | s.GlobalTableSource, context: Context) -> Relation:
    _check_topic(step.topic, context)
    kind = _KINDS[type(step)]
    _check_serde(step.key, context, is_key=True)
    _check_serde(step.value, context, is_key=False)
    if not isinstance(step, s.StreamSource):
        context.check_key(step.key.columns, f"the key of the topic {step.topic!r}, read as a table,")
        check_store_name(step.store, context)
    found = Relation(kind, step.key.columns, step.value.columns, step.key.window, step.key.window_size_ms)
    timestamp = None if isinstance(step, s.GlobalTableSource) else step.timestamp
    if timestamp is not None:
        type_ = context.type_of(timestamp, context.scope({None: found.row()}), "the timestamp")
        if type_ not in (BIGINT, TIMESTAMP):
            raise context.error(
                f"the timestamp {timestamp} is a {type_}; it must be a BIGINT of milliseconds or a TIMESTAMP: cast it"
            )
    return found


def sink(step: s.Sink, context: Context) -> Relation:
    found = context.input(step.input, "a sink", RelationKind.STREAM, RelationKind.TABLE)
    if step.topic_expression is None:
        _check_topic(step.topic, context)
    else:
        type_ = context.type_of(step.topic_expression, context.scope({None: found.row()}), "the topic")
        if type_ != STRING:
            raise context.error(f"the topic {step.topic_expression} is a {type_}; a topic's name is a STRING")
    if step.partitions is not None:
        context.check_span("the number of partitions", step.partitions)
    _check_serde(step.key, context, is_key=True)
    _check_serde(step.value, context, is_key=False)
    hint = "select the columns that the topic is to hold, or change the serde"
    if step.key.columns.fields:
        context.check_same(step.key.columns, found.key, "the sink's key", hint)
        _check_window(step.key, found, context)
    elif found.kind is RelationKind.TABLE:
        raise context.error(
            "writes a table without its key, so nothing could tell its rows apart; give the sink the key's columns"
        )
    if step.value.columns.fields:
        context.check_same(step.value.columns, found.value, "the sink's value", hint)
    return found


def process(step: s.Process, context: Context) -> Relation:
    found = context.input(step.input, "process", RelationKind.STREAM)
    context.check_reference(step.processor)
    names: set[str] = set()
    for variable in step.state:
        if not variable.name.isidentifier() or variable.name in names:
            raise context.error(f"the state {variable.name[:80]!r} is twice there, or no name that Python could use")
        names.add(variable.name)
        if variable.ttl_ms is not None:
            context.check_span(f"the time to live of {variable.name!r}", variable.ttl_ms)
    context.check_key(found.key, f"the key of {step.input!r}")
    value = context.check_columns(step.columns, "the value")
    if step.key is None:
        return Relation(RelationKind.STREAM, found.key, value, found.window, found.window_size_ms)
    return Relation(
        RelationKind.STREAM, context.check_key(context.check_columns(step.key, "the key"), "the key"), value
    )


def _check_topic(topic: str, context: Context) -> None:
    if not _TOPIC.fullmatch(topic) or topic in (".", ".."):
        raise context.error(f"{topic[:80]!r} is no name of a topic: 1 to 249 letters, digits, '.', '_' or '-'")


def _check_serde(serde: Serde, context: Context, *, is_key: bool) -> None:
    what = "the key" if is_key else "the value"
    context.check_columns(serde.columns, what, empty=True)
    if serde.window is not None:
        if not is_key:
            raise context.error("the value's serde is windowed; only keys are")
        if (serde.window is KeyWindow.TIME) != (serde.window_size_ms is not None):
            raise context.error(
                "the key's serde needs window_size_ms for time windows, and only for them: their bytes hold the start alone"
            )
        if serde.window_size_ms is not None:
            context.check_span("the window's size", serde.window_size_ms)
    if context.formats is not None:
        try:
            context.formats.check(serde, is_key)
        except ValueError as error:
            raise context.error(f"{what}: {error}") from None


def _check_window(serde: Serde, found: Relation, context: Context) -> None:
    if (serde.window, serde.window_size_ms) == (found.window, found.window_size_ms):
        return
    if serde.window is None:
        raise context.error(
            f"the rows have {found.window}-windowed keys, the sink's key has no window; give its serde the window, or choose another key with SelectKey"
        )
    have = f"windows of {found.window} {found.window_size_ms or ''}".strip() if found.window else "no window"
    raise context.error(
        f"the sink's key has windows of {serde.window} {serde.window_size_ms or ''}".rstrip()
        + f", the rows have {have}; make them equal"
    )
