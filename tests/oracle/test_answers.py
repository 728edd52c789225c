"""Headrace's answers compared with those that Apache Kafka gave; `python -m conformance differential` asks Kafka again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conformance.node import placed
from headrace.testing import broker
from tests.oracle import differences
from tests.oracle.play import PROFILES, compare, play, read_golden, scripts, unexplained
from tests.oracle.script import Exchange

Answers = dict[str, list[Exchange]]
ALL = [(profile, script) for profile in PROFILES for script in scripts(profile)]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """What Headrace answers to all scripts."""
    found: Answers = {}
    for profile, wanted in PROFILES.items():
        data_dir = tmp_path_factory.mktemp(profile) / "data"
        with broker(placed(wanted.settings, data_dir), data_dir=data_dir) as server:
            found |= play(profile, server.port)
    return found


@pytest.mark.parametrize(("profile", "script"), ALL)
def test_headrace_answers_as_kafka_did(answers: Answers, profile: str, script: str) -> None:
    found = unexplained(compare(script, read_golden(script), answers[script]))
    assert not found, "\n".join(map(str, found))


def test_every_deliberate_difference_is_one(answers: Answers) -> None:
    found = [each for _, script in ALL for each in compare(script, read_golden(script), answers[script])]
    for difference in differences.DIFFERENCES:
        for script, patterns in difference.where.items():
            for pattern in patterns:
                row = difference._replace(where={script: [pattern]})
                assert any(row.explains(*each) for each in found), f"{difference.what}: {script}: {pattern}"


def test_what_is_advertised_has_kafkas_versions(answers: Answers) -> None:
    def ranges(exchanges: list[Exchange]) -> dict[int, Any]:
        (answer,) = (answer for label, answer in exchanges if label.endswith("ApiVersions v4"))
        return {row.get("api_key", 0): row for row in answer["api_keys"]}

    kafka, headrace = ranges(read_golden("api_versions")), ranges(answers["api_versions"])
    assert headrace.items() <= kafka.items()


def test_the_page_of_differences_is_up_to_date() -> None:
    assert differences.PAGE.read_text() == differences.page(), "run python -m tests.oracle.differences"


def test_a_changed_answer_is_noticed(answers: Answers) -> None:
    """The canary: a comparison that never fails proves nothing."""
    golden = read_golden("fetch_versions")
    text = json.dumps(golden).replace('"high_watermark": 9', '"high_watermark": 8', 1)
    assert unexplained(compare("fetch_versions", [tuple(each) for each in json.loads(text)], answers["fetch_versions"]))
