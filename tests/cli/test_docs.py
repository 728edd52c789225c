"""What the docs say is so: settings and commands they name exist, links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headrace.cli.reference import commands
from headrace.replica.features import KNOWN as FEATURES
from headrace.settings import BROKER_SETTINGS, GROUP_SETTINGS, TOPIC_SETTINGS
from headrace.settings.kafka_names import UNUSED_KAFKA_SETTINGS

PROJECT = Path(__file__).resolve().parents[2]
PAGES = [
    *(
        PROJECT / name
        for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "examples/README.md")
    ),
    *(page for page in (PROJECT / "docs").rglob("*.md") if page.parent.name != "reference"),
]
CLIENT_SETTINGS = {
    "bootstrap.servers",
    "group.id",
    "auto.offset.reset",
    "enable.idempotence",
    "transactional.id",
    "group.protocol",
}
SETTINGS = {*BROKER_SETTINGS, *TOPIC_SETTINGS, *GROUP_SETTINGS, *UNUSED_KAFKA_SETTINGS, *CLIENT_SETTINGS, *FEATURES}
_CODE = re.compile(r"`([^`\n]+)`")
_SETTING = re.compile(r"^([a-z]+(?:\.[a-z]+)+)(?:=.*)?$")
_COMMAND = re.compile(r"headrace(?: [a-z][a-z-]*)+")
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
_FILES = (".md", ".py", ".properties", ".lock", ".toml", ".metadata", ".ci")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
def test_a_page(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for code in _CODE.findall(text):
        setting = _SETTING.match(code)
        if setting and not setting[1].endswith(_FILES) and not setting[1].startswith(("headrace.testing", "b.", "fs.")):
            assert setting[1] in SETTINGS, f"{setting[1]} is no setting"
    paths = {path for path, _, _ in commands()}
    for found in _COMMAND.findall(text):
        words = found.split()
        if "`" + found in text or "$ " + found in text:
            assert " ".join(words[:2]) in paths, f"`{found}` is no command"
    for target in _LINK.findall(text):
        if not target.startswith(("http://", "https://", "mailto:")):
            assert (page.parent / target).exists(), f"{target} leads nowhere"
