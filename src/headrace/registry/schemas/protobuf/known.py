"""The files that every schema may import without a reference: Protocol Buffers' own, Google's common types and Confluent's."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from google.protobuf.descriptor_pb2 import FileDescriptorProto

from headrace.registry.schemas.protobuf.elements import File
from headrace.registry.schemas.protobuf.names import Names
from headrace.registry.schemas.protobuf.parsing import parse_file
from headrace.serde.known_files import MODULES

CONFLUENT_META = "confluent/meta.proto"
_TEXTS = {
    CONFLUENT_META: """
        syntax = "proto3";
        package confluent;
        import "google/protobuf/descriptor.proto";
        message Meta {
          string doc = 1;
          map<string, string> params = 2;
          repeated string tags = 3;
          repeated Rule rules = 4;
        }
        message Rule { string name = 1; string doc = 2; string expr = 3; string sql = 4; }
        extend google.protobuf.FileOptions { Meta file_meta = 1088; }
        extend google.protobuf.MessageOptions { Meta message_meta = 1088; }
        extend google.protobuf.FieldOptions { Meta field_meta = 1088; }
        extend google.protobuf.EnumOptions { Meta enum_meta = 1088; }
        extend google.protobuf.EnumValueOptions { Meta enum_value_meta = 1088; }
        """,
    "confluent/type/decimal.proto": """
        syntax = "proto3";
        package confluent.type;
        message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }
        """,
    "confluent/type/variant.proto": """
        syntax = "proto3";
        package confluent.type;
        message Variant { bytes metadata = 1; bytes value = 2; }
        """,
}
NAMES = frozenset([*MODULES, *_TEXTS])


@cache
def known_file(name: str) -> File | None:
    """The file of this name, parsed; None when it is none of ours."""
    if name in _TEXTS:
        return parse_file(_TEXTS[name])
    proto = compiled(name)
    if proto is None:
        return None
    from headrace.registry.schemas.protobuf.descriptors import to_file

    return to_file(proto)


@cache
def compiled(name: str) -> FileDescriptorProto | None:
    """The descriptor of this name as its package ships it; None for the texts above and for all others."""
    module = MODULES.get(name)
    if module is None:
        return None
    return FileDescriptorProto.FromString(import_module(module).DESCRIPTOR.serialized_pb)


@cache
def known_names() -> Names:
    """The types of all these files."""
    return Names((None, file) for file in map(known_file, sorted(NAMES)) if file is not None)
