"""What the engine remembers of a pipeline: one record of `_headrace_pipelines`, keyed by the pipeline's name.

The value is JSON; a null value forgets the pipeline. Reading is strict, because anybody may write to a topic.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headrace.plan.document import from_document, to_document
from headrace.plan.engine import DesiredState, Guarantee
from headrace.plan.plan import Plan

RECORD_VERSION = 1


class BadRecord(ValueError):
    """A record that no engine of this version wrote."""


@dataclass(frozen=True)
class PipelineRecord:
    """`epoch` counts resets: it is part of the checkpoint's path, so that a reset never meets old state."""

    plan: Plan
    guarantee: Guarantee
    desired: DesiredState
    submitted_at_ms: int
    settings: Mapping[str, str] = field(default_factory=dict)
    revision: int = 1
    epoch: int = 0

    @property
    def name(self) -> str:
        return self.plan.name

    def wanted(self, desired: DesiredState) -> PipelineRecord:
        return dataclasses.replace(self, desired=desired)

    def encode(self) -> bytes:
        body = {
            "version": RECORD_VERSION,
            "plan": to_document(self.plan),
            "guarantee": self.guarantee.value,
            "desired": self.desired.value,
            "submitted_at_ms": self.submitted_at_ms,
            "settings": dict(self.settings),
            "revision": self.revision,
            "epoch": self.epoch,
        }
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def decode(value: bytes) -> PipelineRecord:
    """The record in these bytes; `BadRecord` says what is wrong with them."""
    try:
        body = json.loads(value)
        if not isinstance(body, dict) or body.get("version") != RECORD_VERSION:
            raise BadRecord(f"not a pipeline record of version {RECORD_VERSION}")
        return PipelineRecord(
            plan=from_document(body["plan"]),
            guarantee=Guarantee(body["guarantee"]),
            desired=DesiredState(body["desired"]),
            submitted_at_ms=_number(body, "submitted_at_ms"),
            settings=_texts(body["settings"]),
            revision=_number(body, "revision"),
            epoch=_number(body, "epoch"),
        )
    except (ValueError, KeyError, RecursionError) as error:
        raise BadRecord(f"not a pipeline record: {error}") from error


def _number(body: dict[str, Any], name: str) -> int:
    value = body[name]
    if type(value) is not int or value < 0:
        raise BadRecord(f"{name} is no number")
    return value


def _texts(value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        raise BadRecord("settings are no texts")
    return value
