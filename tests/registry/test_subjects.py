"""Subjects and contexts as texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.registry import subjects


@pytest.mark.parametrize(
    ("text", "context", "name"),
    [
        ("orders", ".", "orders"),
        (":.east:orders", ".east", "orders"),
        (":.east:a:b", ".east", "a:b"),
        (":.:orders", ".", "orders"),
        (":.east:", ".east", ""),
        (":.east", ".east", ""),
        (":*:orders", "*", "orders"),
        (":x", ".", ":x"),
        ("", ".", ""),
    ],
)
def test_a_subject_is_a_context_and_a_name(text: str, context: str, name: str) -> None:
    assert subjects.split(text) == (context, name)


@given(st.text(alphabet=":.*ab", max_size=8))
def test_a_normalised_subject_stays_as_it_is(text: str) -> None:
    once = subjects.normalize(text)
    assert subjects.normalize(once) == once
    assert subjects.split(once) == subjects.split(text)


def test_a_reference_without_a_context_is_in_its_referrers() -> None:
    assert subjects.beside(":.east:orders", "money") == ":.east:money"
    assert subjects.beside(":.east:orders", ":.west:money") == ":.west:money"
    assert subjects.beside("orders", "money") == "money"


def test_what_a_setting_is_for() -> None:
    assert subjects.covers(None, ":.east:orders")
    assert subjects.covers(":.__GLOBAL:", "orders")
    assert subjects.covers(":.east:", ":.east:orders")
    assert subjects.covers("orders", "orders")
    assert not subjects.covers(":.east:", "orders")
    assert not subjects.covers("orders", "orders2")


@pytest.mark.parametrize(
    ("given_as", "context"), [("east", ".east"), (".east", ".east"), (":.east:", ".east"), (".", ".")]
)
def test_a_context_has_one_name(given_as: str, context: str) -> None:
    assert subjects.named_context(given_as) == context


def test_a_context_has_no_colon_inside() -> None:
    with pytest.raises(ValueError, match="colon"):
        subjects.named_context("a:b")


def test_reserved_names_and_control_characters_are_no_subjects() -> None:
    assert subjects.is_valid("orders")
    assert not subjects.is_valid("__GLOBAL")
    assert not subjects.is_valid("a\nb")
    assert not subjects.is_valid(":.__GLOBAL:x")
    assert subjects.is_valid(":.__GLOBAL:", for_settings=True)
    assert not subjects.is_valid("x" * 2000)
