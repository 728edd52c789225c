"""The texts of Protobuf schemas: the form that is kept, the normal form, and the formats that clients ask for."""

from __future__ import annotations

import base64

import pytest
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto

from headrace.registry.schemas import InvalidSchema, ParsedSchema, Reference, parse

WRITTEN = """
// A shop's orders.
syntax = "proto3";
package shop.v1;
import public "shop/money.proto";
import "google/protobuf/timestamp.proto";
option java_package = "com.shop";
message Order {
  reserved 7, 9 to 11; reserved "old";
  string id = 1;
  repeated Line lines = 2;
  /* either */ oneof paid_by { string card = 4; shop.Money cash = 5; }
  map<string, Line> extras = 6 [deprecated = true];
  google.protobuf.Timestamp at = 3 [json_name = "when"];
  message Line { string sku = 1; optional int32 count = 2; enum Unit { PIECE = 0; KILO = 1 [deprecated = true]; } Unit unit = 3; }
}
enum State { NEW = 0; SENT = 1; }
service Orders { rpc Get (Order) returns (stream Order); }
"""

KEPT = """syntax = "proto3";
package shop.v1;

import "google/protobuf/timestamp.proto";
import public "shop/money.proto";

option java_package = "com.shop";

message Order {
  reserved 7, 9 to 11;
  reserved "old";

  string id = 1;
  repeated Line lines = 2;
  map<string, Line> extras = 6 [deprecated = true];
  google.protobuf.Timestamp at = 3 [json_name = "when"];

  oneof paid_by {
    string card = 4;
    shop.Money cash = 5;
  }

  message Line {
    string sku = 1;
    optional int32 count = 2;
    Unit unit = 3;
  ~
    enum Unit {
      PIECE = 0;
      KILO = 1 [deprecated = true];
    }
  }
}
enum State {
  NEW = 0;
  SENT = 1;
}

service Orders {
  rpc Get (Order) returns (stream Order);
}
"""

NORMAL = """syntax = "proto3";
package shop.v1;

import "google/protobuf/timestamp.proto";
import public "shop/money.proto";

option java_package = "com.shop";

message Order {
  reserved 7;
  reserved 9 to 11;
  reserved "old";

  string id = 1;
  repeated .shop.v1.Order.Line lines = 2;
  .google.protobuf.Timestamp at = 3 [json_name = "when"];
  map<string, .shop.v1.Order.Line> extras = 6 [deprecated = true];

  oneof paid_by {
    string card = 4;
    .shop.Money cash = 5;
  }

  message Line {
    string sku = 1;
    optional int32 count = 2;
    .shop.v1.Order.Line.Unit unit = 3;
  ~
    enum Unit {
      PIECE = 0;
      KILO = 1 [deprecated = true];
    }
  }
}
enum State {
  NEW = 0;
  SENT = 1;
}

service Orders {
  rpc Get (.shop.v1.Order) returns (stream .shop.v1.Order);
}
"""
# Confluent's printer indents empty lines within messages; ~ marks their ends.
KEPT, NORMAL = KEPT.replace("~", ""), NORMAL.replace("~", "")
MONEY = 'syntax = "proto3"; package shop; message Money { int64 cents = 1; }'


def order() -> ParsedSchema:
    return parse(
        "PROTOBUF", WRITTEN, [Reference("shop/money.proto", "money", 1)], {"shop/money.proto": MONEY}, new=True
    )


def descriptor(schema: ParsedSchema) -> FileDescriptorProto:
    return FileDescriptorProto.FromString(base64.b64decode(schema.format("serialized")))


def test_one_form_whatever_the_layout() -> None:
    schema = order()
    assert schema.canonical() == KEPT
    assert schema.format("") == schema.format("no such format") == KEPT
    assert schema.name == "shop.v1.Order"


def test_normal_form() -> None:
    normal = order().normalized()
    assert normal.canonical() == NORMAL
    assert normal.normalized().canonical() == NORMAL


def test_a_type_that_does_not_resolve_has_no_normal_form() -> None:
    schema = parse("PROTOBUF", 'syntax = "proto3"; message A { B b = 1; }')
    with pytest.raises(InvalidSchema, match="Could not resolve type: B"):
        schema.normalized()


def test_serialized_names_every_type_in_full() -> None:
    proto = descriptor(order())
    assert proto.name == "default"
    assert list(proto.dependency) == ["google/protobuf/timestamp.proto", "shop/money.proto"]
    assert list(proto.public_dependency) == [1]
    fields = {field.name: field for field in proto.message_type[0].field}
    assert fields["cash"].type_name == ".shop.Money"
    assert fields["extras"].type_name == ".shop.v1.Order.ExtrasEntry"
    assert fields["lines"].type == FieldDescriptorProto.TYPE_MESSAGE
    assert proto.message_type[0].nested_type[0].field[1].proto3_optional


def test_a_descriptor_becomes_text() -> None:
    proto = descriptor(order())
    text = parse("PROTOBUF", base64.b64encode(proto.SerializeToString()).decode(), (), {"shop/money.proto": MONEY})
    assert "  repeated .shop.v1.Order.Line lines = 2;\n" in text.canonical()
    assert "  message ExtrasEntry {\n    option map_entry = true;\n" in text.canonical()
    # In normal form it is the same as its text.
    assert text.normalized().canonical() == NORMAL


@pytest.mark.parametrize("text", ["test", "aGVsbG8=", "AAAA", "not base64!", "{}", '{"type": "string"}', "=", "CgA="])
def test_what_is_neither_text_nor_descriptor(text: str) -> None:
    with pytest.raises(InvalidSchema, match="Could not parse Protobuf"):
        parse("PROTOBUF", text)


def test_an_error_names_its_place() -> None:
    with pytest.raises(InvalidSchema, match=r"Syntax error in :2:30: expected '=', found ';'"):
        parse("PROTOBUF", 'syntax = "proto3";\nmessage A { optional string x; }')


def test_ignore_extensions() -> None:
    text = """syntax = "proto3";
        import "google/protobuf/descriptor.proto";
        import "confluent/meta.proto";
        extend google.protobuf.FieldOptions { string mine = 50000; }
        message A { string a = 1 [(mine) = "x", deprecated = true, (confluent.field_meta).doc = "d"]; }"""
    schema = parse("PROTOBUF", text, new=True)
    assert schema.format("ignore_extensions").endswith(
        'message A {\n  string a = 1 [\n    deprecated = true,\n    (confluent.field_meta).doc = "d"\n  ];\n}\n'
    )
    assert "extend" not in schema.format("ignore_extensions")


def test_several_statements_about_one_option_are_one() -> None:
    text = """syntax = "proto3";
        package p;
        import "google/protobuf/descriptor.proto";
        message O { string a = 1; O b = 2; repeated int32 c = 3; }
        extend google.protobuf.MessageOptions { O o = 50000; }
        message M { option (o).b.a = "x"; option (.p.o).a = "y"; option (p.o).c = 0x10; option (o).c = 2; option (o).b.c = 3; }"""
    normal = parse("PROTOBUF", text, new=True).normalized().canonical()
    expected = """  option (p.o) = {
    a: "y",
    b: {
      a: "x",
      c: 3
    },
    c: [
      16,
      2
    ]
  };
"""
    assert expected in normal


def test_tags_and_fields() -> None:
    text = """syntax = "proto3";
        import "confluent/meta.proto";
        option (confluent.file_meta).tags = "file";
        message A {
          option (confluent.message_meta) = { tags: ["one", "two"] };
          string a = 1 [(confluent.field_meta) = { tags: "three", params: [{ key: "k", value: "v" }] }];
          oneof x { string b = 2; }
          enum E { Z = 0 [(confluent.enum_value_meta).tags = "four"]; }
        }"""
    schema = parse("PROTOBUF", text, new=True)
    assert schema.tags() == {"file", "one", "two", "three", "four"}
    assert schema.has_top_level_field("a")
    assert not schema.has_top_level_field("c")
    sent = parse("PROTOBUF", schema.format("serialized"))
    assert sent.tags() == schema.tags()
    assert (
        '(confluent.field_meta) = {\n    params: [\n      {\n        key: "k",\n        value: "v"\n      }\n    ],\n'
        in (sent.canonical())
    )


def test_editions_say_so_in_their_text() -> None:
    text = 'edition = "2023";\n\nmessage A {\n  reserved x;\n\n  int32 a = 1 [features.field_presence = IMPLICIT];\n}\n'
    schema = parse("PROTOBUF", text, new=True)
    assert schema.canonical() == text
    proto = descriptor(schema)
    assert (proto.syntax, proto.edition) == ("editions", 1000)
    sent = parse("PROTOBUF", schema.format("serialized"), new=True)
    assert sent.canonical().startswith('edition = "2023";\n')
    assert descriptor(sent) == proto


def test_a_file_that_only_imports_another_stands_for_it() -> None:
    schema = parse("PROTOBUF", 'import public "shop/money.proto";', (), {"shop/money.proto": MONEY}, new=True)
    assert schema.name == "shop.Money"
    assert schema.has_top_level_field("cents")


def test_imports_that_only_options_need_may_be_missing() -> None:
    """Files of tools that never reach a registry, such as validators."""
    text = 'syntax = "proto3"; import "validate/validate.proto"; message A { string a = 1 [(validate.rules).string.min_len = 1]; }'
    schema = parse("PROTOBUF", text, new=True)
    assert "(validate.rules).string.min_len = 1" in schema.canonical()
    assert not descriptor(schema).dependency


def test_circles_of_imports_end() -> None:
    one, other = ('syntax = "proto3"; import "b"; message A {}', 'syntax = "proto3"; import "a"; message B {}')
    with pytest.raises(InvalidSchema, match="circle"):
        parse("PROTOBUF", 'import "a"; message C {}', (), {"a": one, "b": other}, new=True)


@pytest.mark.parametrize(
    "text",
    [
        "message A {" * 40 + "}" * 40,
        "option (a) = " + "{a:" * 200 + "1" + "}" * 200 + ";",
        "option (a) = " + "[" * 5000 + "]" * 5000 + ";",
        "message A { int32 a = " + "9" * 10_000 + "; }",
        "(" * 100_000,
    ],
    ids=["messages", "literals", "lists", "digits", "marks"],
)
def test_bombs_are_refused(text: str) -> None:
    with pytest.raises(InvalidSchema):
        parse("PROTOBUF", text, new=True)
