"""Whether a changed plan can go on with the state of the old one. Pure.

A stage's fingerprint is what its checkpoint depends on: the topics it reads, and of its operator the kind, the key, the types and the
expressions that made its state. What comes after the operator may change freely, and so may stages without state as long as they
read the same topics.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from headrace.plan import steps as s
from headrace.plan.catalogue import Functions
from headrace.plan.document import encode_node
from headrace.plan.expressions import Column
from headrace.plan.plan import Plan
from headrace.plan.relations import Relation, relations
from headrace.plan.stage_modes import expressions_of
from headrace.plan.stages import CutSettings, Stage, stages

VERSION = 1


def compatibility(old: Plan, new: Plan, functions: Functions) -> list[str]:
    """Why the new plan does not fit the state of the old one, in sentences; empty when it does."""
    before, after = _fingerprints(old, functions), _fingerprints(new, functions)
    reasons: list[str] = []
    for stage_id, (stage, wanted) in after.items():
        if stage_id in before:
            reasons += misfits(stage, before[stage_id][1], wanted)
    for stage_id, (stage, _) in before.items():
        if stage_id not in after and stage.operator is not None:
            reasons.append(f"step {stage.operator.step!r}, which has state, is gone or has another id")
    return reasons


def _fingerprints(plan: Plan, functions: Functions) -> dict[str, tuple[Stage, str]]:
    known = relations(plan, functions)
    return {stage.id: (stage, fingerprint(plan, stage, known, None)) for stage in stages(plan, known, CutSettings())}


def fingerprint(plan: Plan, stage: Stage, known: Mapping[str, Relation], shuffle_partitions: int | None) -> str:
    """What the stage's checkpoint depends on, as JSON."""
    body: dict[str, Any] = {
        "version": VERSION,
        "topics": sorted([*(_topic(plan, name) for name in stage.sources), *(one.topic for one in stage.channels)]),
    }
    operator = stage.operator
    if operator is not None:
        body["operator"] = {
            "kind": operator.kind.value,
            "final": operator.final,
            "step": _state_part(plan, plan.step(operator.step)),
            "inputs": [_relation(known[port.flow]) for port in operator.ports],
        }
        if shuffle_partitions is not None:
            body["partitions"] = shuffle_partitions
    return json.dumps(body, sort_keys=True)


def misfits(stage: Stage, found: str, wanted: str) -> list[str]:
    """What of a fingerprint differs, in sentences."""
    old, new = json.loads(found), json.loads(wanted)
    reasons: list[str] = []
    if old.get("version") != new["version"]:
        return [f"the state of stage {stage.id!r} was written by another version of Headrace"]
    if old["topics"] != new["topics"]:
        gone, come = set(old["topics"]) - set(new["topics"]), set(new["topics"]) - set(old["topics"])
        parts = [f"no longer reads {', '.join(sorted(gone))}"] * bool(gone) + [
            f"now reads {', '.join(sorted(come))}"
        ] * bool(come)
        reasons.append(f"stage {stage.id!r} {' and '.join(parts)}")
    if ("operator" in old) != ("operator" in new):
        reasons.append(f"stage {stage.id!r} {'has' if 'operator' in new else 'has no longer'} state")
    elif "operator" in old:
        reasons += _operator_misfits(stage.id, old["operator"], new["operator"])
    if "partitions" in old and "partitions" in new and old["partitions"] != new["partitions"]:
        reasons.append(
            f"the state of stage {stage.id!r} has {old['partitions']} partitions and cannot be given {new['partitions']}"
        )
    return reasons


def _operator_misfits(stage: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    if old["kind"] != new["kind"]:
        return [f"step {stage!r} was another operator ({old['kind']}, now {new['kind']})"]
    reasons = []
    if old["inputs"] != new["inputs"]:
        reasons.append(f"step {stage!r} has other input columns: {_change(old['inputs'], new['inputs'])}")
    if old["step"] != new["step"]:
        names = sorted(
            name for name in {**old["step"], **new["step"]} if old["step"].get(name) != new["step"].get(name)
        )
        reasons.append(f"step {stage!r} keeps other state: {', '.join(names)} changed")
    if old["final"] != new["final"]:
        reasons.append(
            f"step {stage!r} {'holds' if new['final'] else 'no longer holds'} its results back until windows close"
        )
    return reasons


def _change(old: Any, new: Any) -> str:
    changed = [f"{a} became {b}" for a, b in zip(old, new) if a != b]
    return "; ".join(changed) or f"{len(old)} inputs became {len(new)}"


def _relation(relation: Relation) -> str:
    return str(relation)


def _state_part(plan: Plan, step: s.Step) -> dict[str, Any]:
    """The fields of a step that its state depends on: not where and how long results are kept, and of a join's result only the columns it is made of.

    An aggregate's state is by the group's key, so what that key is made of belongs to it.
    """
    node: dict[str, Any] = encode_node(step)
    free = {"id", "store", "input", "left", "right"}
    part = {name: value for name, value in node.items() if name not in free}
    if "window" in part:
        part["window"] = {name: value for name, value in part["window"].items() if name != "retention_ms"}
    if isinstance(step, s.Aggregate):
        group = plan.step(step.input)
        assert isinstance(group, s.GroupBy)
        part["group key"] = encode_node(group).get("key")
    if isinstance(step, s.JOINS):
        part["columns"] = sorted({str(one) for one in expressions_of(step.columns) if isinstance(one, Column)})
    return part


def _topic(plan: Plan, source: str) -> str:
    step = plan.step(source)
    assert isinstance(step, s.SOURCES)
    return step.topic
