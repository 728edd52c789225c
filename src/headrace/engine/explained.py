"""A pipeline's plan, explained with the guarantee it runs under."""

from __future__ import annotations

from headrace.engine.record import PipelineRecord
from headrace.functions import CATALOGUE
from headrace.plan import explain

FORMS = {"text": "text/plain; charset=utf-8", "mermaid": "text/plain; charset=utf-8", "svg": "image/svg+xml"}


def explained(record: PipelineRecord, form: str) -> str:
    """The plan as text, as Mermaid or as a picture."""
    functions = {"text": explain.text, "mermaid": explain.mermaid, "svg": explain.svg}
    return functions[form](record.plan, record.guarantee, CATALOGUE)
