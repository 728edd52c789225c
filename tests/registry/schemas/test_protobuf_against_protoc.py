"""Our reader of .proto files against Protocol Buffers' own compiler: what files mean, and which are refused."""

from __future__ import annotations

import base64
import os
import re
from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorProto

from headrace.registry.schemas import InvalidSchema, ParsedSchema, parse
from tests.registry.schemas.protoc import comparable, compile_files, refused, shipped

TEXTS = {name: path.read_text() for name, path in shipped().items()}


SLICE = sorted(TEXTS)[:: 1 if os.environ.get("HEADRACE_ALL_PROTOS") else 3]
"""Every third file; all of them when asked."""


def imports(name: str, found: dict[str, str] | None = None) -> dict[str, str]:
    found = {} if found is None else found
    for each in re.findall(r'^import (?:public |weak )?"([^"]+)"', TEXTS[name], re.MULTILINE):
        if each not in found and each in TEXTS:
            imports(each, found)
            found[each] = TEXTS[each]
    return found


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, FileDescriptorProto]:
    found = compile_files(tmp_path_factory.mktemp("protoc"), list(TEXTS))
    assert isinstance(found, dict), found
    return found


def meaning(schema: ParsedSchema, *, custom_options: bool = True) -> str:
    proto = FileDescriptorProto.FromString(base64.b64decode(schema.format("serialized")))
    return str(comparable(proto, custom_options=custom_options))


@pytest.mark.parametrize("name", SLICE)
def test_means_what_the_compiler_says(name: str, compiled: dict[str, FileDescriptorProto]) -> None:
    schema = parse("PROTOBUF", TEXTS[name], (), imports(name), new=True)
    expected = str(comparable(compiled[name]))
    assert meaning(schema) == expected
    again = parse("PROTOBUF", schema.canonical(), (), imports(name), new=True)
    assert again.canonical() == schema.canonical()
    assert meaning(again) == expected
    normal = schema.normalized()
    assert meaning(normal) == expected
    assert normal.normalized().canonical() == normal.canonical()


@pytest.mark.parametrize("name", SLICE)
def test_reads_descriptors(name: str, compiled: dict[str, FileDescriptorProto]) -> None:
    """As clients send them. Options that nobody told us about cannot be named, and are left out."""
    sent = base64.b64encode(compiled[name].SerializeToString()).decode()
    schema = parse("PROTOBUF", sent, (), imports(name), new=True)
    expected = str(comparable(compiled[name], custom_options=False))
    assert meaning(schema, custom_options=False) == expected
    again = parse("PROTOBUF", schema.canonical(), (), imports(name), new=True)
    assert again.canonical() == schema.canonical()
    assert meaning(again, custom_options=False) == expected


P2, P3 = 'syntax = "proto2";\n', 'syntax = "proto3";\n'
REFUSED = {
    "the same number": P3 + "message A { int32 a = 1; int32 b = 1; }",
    "the same name": P3 + "message A { int32 a = 1; int64 a = 2; }",
    "two messages of a name": P3 + "message A {} message A {}",
    "number zero": P3 + "message A { int32 a = 0; }",
    "a negative number": P3 + "message A { int32 a = -1; }",
    "a number too large": P3 + "message A { int32 a = 536870912; }",
    "a number of the library": P3 + "message A { int32 a = 19000; }",
    "a reserved number": P3 + "message A { reserved 1 to 5; int32 a = 3; }",
    "a reserved name": P3 + 'message A { reserved "a"; int32 a = 1; }',
    "reserved twice": P3 + "message A { reserved 1 to 5, 3; }",
    "an extension's number": P2 + "message A { extensions 1 to 5; optional int32 a = 3; }",
    "an enum without zero": P3 + "enum E { A = 1; }",
    "an empty enum": P3 + "enum E { }",
    "an alias unasked": P3 + "enum E { A = 0; B = 0; }",
    "two values of a name": P3 + "enum E { A = 0; A = 1; }",
    "values share a scope": P3 + "enum E { A = 0; } enum F { A = 0; }",
    "a reserved value": P3 + "enum E { reserved 1; A = 0; B = 1; }",
    "an enum value too large": P3 + "enum E { A = 0; B = 2147483648; }",
    "required in proto3": P3 + "message A { required int32 a = 1; }",
    "a default in proto3": P3 + "message A { int32 a = 1 [default = 1]; }",
    "a group in proto3": P3 + "message A { optional group G = 1 { } }",
    "extensions in proto3": P3 + "message A { extensions 1 to 5; }",
    "float keys": P3 + "message A { map<float, string> a = 1; }",
    "enum keys": P3 + "enum E {X=0;} message A { map<E, string> a = 1; }",
    "a map in a oneof": P3 + "message A { oneof x { map<string, string> a = 1; } }",
    "a repeated map": P3 + "message A { repeated map<string, string> a = 1; }",
    "a list in a oneof": P3 + "message A { oneof x { repeated string a = 1; } }",
    "an empty oneof": P3 + "message A { oneof x { } }",
    "an unknown type": P3 + "message A { B b = 1; }",
    "a field as a type": P3 + "message A { int32 B = 1; B b = 2; }",
    "a default of another type": P2 + 'message A { optional int32 a = 1 [default = "x"]; }',
    "an unknown default": P2 + "enum E {X=0;} message A { optional E a = 1 [default = Y]; }",
    "a default too large": P2 + "message A { optional int32 a = 1 [default = 99999999999]; }",
    "names equal in JSON": P3 + "message A { int32 foo_bar = 1; int32 fooBar = 2; }",
    "packed strings": P3 + "message A { repeated string a = 1 [packed = true]; }",
    "an option's type": P3 + "message A { option deprecated = 3; }",
    "a type from nowhere": P3 + 'import "nope.proto"; message A { x.B b = 1; }',
    "a type not imported": P3 + "message A { google.protobuf.Timestamp b = 1; }",
    "an unknown syntax": 'syntax = "proto4"; message A {}',
    "an unknown edition": 'edition = "2099"; message A {}',
    "syntax and edition": P3 + 'edition = "2023"; message A {}',
    "two packages": P3 + "package a; package b;",
    "a package that is no name": P3 + "package 1a; message A {}",
    "an unknown request": P3 + "service S { rpc X (Y) returns (Z); }",
    "an enum as a request": P3 + "enum E {A=0;} service S { rpc X (E) returns (E); }",
    "nothing to extend": P2 + "message A {} extend A { optional int32 x = 1; }",
    "an extension out of range": P2 + "message A { extensions 5 to 6; } extend A { optional int32 x = 1; }",
    "an end that is missing": P3 + "message A { int32 a = 1;",
    "a semicolon that is missing": P3 + "message A { int32 a = 1 }",
    "a string over two lines": P3 + 'option java_package = "a\nb";',
    "an open comment": P3 + "/* message A {}",
    "a number with a fraction": P3 + "message A { int32 a = 1.5; }",
    "an unknown feature": 'edition="2023"; option features.field_presence = FOO; message A { }',
}


@pytest.fixture(scope="module")
def refused_by_protoc(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    folder = tmp_path_factory.mktemp("refused")
    for index, text in enumerate(REFUSED.values()):
        (folder / f"case{index}.proto").write_text(text)
    return refused(folder, [f"case{index}.proto" for index in range(len(REFUSED))])


@pytest.mark.parametrize("what", REFUSED)
def test_refuses_what_the_compiler_refuses(what: str, refused_by_protoc: set[str]) -> None:
    assert f"case{list(REFUSED).index(what)}.proto" in refused_by_protoc
    with pytest.raises(InvalidSchema) as caught:
        parse("PROTOBUF", REFUSED[what], new=True)
    assert caught.value.reason


ACCEPTED = {
    "keywords as names": P3
    + "message message { int32 message = 1; string option = 2; } message oneof { string reserved = 1; }",
    "aliases": P3 + "enum E { option allow_alias = true; A = 0; B = 0; }",
    "optional in proto3": P3 + "message A { optional int32 a = 1; optional A b = 2; oneof c { int32 d = 3; } }",
    "groups": P2
    + "message A { optional group G = 1 { optional int32 a = 1; } repeated group H = 2 { } oneof o { group I = 3 {} } }",
    "defaults": P2
    + 'message A { optional string a = 1 [default = "x\\ty\\"z"]; optional bytes b = 2 [default = "\\001\\xff"]; optional float c = 3 [default = inf];'
    " optional double d = 4 [default = -1.5]; optional E e = 5 [default = Y]; optional bool f = 6 [default = true]; } enum E { X = 0; Y = 1; }",
    "numbers in other bases": P3 + "message A { int32 a = 0x10; int32 b = 010; }",
    "features": 'edition = "2023"; option features.field_presence = IMPLICIT; message A { int32 a = 1 [features.field_presence = EXPLICIT]; repeated int32 b = 2; }',
    "visibility": 'edition = "2024"; package p; export message A { int32 a = 1; local message B {} } local enum C { D = 0; }',
    "extensions": P2
    + "message A { extensions 4 to 10, 20 to max; } extend A { optional int32 x = 4; repeated B y = 5; } message B { extend A { optional B z = 6; } }",
    "names in scopes": P3
    + "package a.b; message C { message D {} D d = 1; C.D e = 2; b.C.D f = 3; .a.b.C.D g = 4; map<string, D> h = 5; }",
    "options of our own": P3
    + 'import "google/protobuf/descriptor.proto"; message O { string a = 1; O b = 2; repeated int32 c = 3; } extend google.protobuf.FieldOptions { O o = 50000; repeated string p = 50001; }'
    ' message M { int32 x = 1 [(o).a = "q", (o).b.a = "r", (p) = "1", (p) = "2"]; int32 y = 2 [(o) = { a: "s" b { c: [1, 2] } c: 3, c: 4 }]; }',
    "services": P3
    + "message A {} service S { option deprecated = true; rpc X (A) returns (stream A); rpc Y (stream A) returns (A) { option idempotency_level = NO_SIDE_EFFECTS; } }",
    "reserved": P3
    + 'message A { reserved 1, 3 to 5, 100 to max; reserved "x", "y"; } enum E { reserved -5 to -1, 7 to max; A0 = 0; }',
    "empty statements": P3 + ";; message A { ; int32 a = 1;; };",
    "strings in parts": P3 + 'option java_package = "a" ".b"\n\'.c\'; message A {}',
}


@pytest.mark.parametrize("what", ACCEPTED)
def test_accepts_what_the_compiler_accepts(what: str, tmp_path: Path) -> None:
    (tmp_path / "case.proto").write_text(ACCEPTED[what])
    found = compile_files(tmp_path, ["case.proto"])
    assert isinstance(found, dict), found
    schema = parse("PROTOBUF", ACCEPTED[what], new=True)
    expected = str(comparable(found["case.proto"]))
    assert meaning(schema) == expected
    assert meaning(parse("PROTOBUF", schema.canonical(), new=True)) == expected
    assert meaning(schema.normalized()) == expected
    sent = parse("PROTOBUF", base64.b64encode(found["case.proto"].SerializeToString()).decode(), new=True)
    assert meaning(sent, custom_options=False) == str(comparable(found["case.proto"], custom_options=False))
