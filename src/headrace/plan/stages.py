"""How a plan is cut into stages: each is one Spark query that reads topics and writes topics.

A stage has heads (topics), the stateless steps behind them, at most one operator with state, the stateless steps behind that, and outputs.
Where an operator's input comes out of another operator, the two meet in an internal topic, as in Kafka Streams. So any graph of steps
runs, every query is simple, and exactly-once is a chain of transactions. Pure: nothing here knows Spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from headrace.plan import steps as s
from headrace.plan.engine import Guarantee
from headrace.plan.plan import Plan, PlanError
from headrace.plan.relations import Relation, RelationKind
from headrace.plan.stage_modes import Mode, real_time_obstacles
from headrace.plan.windows import Hopping, Session, Sliding, Tumbling


class StageSettings(Protocol):
    """What of a pipeline's settings decides how it is cut."""

    @property
    def guarantee(self) -> Guarantee: ...

    @property
    def real_time(self) -> bool: ...


@dataclass(frozen=True)
class CutSettings:
    """The settings that decide how a plan is cut, for those who have no others."""

    guarantee: Guarantee = Guarantee.AT_LEAST_ONCE
    real_time: bool = True


class OperatorKind(StrEnum):
    """Operators with state. A foreign-key join is two of them; a table of which old values are needed is one."""

    AGGREGATE = "aggregate"
    TABLE = "table"
    SUPPRESS = "suppress"
    DEDUPLICATE = "deduplicate"
    STREAM_STREAM_JOIN = "stream_stream_join"
    STREAM_TABLE_JOIN = "stream_table_join"
    TABLE_TABLE_JOIN = "table_table_join"
    FOREIGN_KEY_LEFT = "foreign_key_left"
    FOREIGN_KEY_RIGHT = "foreign_key_right"
    PROCESS = "process"


@dataclass(frozen=True)
class Channel:
    """An internal topic. `flow` is the step whose rows it carries, in the form that `port` of operator `step` takes; a Repartition has no port."""

    topic: str
    step: str
    port: str | None
    flow: str
    partitions: int | None = None


@dataclass(frozen=True)
class Port:
    """One input of an operator: the rows of `flow`, from this stage's own heads or through `channel`. `old`: with the value before each change."""

    name: str
    flow: str
    old: bool = False
    direct: bool = False
    channel: Channel | None = None


@dataclass(frozen=True)
class Operator:
    """A step's operator with state. `final`: a window's result leaves once, when it is closed. `old`: changes leave with the value before."""

    kind: OperatorKind
    step: str
    ports: tuple[Port, ...]
    final: bool = False
    old: bool = False

    @property
    def id(self) -> str:
        return operator_id(self.step, self.kind)


class OutputKind(StrEnum):
    SINK = "sink"
    CHANGELOG = "changelog"
    CHANNEL = "channel"


@dataclass(frozen=True)
class Output:
    """Rows of `flow` that leave the stage: to a sink's topic, to the changelog of a store, or into a channel."""

    kind: OutputKind
    flow: str
    topic: str
    step: str
    channel: Channel | None = None
    old: bool = False


@dataclass(frozen=True)
class Stage:
    """One query. `sources` are source steps read here, `channels` internal topics; `before` and `after` are stateless steps in the plan's order."""

    id: str
    sources: tuple[str, ...]
    channels: tuple[Channel, ...]
    before: tuple[str, ...]
    operator: Operator | None
    after: tuple[str, ...]
    outputs: tuple[Output, ...]
    mode: Mode
    reasons: tuple[str, ...] = ()

    @property
    def steps(self) -> tuple[str, ...]:
        own = (self.operator.step,) if self.operator else ()
        return (*self.sources, *self.before, *own, *self.after)


def operator_id(step: str, kind: OperatorKind) -> str:
    """A stage's id. `~` is in no step's id, so these never meet."""
    suffix = {OperatorKind.TABLE: "~table", OperatorKind.FOREIGN_KEY_RIGHT: "~right"}.get(kind, "")
    return step + suffix


def changelog_topic(plan: str, store: str) -> str:
    return f"{plan}-{store}-changelog"


def stages(plan: Plan, relations: Mapping[str, Relation], settings: StageSettings) -> tuple[Stage, ...]:
    """The queries that run a plan, in the order of their first steps."""
    return _Cut(plan, relations).stages(settings)


@dataclass(frozen=True)
class _Head:
    """Where a flow begins: a source step, a Repartition's channel, or an operator."""

    step: str
    operator: OperatorKind | None = None


def _face(kind: OperatorKind | None) -> OperatorKind | None:
    """The operator through which the rows of a step leave: a foreign-key join's left one."""
    return OperatorKind.FOREIGN_KEY_LEFT if kind is OperatorKind.FOREIGN_KEY_RIGHT else kind


_OPERATORS: dict[type[s.Step], OperatorKind] = {
    s.Aggregate: OperatorKind.AGGREGATE,
    s.Suppress: OperatorKind.SUPPRESS,
    s.Deduplicate: OperatorKind.DEDUPLICATE,
    s.StreamStreamJoin: OperatorKind.STREAM_STREAM_JOIN,
    s.StreamTableJoin: OperatorKind.STREAM_TABLE_JOIN,
    s.TableTableJoin: OperatorKind.TABLE_TABLE_JOIN,
    s.ForeignKeyJoin: OperatorKind.FOREIGN_KEY_LEFT,
    s.Process: OperatorKind.PROCESS,
}


class _Cut:
    """The cutting of one plan."""

    def __init__(self, plan: Plan, relations: Mapping[str, Relation]) -> None:
        self.plan = plan
        self.relations = relations
        self.order = {step.id: index for index, step in enumerate(plan.steps)}
        self.readers: dict[str, list[s.Step]] = {}
        for step in plan.steps:
            for name in s.inputs(step):
                self.readers.setdefault(name, []).append(step)
        self.final = {step.input for step in plan.steps if isinstance(step, s.Suppress) and self._is_fused(step)}

    def stages(self, settings: StageSettings) -> tuple[Stage, ...]:
        operators, outputs = self._used(self._operators())
        cut = [
            self._stage(head, operators.get(head), outputs.get(head, []), settings) for head in {**operators, **outputs}
        ]
        if not cut:
            raise PlanError("", f"nothing leaves the pipeline {self.plan.name!r}: add a sink, or give a table a store")
        self._check_topics(cut)
        return tuple(sorted(cut, key=lambda stage: (self.order[stage.id.partition("~")[0]], stage.id)))

    def _used(self, operators: dict[_Head, Operator]) -> tuple[dict[_Head, Operator], dict[_Head, list[Output]]]:
        """The operators of which something leaves, and what leaves each head. An operator that nobody reads feeds nobody either."""
        while True:
            outputs: dict[_Head, list[Output]] = {}
            for output in self._ends(operators):
                for head in self._heads(output.flow, output.old):
                    outputs.setdefault(head, []).append(output)
            used = {head: one for head, one in operators.items() if _Head(head.step, _face(head.operator)) in outputs}
            if len(used) == len(operators):
                return used, {head: some for head, some in outputs.items() if not head.operator or head in used}
            operators = used

    # Operators

    def _operators(self) -> dict[_Head, Operator]:
        found: dict[_Head, Operator] = {}
        for step in self.plan.steps:
            if isinstance(step, s.TableSource | s.ToTable) and self._old_wanted(step.id):
                flow = step.id if isinstance(step, s.TableSource) else step.input
                head = _Head(step.id, OperatorKind.TABLE)
                found[head] = Operator(
                    OperatorKind.TABLE, step.id, (self._port(step.id, "input", flow, False),), old=True
                )
            kind = self._operator_kind(step)
            if kind is None:
                continue
            found[_Head(step.id, kind)] = Operator(
                kind,
                step.id,
                self._ports(step),
                final=self._is_final(step),
                old=self._old_wanted(step.id),
            )
            if isinstance(step, s.ForeignKeyJoin):
                found[_Head(step.id, OperatorKind.FOREIGN_KEY_RIGHT)] = Operator(
                    OperatorKind.FOREIGN_KEY_RIGHT,
                    step.id,
                    (
                        Port("subscription", step.left, channel=self._foreign_key_channel(step, "subscription")),
                        self._port(step.id, "right", step.right, False),
                    ),
                )
        return found

    def _operator_kind(self, step: s.Step) -> OperatorKind | None:
        if isinstance(step, s.Suppress) and step.input in self.final:
            return None
        return _OPERATORS.get(type(step))

    def _ports(self, step: s.Step) -> tuple[Port, ...]:
        if isinstance(step, s.ForeignKeyJoin):
            response = Port("response", step.right, channel=self._foreign_key_channel(step, "response"))
            return (self._port(step.id, "left", step.left, False), response)
        if isinstance(step, s.JOINS):
            return (
                self._port(step.id, "left", step.left, False),
                self._port(step.id, "right", step.right, False),
            )
        (flow,) = s.inputs(step)
        old = isinstance(step, s.Aggregate) and self.relations[flow].kind is RelationKind.GROUPED_TABLE
        return (self._port(step.id, "input", flow, old),)

    def _port(self, step: str, name: str, flow: str, old: bool) -> Port:
        heads = self._heads(flow, old)
        middle = "" if name == "input" else f"{name}-"
        channel = Channel(f"{self.plan.name}-{step}-{middle}repartition", step, name, flow)
        return Port(
            name,
            flow,
            old,
            direct=any(head.operator is None for head in heads),
            channel=channel if any(head.operator is not None for head in heads) else None,
        )

    def _foreign_key_channel(self, step: s.ForeignKeyJoin, name: str) -> Channel:
        flow = step.left if name == "subscription" else step.right
        return Channel(f"{self.plan.name}-{step.id}-{name}-repartition", step.id, name, flow)

    def _old_wanted(self, flow: str) -> bool:
        """Whether a table that is aggregated is made of this flow by stateless steps."""
        names = [flow]
        step = self.plan.step(flow)
        if isinstance(step, s.Branch):
            names += [f"{flow}.{case.name}" for case in step.branches]
        return any(
            (isinstance(reader, s.GroupBy) and self.relations[reader.id].kind is RelationKind.GROUPED_TABLE)
            or (isinstance(reader, s.Select | s.Filter) and self._old_wanted(reader.id))
            or (isinstance(reader, s.Suppress) and self._old_wanted(reader.id))
            for name in names
            for reader in self.readers.get(name, [])
        )

    def _is_final(self, step: s.Step) -> bool:
        return isinstance(step, s.Aggregate) and (step.emit is s.Emit.FINAL or step.id in self.final)

    def _is_fused(self, step: s.Suppress) -> bool:
        """Whether the aggregate before it can hold its windows back itself, so that no second operator and no topic is needed."""
        before = self.plan.step(step.input)
        return (
            step.until_window_closes
            and isinstance(before, s.Aggregate)
            and before.store is None
            and isinstance(before.window, Tumbling | Hopping | Session | Sliding)
            and len(self.readers[step.input]) == 1
            and not self._old_wanted(step.id)
        )

    # Flows

    def _heads(self, flow: str, old: bool) -> tuple[_Head, ...]:
        """Where the rows of a flow come from, through stateless steps."""
        head = self._head(flow, old)
        if head is not None:
            return (head,)
        found: dict[_Head, None] = {}
        for name in self._stateless_inputs(self.plan.step(flow)):
            found.update(dict.fromkeys(self._heads(name, old and not isinstance(self.plan.step(flow), s.ToStream))))
        return tuple(found)

    def _head(self, flow: str, old: bool) -> _Head | None:
        step = self.plan.step(flow)
        if isinstance(step, s.TableSource | s.ToTable) and old:
            return _Head(step.id, OperatorKind.TABLE)
        if isinstance(step, (*s.SOURCES, s.Repartition)):
            return _Head(step.id)
        kind = self._operator_kind(step)
        return _Head(step.id, kind) if kind else None

    @staticmethod
    def _stateless_inputs(step: s.Step) -> tuple[str, ...]:
        return (step.left,) if isinstance(step, s.GlobalTableJoin) else s.inputs(step)

    def _between(self, wanted: Callable[[_Head], bool], ends: Iterable[tuple[str, bool]]) -> tuple[str, ...]:
        """The stateless steps on the ways from such heads to these flows."""
        found: set[str] = set()

        def visit(flow: str, old: bool) -> bool:
            head = self._head(flow, old)
            if head is not None:
                return wanted(head)
            step = self.plan.step(flow)
            old = old and not isinstance(step, s.ToStream)
            # All inputs are visited before any is looked at.
            visited = [visit(name, old) for name in self._stateless_inputs(step)]
            reached = any(visited)
            if reached:
                found.add(step.id)
            return reached

        for flow, old in ends:
            visit(flow, old)
        return tuple(sorted(found, key=self.order.__getitem__))

    def _ends(self, operators: Mapping[_Head, Operator]) -> Iterable[Output]:
        """Everything that leaves any stage."""
        for step in self.plan.steps:
            if isinstance(step, s.Sink):
                yield Output(OutputKind.SINK, step.input, step.topic, step.id)
            store = getattr(step, "store", None)
            if store is not None:
                topic = changelog_topic(self.plan.name, store)
                yield Output(OutputKind.CHANGELOG, step.id, topic, step.id)
            if isinstance(step, s.Repartition):
                channel = self._repartition(step)
                yield Output(OutputKind.CHANNEL, step.input, channel.topic, step.id, channel)
        for operator in operators.values():
            for port in operator.ports:
                if port.channel is not None and port.name not in ("subscription", "response"):
                    yield Output(
                        OutputKind.CHANNEL, port.flow, port.channel.topic, operator.step, port.channel, old=port.old
                    )

    def _repartition(self, step: s.Repartition) -> Channel:
        return Channel(f"{self.plan.name}-{step.id}-repartition", step.id, None, step.input, step.partitions)

    # Stages

    def _stage(self, head: _Head, operator: Operator | None, outputs: list[Output], settings: StageSettings) -> Stage:
        if operator is None:
            direct: tuple[_Head, ...] = (head,)
            before = self._between(lambda h: h == head, [(o.flow, o.old) for o in outputs])
            after: tuple[str, ...] = ()
        else:
            ends = [(port.flow, port.old) for port in operator.ports if port.direct]
            direct = tuple({h: None for flow, old in ends for h in self._heads(flow, old) if h.operator is None})
            before = self._between(lambda h: h.operator is None, ends)
            after = self._between(lambda h: h == head, [(o.flow, o.old) for o in outputs])
            outputs = [*self._foreign_key_outputs(operator), *outputs]
        repartitions = [self.plan.step(h.step) for h in direct]
        channels = [self._repartition(step) for step in repartitions if isinstance(step, s.Repartition)]
        channels += [port.channel for port in operator.ports if port.channel] if operator else []
        sources = tuple(h.step for h in direct if not isinstance(self.plan.step(h.step), s.Repartition))
        stage_id = operator.id if operator else head.step
        stage_steps = [
            self.plan.step(name) for name in (*sources, *before, *((operator.step,) if operator else ()), *after)
        ]
        sinks = [self.plan.step(o.step) for o in outputs if o.kind is OutputKind.SINK]
        final = operator is not None and operator.final
        reasons = real_time_obstacles([*stage_steps, *sinks], settings.guarantee, settings.real_time, final)
        mode = Mode.MICRO_BATCH if reasons else Mode.REAL_TIME
        return Stage(stage_id, sources, tuple(channels), before, operator, after, tuple(outputs), mode, reasons)

    def _foreign_key_outputs(self, operator: Operator) -> list[Output]:
        step = self.plan.step(operator.step)
        if not isinstance(step, s.ForeignKeyJoin):
            return []
        name = "subscription" if operator.kind is OperatorKind.FOREIGN_KEY_LEFT else "response"
        channel = self._foreign_key_channel(step, name)
        return [Output(OutputKind.CHANNEL, channel.flow, channel.topic, step.id, channel)]

    def _check_topics(self, cut: list[Stage]) -> None:
        """Two internal topics of one name would mix their rows."""
        owners: dict[str, tuple[str, str | None]] = {}
        for stage in cut:
            for output in stage.outputs:
                if output.kind is OutputKind.SINK:
                    continue
                owner = (output.step, output.channel.port if output.channel else None)
                if owners.setdefault(output.topic, owner) != owner:
                    raise PlanError(
                        output.step,
                        f"its internal topic {output.topic!r} would also be that of {owners[output.topic][0]!r}; rename one step or store",
                    )
