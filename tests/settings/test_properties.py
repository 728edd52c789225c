"""Java's properties format."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headrace.settings.properties import parse_properties


def test_the_forms_java_knows() -> None:
    text = (
        "# a comment\n"
        "  ! another\n"
        "\n"
        "a=1\n"
        "b : 2\r\n"
        "  c 3  \n"
        "d=x,\\\n"
        "    y\n"
        "e\\ f=\\u00e9\\n\\t\n"
        "g=\n"
        "h\n"
        "url=jdbc:thing=1\n"
        "path=C:\\\\data\n"
        "a=last"
    )
    assert parse_properties(text) == {
        "a": "last",
        "b": "2",
        "c": "3  ",
        "d": "x,y",
        "e f": "é\n\t",
        "g": "",
        "h": "",
        "url": "jdbc:thing=1",
        "path": "C:\\data",
    }


def test_a_file_that_ends_in_a_continuation() -> None:
    assert parse_properties("a=1\\") == {"a": "1"}


def escape(text: str) -> str:
    return "".join(f"\\u{ord(character):04x}" for character in text)


plain = st.text(st.characters(min_codepoint=1, max_codepoint=0xFFFF, exclude_categories=("Cs",)), min_size=1)


@given(st.dictionaries(plain, plain))
def test_every_text_can_be_written(values: dict[str, str]) -> None:
    text = "\n".join(f"{escape(key)}={escape(value)}" for key, value in values.items())
    assert parse_properties(text) == values


@given(st.text())
def test_no_text_breaks_the_parser(text: str) -> None:
    parse_properties(text)
