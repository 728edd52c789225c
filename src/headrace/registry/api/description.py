"""The interface's own description: an OpenAPI document, and a page that shows it."""

from __future__ import annotations

from functools import cache
from typing import Any

from headrace.registry.api.call import Call
from headrace.registry.api.endpoint import Endpoint, Plain


def description_of(others: tuple[Endpoint, ...]) -> tuple[Endpoint, ...]:
    """The two endpoints that describe these and themselves."""

    @cache
    def made() -> tuple[Any, str]:
        from headrace.registry import openapi

        return openapi.document((*others, *both)), openapi.page((*others, *both))

    def show_document(call: Call) -> Any:
        return Plain(made()[0], media_type="application/json")

    def show_page(call: Call) -> Any:
        return Plain(made()[1], media_type="text/html; charset=utf-8")

    both = (
        Endpoint("GET", "/openapi.json", "This interface as an OpenAPI document.", show_document, answer="Object", in_contexts=False, public=True),
        Endpoint("GET", "/openapi", "This interface as a page.", show_page, answer="Text", in_contexts=False, public=True),
    )  # fmt: skip
    return both
