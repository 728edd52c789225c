"""What the docs say is so: settings and commands they name exist, links lead somewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.cli.reference import commands
from headrace.engine.settings import PIPELINE_SETTINGS
from headrace.registry.settings import REGISTRY_SETTINGS
from headrace.replica.features import KNOWN as FEATURES
from headrace.settings import BROKER_SETTINGS, GROUP_SETTINGS, TOPIC_SETTINGS
from headrace.settings.kafka_names import UNUSED_KAFKA_SETTINGS
from tests.cli.conftest import Run

PROJECT = Path(__file__).resolve().parents[2]
PAGES = [
    *(
        PROJECT / name
        for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "examples/README.md")
    ),
    *(page for page in (PROJECT / "docs").rglob("*.md") if page.parent.name != "reference"),
]
CLIENT_SETTINGS = {
    "isolation.level",
    "enable.auto.commit",
    "group.instance.id",
    "transaction.timeout.ms",
    "processing.guarantee",
    "bootstrap.servers",
    "group.id",
    "auto.offset.reset",
    "enable.idempotence",
    "transactional.id",
    "group.protocol",
    "use.latest.with.metadata",
}
# How names in Python begin that look like settings.
PYTHON_NAMES = ("p.", "str.", "key.", "value.", "app.", "b.", "fs.", "headrace.testing")
SINK_OPTIONS = {"check.replay"}
SPARK_SETTINGS = {"spark.jars", "spark.jars.packages"}
SETTINGS = {
    *BROKER_SETTINGS,
    *TOPIC_SETTINGS,
    *GROUP_SETTINGS,
    *UNUSED_KAFKA_SETTINGS,
    *CLIENT_SETTINGS,
    *FEATURES,
    *PIPELINE_SETTINGS,
    *REGISTRY_SETTINGS,
    *SINK_OPTIONS,
    *SPARK_SETTINGS,
}
_CODE = re.compile(r"`([^`\n]+)`")
_SETTING = re.compile(r"^([a-z]+(?:\.[a-z]+)+)(?:=.*)?$")
_COMMAND = re.compile(r"headrace(?: [a-z][a-z-]*)+")
_TEST = re.compile(r"\btests/[a-z_/]+(?:\.py)?(?:::(\w+))?")
_MODULE = re.compile(r"python -m (tests(?:\.[a-z_]+)+)")
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
_FILES = (".md", ".py", ".json", ".properties", ".lock", ".toml", ".metadata", ".ci")


def _is_python(name: str) -> bool:
    place = PROJECT / "src" / name.replace(".", "/")
    return name.startswith(PYTHON_NAMES) or place.is_dir() or place.with_suffix(".py").is_file()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
def test_a_page(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for code in _CODE.findall(text):
        setting = _SETTING.match(code)
        if setting and not setting[1].endswith(_FILES) and not _is_python(setting[1]):
            assert setting[1] in SETTINGS, f"{setting[1]} is no setting"
    paths = {path for path, _, _ in commands()}
    for found in _COMMAND.findall(text):
        words = found.split()
        if "`" + found in text or "$ " + found in text:
            assert " ".join(words[:2]) in paths, f"`{found}` is no command"
    for target in _LINK.findall(text):
        if not target.startswith(("http://", "https://", "mailto:")):
            assert (page.parent / target).exists(), f"{target} leads nowhere"
    for found in _TEST.finditer(text):
        path = PROJECT / found[0].split("::")[0]
        assert path.exists(), f"{found[0]} is not there"
        assert not found[1] or f"def {found[1]}(" in path.read_text(encoding="utf-8"), f"{found[0]} is not there"
    for module in _MODULE.findall(text):
        assert (PROJECT / (module.replace(".", "/") + ".py")).exists(), f"{module} is not there"


GUARANTEES = sorted(page for page in (PROJECT / "docs" / "guarantees").glob("*.md") if page.stem != "index")


@pytest.mark.parametrize("page", GUARANTEES, ids=lambda page: page.stem)
def test_a_guarantee_says_what_is_not_promised_and_which_test_shows_it(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    headings = [
        line for line in text.splitlines() if line in ("## Promised", "## Not promised", "## Settings", "## Shown by")
    ]
    assert headings == ["## Promised", "## Not promised", "## Settings", "## Shown by"]
    shown_by = text.split("## Shown by")[1]
    assert "::test_" in shown_by or "/test_" in shown_by
    assert "$ python -m pytest tests/" in shown_by
    assert f"({page.name})" in (page.parent / "index.md").read_text(encoding="utf-8")


def test_the_program_of_the_page_on_transactions(cli: Run, bootstrap: str, name: str) -> None:
    page = (PROJECT / "docs" / "how-to" / "use-transactions.md").read_text(encoding="utf-8")
    program = page.split("```python\n")[1].split("```")[0]
    for old, new in {"127.0.0.1:9092": bootstrap, '["orders': f'["orders-{name}', '"invoic': f'"{name}-invoic'}.items():
        program = program.replace(old, new)
    assert cli("topic", "create", f"orders-{name}", f"{name}-invoices").code == 0
    assert cli("produce", f"orders-{name}", stdin="".join(f"{number}\n" for number in range(100))).code == 0
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "100 orders invoiced\n"), done.stderr
    assert len(cli("consume", f"{name}-invoices").out.splitlines()) == 100
    assert f"{name}-invoicing-1" in cli("transactions", "list", "--state", "CompleteCommit").out
