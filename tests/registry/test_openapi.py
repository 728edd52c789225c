"""The registry's OpenAPI document: whole, and any request made from it is answered without a failure of the server."""

from __future__ import annotations

from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, settings

from headrace.registry.api import ENDPOINTS
from headrace.registry.openapi import FORMS, document
from headrace.registry.server import RegistryServer
from tests.model_settings import FACTOR
from tests.registry.rest import Rest

SCHEMA = schemathesis.openapi.from_dict(document(ENDPOINTS))


def test_it_is_served(rest: Rest) -> None:
    served = rest.get("/openapi.json").body
    assert served["openapi"].startswith("3.1")
    operations = sum(len(methods) for methods in served["paths"].values())
    assert operations == len(ENDPOINTS)
    page = rest.get("/openapi", Accept="text/html")
    assert page.headers["content-type"].startswith("text/html")
    for endpoint in ENDPOINTS:
        assert endpoint.path in page.body
        for form in (endpoint.body, endpoint.answer):
            assert not form or form in FORMS


@SCHEMA.parametrize()
@settings(
    max_examples=4 * max(FACTOR, 1),
    derandomize=FACTOR == 0,
    database=None,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_no_request_makes_it_fail(case: Any, server: RegistryServer) -> None:
    """A few requests for each operation; HEADRACE_EXAMPLES=50 asks fifty times as many, at random."""
    answer = case.call(base_url=server.url)
    # 501 is what exporters are answered with, and 503 what a probe is told; neither is a failure.
    assert answer.status_code < 500 or answer.status_code == 501, answer.text
    if answer.status_code >= 400:
        assert set(answer.json()) == {"error_code", "message"}
