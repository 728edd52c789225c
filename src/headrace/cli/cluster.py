"""Which cluster a command talks to.

The address comes from --bootstrap-server, else --context, else HEADRACE_BOOTSTRAP, else the current context, else this machine.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from headrace.admin.cluster import DEFAULT_BOOTSTRAP, Cluster
from headrace.admin.errors import UsageMistake
from headrace.cli.contexts import load_contexts


def resolve(
    bootstrap_server: str | None, context: str | None, properties: list[str] | None, timeout_s: float | None = None
) -> Cluster:
    """The cluster that flags, environment and configuration file mean, in this order."""
    extra = pairs(properties or [], "-X")
    cluster = _base(bootstrap_server, context)
    cluster.properties |= extra
    if timeout_s is not None:
        cluster.timeout_s = timeout_s
    return cluster


def _base(bootstrap_server: str | None, context: str | None) -> Cluster:
    if bootstrap_server:
        return Cluster(bootstrap_server, "from --bootstrap-server")
    from_environment = os.environ.get("HEADRACE_BOOTSTRAP")
    if not context and from_environment:
        return Cluster(from_environment, "from HEADRACE_BOOTSTRAP")
    contexts = load_contexts()
    name = context or contexts.current
    if name:
        chosen = contexts.get(name)
        return Cluster(chosen.bootstrap_servers, f"context '{name}'", dict(chosen.properties))
    return Cluster(DEFAULT_BOOTSTRAP, "the default")


def pairs(texts: Iterable[str], option: str) -> dict[str, str]:
    """`key=value` texts as a mapping."""
    found = {}
    for text in texts:
        key, separator, value = text.partition("=")
        if not separator or not key.strip():
            raise UsageMistake(f"{option} '{text}' is not KEY=VALUE", f"Write it like {option} retention.ms=60000")
        found[key.strip()] = value
    return found
