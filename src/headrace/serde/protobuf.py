"""Protobuf messages from descriptors that a registry hands out, as the JSON that Protocol Buffers define for them. Nothing is compiled or imported by name."""

from __future__ import annotations

import base64
import binascii
import importlib
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from google.protobuf.message import DecodeError, EncodeError

from headrace.serde.errors import BadSchema, Undecodable, Unfit
from headrace.serde.framing import read_indexes, write_indexes
from headrace.serde.known_files import MODULES
from headrace.serde.schemas import Schema


class ProtobufCodec:
    """One file of messages. `message` names the one to write, by its full name or its last part; without it, it is the first."""

    def __init__(self, schema: Schema, message: str = "") -> None:
        self._file = _descriptor(schema.text)
        self._pool = descriptor_pool.DescriptorPool()
        self._added: set[str] = set()
        self._references = dict(schema.all_references())
        self._add("headrace.proto", self._file)
        self._wanted = message

    def decode(self, payload: bytes) -> Any:
        indexes, data = read_indexes(payload)
        message = self._class(self._name_at(indexes))()
        try:
            message.ParseFromString(data)
            return json_format.MessageToDict(message, preserving_proto_field_name=True, descriptor_pool=self._pool)
        except (DecodeError, json_format.Error, TypeError, ValueError, RecursionError) as error:
            raise Undecodable(f"it is no message of its schema ({error})") from None

    def encode(self, value: Any) -> bytes:
        indexes, name = self._place()
        if not isinstance(value, dict):
            raise Unfit(f"a message is an object, not {type(value).__name__}")
        try:
            message = json_format.ParseDict(value, self._class(name)(), descriptor_pool=self._pool)
            return write_indexes(indexes) + message.SerializeToString(deterministic=True)
        except (json_format.Error, EncodeError, TypeError, ValueError, RecursionError) as error:
            raise Unfit(str(error)) from None

    def _add(self, name: str, file: Any) -> None:
        if name in self._added:
            return
        self._added.add(name)
        for needed in file.dependency:
            self._add(needed, self._dependency(needed))
        copy = descriptor_pb2.FileDescriptorProto()
        copy.CopyFrom(file)
        copy.name = name
        try:
            self._pool.Add(copy)
            self._pool.FindFileByName(name)
        except (TypeError, KeyError, ValueError) as error:
            raise BadSchema(f"{name} cannot be used: {error}") from None

    def _dependency(self, name: str) -> Any:
        if name in self._references:
            return _descriptor(self._references[name].text)
        if name in MODULES:
            file = descriptor_pb2.FileDescriptorProto()
            importlib.import_module(MODULES[name]).DESCRIPTOR.CopyToProto(file)
            return file
        raise BadSchema(f"it imports {name}, which is not among its references")

    def _class(self, name: str) -> Any:
        return message_factory.GetMessageClass(self._pool.FindMessageTypeByName(name))

    def _name_at(self, indexes: list[int]) -> str:
        messages, names = self._file.message_type, [self._file.package] if self._file.package else []
        for index in indexes:
            if not 0 <= index < len(messages):
                raise Undecodable(f"its schema has no message at {indexes}")
            names.append(messages[index].name)
            messages = messages[index].nested_type
        return ".".join(names)

    def _place(self) -> tuple[list[int], str]:
        known = dict(_messages(self._file.message_type, [], self._file.package))
        if not known:
            raise BadSchema("the schema has no message")
        if not self._wanted:
            return [0], next(iter(known))
        found = [name for name in known if name == self._wanted or name.endswith(f".{self._wanted}")]
        if len(found) != 1:
            raise BadSchema(f"the schema has no message {self._wanted}; it has {', '.join(known)}")
        return known[found[0]], found[0]


def _messages(messages: Any, above: list[int], prefix: str) -> Any:
    for number, message in enumerate(messages):
        name = f"{prefix}.{message.name}" if prefix else message.name
        yield name, [*above, number]
        yield from _messages(message.nested_type, [*above, number], name)


def _descriptor(text: str) -> Any:
    try:
        return descriptor_pb2.FileDescriptorProto.FromString(base64.b64decode(text, validate=True))
    except (binascii.Error, DecodeError, ValueError):
        raise BadSchema("the registry's answer is no descriptor of a file") from None
