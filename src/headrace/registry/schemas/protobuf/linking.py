"""A file and all that it imports, linked by the runtime of Protocol Buffers: the last word on whether a schema is one."""

from __future__ import annotations

from collections.abc import Mapping

from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool

from headrace.registry.schemas.errors import InvalidSchema
from headrace.registry.schemas.protobuf.building import Builder
from headrace.registry.schemas.protobuf.elements import File
from headrace.registry.schemas.protobuf.interpretation import CustomInterpreter, Interpreter
from headrace.registry.schemas.protobuf.known import NAMES, compiled, known_file
from headrace.registry.schemas.protobuf.names import Names

FILE_NAME = "default"
"""What Confluent's registry calls the file of a schema."""

_PREFIX = "Couldn't build proto file into descriptor pool: "
_IMPORT_DEPTH = 100


def link(file: File, names: Names, dependencies: Mapping[str, File]) -> FileDescriptorProto:
    """The descriptor of a file; raises `InvalidSchema` when it cannot be one."""
    return _Linker(names, dependencies).link(file)


class _Linker:
    def __init__(self, names: Names, dependencies: Mapping[str, File]) -> None:
        self._names = names
        self._dependencies = dependencies
        self._pool = DescriptorPool()
        self._done: set[str] = set()
        self._underway: list[str] = []

    def link(self, file: File) -> FileDescriptorProto:
        return self._add(FILE_NAME, file)

    def _add(self, name: str, file: File) -> FileDescriptorProto:
        imports = frozenset(
            each
            for each in (*file.imports, *file.public_imports, *file.weak_imports, *file.option_imports)
            if self._import(each)
        )
        options = Interpreter()
        proto = Builder(file, self._names, imports, options).build(name)
        self._add_to_pool(proto)
        if not options.custom:
            return proto
        return Builder(file, self._names, imports, CustomInterpreter(self._names, self._pool)).build(name)

    def _import(self, name: str) -> bool:
        """Add an imported file to the pool; False when there is no such file."""
        if name in self._done:
            return True
        if name in self._underway or len(self._underway) > _IMPORT_DEPTH:
            raise InvalidSchema(f"Imports lead in a circle or too far: {' -> '.join([*self._underway, name][-5:])}")
        file = self._dependencies.get(name)
        if file is None and name not in NAMES:
            return False
        self._underway.append(name)
        if file is not None:
            self._add(name, file)
        else:
            self._add_known(name)
        self._underway.pop()
        self._done.add(name)
        return True

    def _add_known(self, name: str) -> None:
        proto = compiled(name)
        if proto is None:
            file = known_file(name)
            assert file is not None
            self._add(name, file)
            return
        for each in proto.dependency:
            self._import(each)
        self._add_to_pool(proto)

    def _add_to_pool(self, proto: FileDescriptorProto) -> None:
        try:
            # Through bytes, since the pool of the C extension reads nothing else.
            self._pool.AddSerializedFile(proto.SerializeToString())
        except TypeError as error:
            where = "" if proto.name == FILE_NAME else f" in import {proto.name!r}"
            raise InvalidSchema(f"Invalid Protobuf{where}: {str(error).removeprefix(_PREFIX)}") from None
