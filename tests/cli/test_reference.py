"""The reference pages hold every command, setting, API and metric, as the code has them now."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.cli.reference import commands, pages

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reference"
PAGES = pages()


@pytest.mark.parametrize("name", sorted(PAGES))
def test_pages_are_as_the_code_makes_them(name: str) -> None:
    path = FOLDER / name
    assert path.exists(), f"docs/reference/{name} is missing; `make docs` writes it"
    assert path.read_text(encoding="utf-8") == PAGES[name], (
        f"docs/reference/{name} is out of date; `make docs` renews it"
    )


def test_every_page_is_in_the_navigation() -> None:
    navigation = (FOLDER.parents[1] / "mkdocs.yml").read_text()
    for name in PAGES:
        assert f"reference/{name}" in navigation


def test_everything_is_there() -> None:
    from headrace.broker.api import HANDLERS
    from headrace.broker.metrics import METRICS
    from headrace.settings import BROKER_SETTINGS, GROUP_SETTINGS, TOPIC_SETTINGS

    for path, _, _ in commands():
        assert f"# {path}\n" in PAGES["cli.md"]
    for settings, page in ((BROKER_SETTINGS, "broker"), (TOPIC_SETTINGS, "topic"), (GROUP_SETTINGS, "group")):
        for name in settings:
            assert f"### `{name}`" in PAGES[f"{page}-settings.md"]
    for handler in HANDLERS:
        assert f"### {handler.REQUEST.__name__.removesuffix('Request')}\n" in PAGES["apis.md"]
    for measure in METRICS:
        assert measure.name in PAGES["metrics.md"]


def test_every_page_of_the_docs_is_in_the_navigation() -> None:
    """Or named there as one that is not: the page that `make bench` writes is not there before its first run."""
    docs = FOLDER.parent
    navigation = (docs.parent / "mkdocs.yml").read_text()
    missing = [
        str(page.relative_to(docs)) for page in docs.rglob("*.md") if str(page.relative_to(docs)) not in navigation
    ]
    assert missing == []
