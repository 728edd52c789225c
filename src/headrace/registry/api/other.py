"""What is neither a schema nor a setting: the registry itself, associations of topics with subjects, and exporters, which it does not have."""

from __future__ import annotations

from typing import Any

from headrace import __version__
from headrace.registry.api.call import Call
from headrace.registry.api.endpoint import Endpoint, Plain
from headrace.registry.errors import RegistryError


def root(call: Call) -> Any:
    return {}


def show_id(call: Call) -> Any:
    scope = {"path": [], "clusters": {"schema-registry-cluster": call.registry.candidacy.group}}
    return {"scope": scope, "id": ""}


def show_build(call: Call) -> Any:
    return {"version": __version__, "commitId": ""}


def show_deployment(call: Call) -> Any:
    return {"attributes": {"edition": "headrace"}}


def show_health(call: Call) -> Any:
    problems = call.registry.problems()
    return Plain({"status": "waiting" if problems else "ok", "problems": problems}, 503 if problems else 200)


def show_metrics(call: Call) -> Any:
    from headrace.registry.metrics import CONTENT_TYPE, render

    return Plain(render(call.registry), media_type=CONTENT_TYPE)


def list_exporters(call: Call) -> Any:
    return []


def no_exporter(call: Call) -> Any:
    raise RegistryError(40450, f"Exporter '{call.path['name']}' not found.")


def refuse_exporter(call: Call) -> Any:
    raise RegistryError(
        501,
        "Schema linking is not a part of this registry: copy schemas with `GET /schemas` here and import mode (`PUT /mode`) there",
    )


_EXPORTER = "/exporters/{name}"
_MISSING = (40450,)
ENDPOINTS = (
    Endpoint("GET", "/", "An empty object: somebody is there.", root, in_contexts=False, answer="Object"),
    Endpoint("POST", "/", "The same.", root, in_contexts=False, answer="Object"),
    Endpoint("GET", "/v1/metadata/id", "Which cluster this is.", show_id, in_contexts=False, answer="Object"),
    Endpoint("GET", "/v1/metadata/version", "Which version this is.", show_build, in_contexts=False, answer="Object"),
    Endpoint("GET", "/v1/metadata/deployment", "How it is run.", show_deployment, in_contexts=False, answer="Object"),
    Endpoint("GET", "/healthz", "200 while reads and writes work, else 503 with the reasons.", show_health, in_contexts=False, answer="Object", errors=(503,), public=True),
    Endpoint("GET", "/metrics", "Figures for Prometheus.", show_metrics, in_contexts=False, answer="Text", public=True),
    Endpoint("GET", "/exporters", "The exporters: none, as in the community edition.", list_exporters, answer="Texts", in_contexts=False),
    Endpoint("POST", "/exporters", "Refused: schema linking is not a part of this registry.", refuse_exporter, body="Object", errors=(501,), writes=True, in_contexts=False),
    *(Endpoint(method, path, "There is no exporter.", no_exporter, errors=_MISSING, body=body, writes=method != "GET", in_contexts=False)
      for method, path, body in (
          ("GET", _EXPORTER, ""), ("PUT", _EXPORTER, "Object"), ("DELETE", _EXPORTER, ""),
          ("GET", f"{_EXPORTER}/status", ""), ("GET", f"{_EXPORTER}/config", ""), ("PUT", f"{_EXPORTER}/config", "Object"),
          ("PUT", f"{_EXPORTER}/pause", ""), ("PUT", f"{_EXPORTER}/resume", ""), ("PUT", f"{_EXPORTER}/reset", ""))),
)  # fmt: skip
