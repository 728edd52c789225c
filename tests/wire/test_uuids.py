"""Ids and their text."""

from __future__ import annotations

import pytest

from headrace.wire import uuids


def test_text_is_kafkas() -> None:
    assert uuids.to_text(uuids.ZERO_UUID) == "AAAAAAAAAAAAAAAAAAAAAA"
    assert uuids.to_text(uuids.METADATA_TOPIC_ID) == "AAAAAAAAAAAAAAAAAAAAAQ"
    assert uuids.from_text("MkU3OEVBNTcwNTJENDM2Qk") == b"2E78EA57052D436B"


def test_random_ids_go_through_their_text() -> None:
    for _ in range(500):
        value = uuids.random_uuid()
        text = uuids.to_text(value)
        assert len(value) == 16 and len(text) == 22 and not text.startswith("-")
        assert uuids.from_text(text) == value


@pytest.mark.parametrize("text", ["", "short", "x" * 23, "ü" * 22, "a b" + "c" * 19, "=" * 22])
def test_text_that_is_no_id(text: str) -> None:
    with pytest.raises(ValueError, match="not an id"):
        uuids.from_text(text)
