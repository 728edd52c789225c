"""Completion of names that only the cluster or the user's configuration knows: topics, groups, contexts.

A shell waits while this runs and shows nothing of what it prints, so it is quick, silent, and empty when anything is in the way.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable

from headrace.admin.cluster import Cluster
from headrace.admin.errors import Problem
from headrace.cli.cluster import resolve
from headrace.cli.contexts import load_contexts

_PATIENCE_S = 2.0


def topics(incomplete: str) -> list[str]:
    return _from_cluster(lambda cluster: cluster.topics(), incomplete)


def groups(incomplete: str) -> list[str]:
    def listed(cluster: Cluster) -> Iterable[str]:
        from headrace.admin import groups as group_view

        return group_view.listed(cluster)

    return _from_cluster(listed, incomplete)


def contexts(incomplete: str) -> list[str]:
    with contextlib.suppress(Problem):
        return [name for name in load_contexts().by_name if name.startswith(incomplete)]
    return []


def _from_cluster(ask: Callable[[Cluster], Iterable[str]], incomplete: str) -> list[str]:
    """Asks the broker that the command would talk to without further options."""
    with contextlib.suppress(Problem):
        return [name for name in ask(resolve(None, None, None, _PATIENCE_S)) if name.startswith(incomplete)]
    return []
