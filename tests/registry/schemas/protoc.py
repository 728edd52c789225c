"""Protocol Buffers' own compiler, asked what a .proto file means."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import google.rpc
import grpc_tools
from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto, FileDescriptorSet
from google.protobuf.message import Message

INCLUDE = [Path(grpc_tools.__file__).parent / "_proto", Path(next(iter(google.rpc.__path__))).parent.parent]


def shipped() -> dict[str, Path]:
    """Every .proto file that the packages of Google ship here, by the name under which others import it."""
    return {
        str(path.relative_to(root)): path
        for root in INCLUDE
        for path in sorted((root / "google").rglob("*.proto"))
        if "compiler" not in path.parts
    }


def compile_files(folder: Path, names: list[str]) -> dict[str, FileDescriptorProto] | str:
    """The descriptors of these files, or what the compiler says is wrong."""
    out = folder / "descriptors.bin"
    includes = [f"-I{path}" for path in (folder, *INCLUDE)]
    command = [sys.executable, "-m", "grpc_tools.protoc", *includes, f"--descriptor_set_out={out}", *names]
    ended = subprocess.run(command, capture_output=True, text=True)
    if ended.returncode:
        return ended.stderr
    return {file.name: file for file in FileDescriptorSet.FromString(out.read_bytes()).file}


_ONE_BY_ONE = """
import sys
from grpc_tools import protoc
*includes, folder, names = sys.argv[1:]
for name in names.split(","):
    if protoc.main(["protoc", *includes, f"--descriptor_set_out={folder}/{name}.bin", name]):
        print(name)
"""


def refused(folder: Path, names: list[str]) -> set[str]:
    """Those of these files that the compiler refuses, each asked for itself in one process."""
    includes = [f"-I{path}" for path in (folder, *INCLUDE)]
    command = [sys.executable, "-c", _ONE_BY_ONE, *includes, str(folder), ",".join(names)]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def comparable(file: FileDescriptorProto, *, custom_options: bool = True) -> FileDescriptorProto:
    """Without what says the same in two ways: the order of fields, JSON names that follow from names, empty options, places in the text."""
    copy = FileDescriptorProto()
    copy.CopyFrom(file)
    copy.ClearField("source_code_info")
    copy.ClearField("name")
    _tidy(copy, custom_options)
    for message in copy.message_type:
        _message(message)
    for enum in copy.enum_type:
        enum.value.sort(key=lambda value: (value.number, value.name))
    dependencies = sorted(copy.dependency)
    public = sorted(copy.dependency[index] for index in copy.public_dependency)
    del copy.dependency[:], copy.public_dependency[:]
    copy.dependency.extend([*dependencies, *(f"public {name}" for name in public)])
    return copy


def _tidy(proto: Message, custom_options: bool) -> None:
    for field, value in proto.ListFields():
        if field.name == "options":
            if not custom_options:
                value.DiscardUnknownFields()
            # What declarations of extensions say is for the compiler; it leaves them out of descriptors.
            if field.message_type.name == "ExtensionRangeOptions" or not value.ByteSize():
                proto.ClearField("options")
        elif field.name == "json_name":
            proto.ClearField("json_name")
        elif field.message_type is not None:
            for each in value if field.is_repeated else [value]:
                _tidy(each, custom_options)


def _message(message: DescriptorProto) -> None:
    for nested in message.nested_type:
        _message(nested)
    for enum in message.enum_type:
        enum.value.sort(key=lambda value: (value.number, value.name))
    message.field.sort(key=lambda field: field.number)
    message.reserved_range.sort(key=lambda reserved: reserved.start)
    message.reserved_name.sort()
    names = [oneof.name for oneof in message.oneof_decl]
    for field in message.field:
        if field.HasField("oneof_index"):
            field.json_name = f"oneof {names[field.oneof_index]}"
            field.ClearField("oneof_index")
    message.oneof_decl.sort(key=lambda oneof: oneof.name)
    message.nested_type.sort(key=lambda nested: nested.name)
