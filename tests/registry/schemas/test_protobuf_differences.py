"""Every kind of difference between two Protobuf schemas, with its place, its order and whether it breaks a reader."""

from __future__ import annotations

import pytest

from headrace.registry.schemas import InvalidSchema, Level, ParsedSchema, Reference, check, parse, with_version

P3 = 'syntax = "proto3"; '


def schema(text: str, *, uses: str | None = None, version: int = 1) -> ParsedSchema:
    """A schema, with a file `other.proto` under it when it uses one."""
    references = [Reference("other.proto", "other", version)] if uses else []
    return parse("PROTOBUF", P3 + text, references, {"other.proto": P3 + uses} if uses else {})


def found(old: ParsedSchema, new: ParsedSchema) -> list[str]:
    return [str(difference) for difference in new.differences(old)]


PAIRS = {
    "another package": ("package a; message M {}", "package b; message M {}", ["PACKAGE_CHANGED #/"]),
    "no package any more": ("package a; message M {}", "message M {}", ["PACKAGE_CHANGED #/"]),
    "a message more": ("message M {}", "message M {} message N {}", ["MESSAGE_ADDED #/N"]),
    "a message less": ("message M {} message N {}", "message M {}", ["MESSAGE_REMOVED #/N"]),
    "a nested message less": ("message M { message N {} }", "message M {}", ["MESSAGE_REMOVED #/M/N"]),
    "messages in another order": (
        "message M {} message N {}",
        "message N {} message M {}",
        ["MESSAGE_MOVED #/M", "MESSAGE_MOVED #/N"],
    ),
    "an enum more": ("message M {}", "message M {} enum E { A = 0; }", ["ENUM_ADDED #/E"]),
    "an enum less": ("enum E { A = 0; }", "message M {}", ["MESSAGE_ADDED #/M", "ENUM_REMOVED #/E"]),
    "values of an enum": (
        "enum E { A = 0; B = 1; C = 2; }",
        "enum E { A = 0; X = 1; D = 3; }",
        ["ENUM_CONST_CHANGED #/E/1", "ENUM_CONST_REMOVED #/E/2", "ENUM_CONST_ADDED #/E/3"],
    ),
    "a field more and one less": (
        "message M { int32 a = 1; int32 b = 2; }",
        "message M { int32 a = 1; int32 c = 3; }",
        ["FIELD_REMOVED #/M/2", "FIELD_ADDED #/M/3"],
    ),
    "another name": ("message M { int32 a = 1; }", "message M { int32 b = 1; }", ["FIELD_NAME_CHANGED #/M/1"]),
    "numbers that read one another": (
        "message M { int32 a = 1; uint64 b = 2; bool c = 3; E d = 4; sint32 e = 5; fixed32 f = 6; string g = 7; } enum E { A = 0; }",
        "message M { int64 a = 1; bool b = 2; E c = 3; int32 d = 4; sint64 e = 5; sfixed32 f = 6; bytes g = 7; } enum E { A = 0; }",
        [],
    ),
    "numbers that do not": (
        "message M { int32 a = 1; fixed32 b = 2; float c = 3; string d = 4; }",
        "message M { sint32 a = 1; fixed64 b = 2; double c = 3; int32 d = 4; }",
        [f"FIELD_SCALAR_KIND_CHANGED #/M/{tag}" for tag in (1, 2, 3, 4)],
    ),
    "a message for a number": (
        "message M { int32 a = 1; }",
        "message M { M a = 1; }",
        ["FIELD_KIND_CHANGED #/M/1"],
    ),
    "a map for a message": (
        "message M { M a = 1; }",
        "message M { map<string, string> a = 1; }",
        ["FIELD_KIND_CHANGED #/M/1"],
    ),
    "values of a map": (
        "message M { map<string, int32> a = 1; }",
        "message M { map<int32, string> a = 1; }",
        ["FIELD_SCALAR_KIND_CHANGED #/M/1", "FIELD_SCALAR_KIND_CHANGED #/M/1"],
    ),
    "another message": (
        "message M { A a = 1; } message A {} message B {}",
        "message M { B a = 1; } message A {} message B {}",
        ["FIELD_NAMED_TYPE_CHANGED #/M/1"],
    ),
    "the same message by another name": (
        "package p; message M { A a = 1; message A {} }",
        "package p; message M { .p.M.A a = 1; message A {} }",
        [],
    ),
    "labels": (
        "message M { optional int32 a = 1; optional string b = 2; int32 c = 3; }",
        "message M { repeated int32 a = 1; repeated string b = 2; repeated int32 c = 3; }",
        ["FIELD_NUMERIC_LABEL_CHANGED #/M/1", "FIELD_STRING_OR_BYTES_LABEL_CHANGED #/M/2"],
    ),
    "a oneof more": (
        "message M { int32 a = 1; }",
        "message M { oneof x { int32 a = 1; int32 b = 2; } }",
        ["ONEOF_ADDED #/M/x", "ONEOF_FIELD_ADDED #/M/x/2"],
    ),
    "two fields into a oneof": (
        "message M { int32 a = 1; int32 b = 2; }",
        "message M { oneof x { int32 a = 1; int32 b = 2; } }",
        ["MULTIPLE_FIELDS_MOVED_TO_ONEOF #/M/x", "ONEOF_ADDED #/M/x"],
    ),
    "a field into a oneof that was there": (
        "message M { oneof x { int32 a = 1; } int32 b = 2; }",
        "message M { oneof x { int32 a = 1; int32 b = 2; } }",
        ["FIELD_MOVED_TO_EXISTING_ONEOF #/M/x"],
    ),
    "a field of a oneof less": (
        "message M { oneof x { int32 a = 1; int32 b = 2; } }",
        "message M { oneof x { int32 a = 1; } }",
        ["ONEOF_FIELD_REMOVED #/M/x/2"],
    ),
    "a whole oneof less": (
        "message M { int32 c = 3; oneof x { int32 a = 1; int32 b = 2; } }",
        "message M { int32 c = 3; }",
        ["ONEOF_REMOVED #/M/x"],
    ),
    "a field out of its oneof": (
        "message M { oneof x { int32 a = 1; int32 b = 2; } }",
        "message M { oneof x { int32 a = 1; } int32 b = 2; }",
        ["ONEOF_FIELD_MOVED_TO_TOP_LEVEL #/M/2"],
    ),
    "two oneofs become one": (
        "message M { oneof x { int32 a = 1; } oneof y { int32 b = 2; } }",
        "message M { oneof x { int32 a = 1; int32 b = 2; } }",
        ["FIELD_MOVED_TO_EXISTING_ONEOF #/M/x", "ONEOF_REMOVED #/M/y"],
    ),
    "a message within itself": ("message M { M a = 1; }", "message M { M a = 1; int32 b = 2; }", ["FIELD_ADDED #/M/2"]),
}
COMPATIBLE = {
    "a message more", "messages in another order", "an enum more", "an enum less", "values of an enum", "a field more and one less", "another name",
    "numbers that read one another", "the same message by another name", "a oneof more", "a whole oneof less", "a field out of its oneof", "a message within itself",
}  # fmt: skip


@pytest.mark.parametrize("what", PAIRS)
def test_differences(what: str) -> None:
    old, new, expected = PAIRS[what]
    assert found(schema(old), schema(new)) == expected
    assert (not check(schema(new), [schema(old)], Level.BACKWARD)) == (what in COMPATIBLE)
    assert found(schema(new), schema(new)) == []


def test_required_fields() -> None:
    one, two = (
        parse("PROTOBUF", f"message M {{ optional int32 a = 1; {more} }}") for more in ("", "required int32 b = 2;")
    )
    assert found(one, two) == ["REQUIRED_FIELD_ADDED #/M/2"]
    assert found(two, one) == ["REQUIRED_FIELD_REMOVED #/M/2"]


OTHER = "package o; message A { B b = 1; message B { int32 x = 1; } }"
OTHER_BROKEN = "package o; message A { B b = 1; message B { string x = 1; } }"
USER = 'import "other.proto"; message M { o.A a = 1; }'


def test_messages_of_other_files_are_compared_where_they_are_used() -> None:
    old = schema(USER, uses=OTHER)
    assert found(old, schema(USER, uses=OTHER, version=2)) == []
    assert found(old, schema(USER, uses=OTHER_BROKEN, version=2)) == [
        # B is met twice: as the type of a field of A, and as a type within A.
        "FIELD_SCALAR_KIND_CHANGED #/A/B/1",
        "FIELD_NAMED_TYPE_CHANGED #/A/1",
        "FIELD_SCALAR_KIND_CHANGED #/A/B/1",
        "FIELD_NAMED_TYPE_CHANGED #/M/1",
    ]
    # The same version of the same subject is the same file.
    assert found(old, schema(USER, uses=OTHER_BROKEN, version=1)) == []


def test_a_message_may_move_in_from_another_file() -> None:
    here = schema("message M { A a = 1; } message A { B b = 1; message B { int32 x = 1; } }")
    assert found(schema(USER, uses=OTHER), here) == ["MESSAGE_ADDED #/A"]


def test_types_that_refer_to_one_another_across_files_end() -> None:
    other = "package o; message A { A again = 1; map<string, B> more = 2; } message B { A a = 1; int32 n = 2; }"
    broken = other.replace("int32 n", "string n")
    result = found(schema(USER, uses=other), schema(USER, uses=broken, version=2))
    assert result[-1] == "FIELD_NAMED_TYPE_CHANGED #/M/1"
    assert "FIELD_SCALAR_KIND_CHANGED #/B/2" in result


def test_the_words_of_a_verbose_answer() -> None:
    old = with_version(schema("message M { int32 a = 1; }"), 3)
    messages = check(schema("message M { string a = 1; }"), [old], Level.FULL)
    sentence = "The kind of a SCALAR field at path '#/M/1' in the {} schema does not match its kind in the {} schema"
    assert messages == [
        f'{{errorType:"FIELD_SCALAR_KIND_CHANGED", description:"{sentence.format("old", "new")}"}}',
        f'{{errorType:"FIELD_SCALAR_KIND_CHANGED", description:"{sentence.format("new", "old")}"}}',
        "{oldSchemaVersion: 3}",
        "{oldSchema: 'syntax = \"proto3\";\n\nmessage M {\n  int32 a = 1;\n}\n'}",
    ]


def test_a_descriptor_and_its_text_do_not_differ() -> None:
    text = schema(
        "package p; message M { map<string, N> a = 1; message N { E e = 1; } enum E { Z = 0; } oneof o { N n = 2; } }"
    )
    sent = parse("PROTOBUF", text.format("serialized"))
    assert found(text, sent) == found(sent, text) == []


def test_comparisons_that_never_end_are_refused() -> None:
    """Each message uses the next one many times: 8 to the power of 40 ways through them."""
    chain = " ".join(f"message A{n} {{ {' '.join(f'A{n + 1} f{i} = {i};' for i in range(1, 9))} }}" for n in range(40))
    other = f"package o; message A {{ A0 a = 1; }} {chain} message A40 {{ int32 x = 1; }}"
    with pytest.raises(InvalidSchema, match="too complex"):
        found(schema(USER, uses=other), schema(USER, uses=other, version=2))
    deep = " ".join(f"message A{n} {{ A{n + 1} a = 1; }}" for n in range(2000))
    other = f"package o; message A {{ A0 a = 1; }} {deep} message A2000 {{ int32 x = 1; }}"
    with pytest.raises(InvalidSchema, match="too complex"):
        found(schema(USER, uses=other), schema(USER, uses=other, version=2))
