"""The schema registry as a child of `headrace up`."""

from __future__ import annotations

from headrace.cli.service_child import ServiceChild


def registry_child(port: int, *, as_json: bool) -> ServiceChild:
    return ServiceChild(["registry", "--port", str(port)], as_json=as_json)
