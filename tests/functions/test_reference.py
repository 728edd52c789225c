"""The reference holds every function and every format; `tests/cli/test_reference.py` holds the pages against it."""

from __future__ import annotations

from headrace.formats import FORMATS
from headrace.formats.reference import page as formats_page
from headrace.functions import CATALOGUE
from headrace.functions.reference import page


def test_every_function_and_signature_is_on_the_page() -> None:
    text = page()
    for one in [*CATALOGUE.scalars.values(), *CATALOGUE.aggregates.values()]:
        for signature in one.signatures():
            assert f"`{signature}`" in text
        assert one.doc.replace("|", "\\|") in text


def test_every_format_and_option_is_on_the_page() -> None:
    text = formats_page()
    for one in FORMATS.values():
        assert f"## `{one.name}`" in text
        for option in one.options:
            assert f"- `{option}`" in text
