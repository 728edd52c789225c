"""The console as a child of `headrace up`."""

from __future__ import annotations

from headrace.cli.service_child import ServiceChild


def console_child(port: int, engine_port: int, registry_port: int, *, as_json: bool) -> ServiceChild:
    """It is told where its neighbours answer."""
    urls = ["--engine", f"http://127.0.0.1:{engine_port}", "--registry", f"http://127.0.0.1:{registry_port}"]
    return ServiceChild(["console", "--port", str(port), *urls], as_json=as_json)
