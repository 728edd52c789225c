"""Messages as typed classes: what a declaration becomes.

A `Struct` is a class with slots and keyword arguments, every field of which has Kafka's default. A `Message` is a struct
with versions that can be encoded and decoded. Declarations use the vocabulary of `fields`:

    class ForgottenTopic(Struct):
        topic: str = string(versions="7-12")
        partitions: list[int] = array(int32())

    class FetchRequest(Message, key=1, kind="request", versions="4-18", flexible="12+"):
        forgotten_topics_data: list[ForgottenTopic] = array(ForgottenTopic, versions="7+")

Decoders and encoders are compiled per class and version when they are first used, so unused APIs cost nothing.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self, dataclass_transform

from headrace.wire.decoder import Decoder, compile_decoder
from headrace.wire.encoder import Encoder, compile_encoder
from headrace.wire.errors import WireError
from headrace.wire.fields import (
    HIGHEST,
    ZERO_UUID,
    Buffer,
    Field,
    Records,
    Versions,
    array,
    boolean,
    bytes_,
    float64,
    int8,
    int16,
    int32,
    int64,
    records,
    string,
    struct,
    uint16,
    uint32,
    uuid,
)

__all__ = [
    "HIGHEST",
    "ZERO_UUID",
    "Buffer",
    "Field",
    "Message",
    "Records",
    "Struct",
    "Versions",
    "array",
    "boolean",
    "bytes_",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "records",
    "string",
    "struct",
    "uint16",
    "uint32",
    "uuid",
]


@dataclass_transform(kw_only_default=True, eq_default=True)
class StructType(type):
    """Takes the field descriptions out of a class body and makes slots of them."""

    def __new__(
        mcs,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        key: int = -1,
        kind: str = "data",
        versions: str = "0+",
        flexible: str = "none",
        advertised: tuple[int, int] | None = None,
    ) -> StructType:
        fields = {name: value for name, value in namespace.items() if isinstance(value, Field)}
        for field_name in fields:
            del namespace[field_name]
        parsed, flexible_versions = Versions.parse(versions), Versions.parse(flexible)
        namespace.setdefault("__slots__", tuple(fields))
        namespace.setdefault("FIELDS", fields)
        namespace["KEY"] = key
        namespace["KIND"] = kind
        namespace["MIN_VERSION"] = parsed.lowest
        namespace["MAX_VERSION"] = parsed.highest
        namespace["FLEXIBLE_FROM"] = flexible_versions.lowest if flexible_versions.highest >= 0 else HIGHEST + 1
        namespace["ADVERTISED"] = advertised or (parsed.lowest, parsed.highest)
        namespace["_decoders"] = {}
        namespace["_encoders"] = {}
        namespace["_shared"] = None
        return super().__new__(mcs, name, bases, namespace)

    def __init__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> None:
        super().__init__(name, bases, namespace)


class Struct(metaclass=StructType):
    """Fields with slots, defaults, equality and a repr; nested in messages."""

    FIELDS: ClassVar[dict[str, Field]]
    _shared: ClassVar[Any]

    def __init__(self, **values: Any) -> None:
        # The real constructor is compiled for the class at its first call and takes this one's place.
        cls = type(self)
        cls.__init__ = compile_constructor(cls)  # type: ignore[method-assign]
        cls.__init__(self, **values)

    @classmethod
    def default_of(cls, name: str) -> Any:
        """The default of a field: lists are fresh, structs are the shared default of their class."""
        field = cls.FIELDS[name]
        if field.default == () and field.kind == "array":
            return []
        if field.default == () and field.struct is not None:
            return field.struct.shared_default()
        return field.default

    @classmethod
    def shared_default(cls) -> Self:
        """One instance with all defaults, which refuses assignment because many messages hold it."""
        if cls._shared is None:
            assert not any(field.kind == "array" for field in cls.FIELDS.values()), "a shared list could be changed"
            body = {"__slots__": (), "__setattr__": refuse, "FIELDS": cls.FIELDS}
            frozen = type(cls).__new__(type(cls), cls.__name__, (cls,), body)
            instance: Any = object.__new__(frozen)
            for name in cls.FIELDS:
                object.__setattr__(instance, name, cls.default_of(name))
            cls._shared = instance
        shared: Self = cls._shared
        return shared

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Struct) or self.FIELDS is not other.FIELDS:
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.FIELDS)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = []
        for name, field in self.FIELDS.items():
            value = getattr(self, name)
            if field.kind == "records" and value is not None:
                shown.append(f"{name}=<{len(value)} {'buffers' if isinstance(value, list) else 'bytes'}>")
            else:
                shown.append(f"{name}={value!r}")
        return f"{type(self).__name__}({', '.join(shown)})"


class Message(Struct):
    """A struct with versions: a request, a response or a record of one of Kafka's own logs."""

    KEY: ClassVar[int]
    KIND: ClassVar[str]
    MIN_VERSION: ClassVar[int]
    MAX_VERSION: ClassVar[int]
    FLEXIBLE_FROM: ClassVar[int]
    ADVERTISED: ClassVar[tuple[int, int]]
    _decoders: ClassVar[dict[int, Decoder]]
    _encoders: ClassVar[dict[int, Encoder]]

    @classmethod
    def decode(cls, data: Buffer, version: int, position: int = 0) -> Self:
        """The message that fills `data` from `position` to its end; raises nothing but WireError.

        Records are slices of `data` (of a memoryview over it), so they can be patched in place if it is writable.
        """
        decoder = cls._decoders.get(version) or cls.decoder(version)
        message, end = decoder(data, position)
        if end != len(data):
            raise WireError(f"{cls.__name__} v{version}: {len(data) - end} bytes too many")
        decoded: Self = message
        return decoded

    @classmethod
    def decode_from(cls, data: Buffer, version: int, position: int = 0) -> tuple[Self, int]:
        """The message that starts at `position`, and the position behind it."""
        decoder = cls._decoders.get(version) or cls.decoder(version)
        message: tuple[Self, int] = decoder(data, position)
        return message

    def encode(self, version: int) -> bytes:
        return b"".join((self._encoders.get(version) or self.encoder(version))(self, bytearray()))

    def encode_parts(self, version: int, head: bytes = b"") -> list[Buffer]:
        """`head` and the encoded message as buffers to be written one after the other; large records are not copied."""
        return (self._encoders.get(version) or self.encoder(version))(self, bytearray(head))

    @classmethod
    def decoder(cls, version: int) -> Decoder:
        if not cls.MIN_VERSION <= version <= cls.MAX_VERSION:
            raise WireError(f"{cls.__name__} has no version {version}")
        decoder = cls._decoders[version] = compile_decoder(cls, version)
        return decoder

    @classmethod
    def encoder(cls, version: int) -> Encoder:
        if not cls.MIN_VERSION <= version <= cls.MAX_VERSION:
            raise ValueError(f"{cls.__name__} has no version {version}")
        encoder = cls._encoders[version] = compile_encoder(cls, version)
        return encoder


def refuse(self: Struct, name: str, value: Any) -> None:
    raise AttributeError(
        f"this is the shared default of {type(self).__name__}: assign a new one instead of changing it"
    )


def compile_constructor(cls: type[Struct]) -> Any:
    """An `__init__` with one keyword argument per field, without a loop."""
    names: dict[str, Any] = {"MISSING": object()}
    arguments, body = [], []
    for name in cls.FIELDS:
        default = cls.default_of(name)
        if isinstance(default, list):
            arguments.append(f"{name}=MISSING")
            body.append(f"    self.{name} = [] if {name} is MISSING else {name}")
        else:
            names[f"default_{name}"] = default
            arguments.append(f"{name}=default_{name}")
            body.append(f"    self.{name} = {name}")
    star = "*, " if arguments else ""
    source = f"def __init__(self, {star}{', '.join(arguments)}):\n" + ("\n".join(body) or "    pass")
    exec(compile(source, f"<constructor of {cls.__name__}>", "exec"), names)  # noqa: S102 - from our own declarations
    return names["__init__"]
