"""Changes to settings, and saying what became of them: what `topic` and `config` share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from headrace.admin import settings
from headrace.admin.cluster import Cluster
from headrace.cli.output import print_json, say


def alter_settings(
    cluster: Cluster, kind: str, name: str, assign: Mapping[str, str], unset: Iterable[str], *, as_json: bool
) -> None:
    unset = list(unset)
    settings.alter(cluster, kind, name, assign, unset)
    if as_json:
        print_json({kind: name, "set": dict(assign), "unset": unset})
        return
    for key, value in assign.items():
        say(f"{kind} {name}: {key}={value}")
    for key in unset:
        say(f"{kind} {name}: {key} is back at its default")
