"""Control records: the ends of transactions, and what the metadata quorum writes into its own log.

The key of a control record is two int16: a version, 0, and a type. The value of an end of a transaction is an int16
version and the message; the values of the others are the message, whose first field is the version.
"""

from enum import IntEnum
from struct import Struct as Layout

from headrace.wire.errors import WireError
from headrace.wire.schema import Buffer, Message, Struct, array, int16, int32, int64, string, struct, uint16, uuid


class EndTxnMarker(Message, kind="control", versions="0", flexible="none"):
    coordinator_epoch: int = int32()


class LeaderChangeVoter(Struct):
    voter_id: int = int32()
    voter_directory_id: bytes = uuid(versions="1+")


class LeaderChangeMessage(Message, kind="control", versions="0-1", flexible="0+"):
    version: int = int16()
    leader_id: int = int32()
    voters: list[LeaderChangeVoter] = array(LeaderChangeVoter)
    granting_voters: list[LeaderChangeVoter] = array(LeaderChangeVoter)


class SnapshotHeaderRecord(Message, kind="control", versions="0", flexible="0+"):
    version: int = int16()
    last_contained_log_timestamp: int = int64()


class SnapshotFooterRecord(Message, kind="control", versions="0", flexible="0+"):
    version: int = int16()


class KRaftVersionRecord(Message, kind="control", versions="0", flexible="0+"):
    version: int = int16()
    kraft_version: int = int16()


class Endpoint(Struct):
    name: str = string()
    host: str = string()
    port: int = uint16()


class KRaftVersionFeature(Struct):
    min_supported_version: int = int16()
    max_supported_version: int = int16()


class Voter(Struct):
    voter_id: int = int32()
    voter_directory_id: bytes = uuid()
    endpoints: list[Endpoint] = array(Endpoint)
    kraft_version_feature: KRaftVersionFeature = struct(KRaftVersionFeature)


class VotersRecord(Message, kind="control", versions="0", flexible="0+"):
    version: int = int16()
    voters: list[Voter] = array(Voter)


class ControlType(IntEnum):
    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


CONTROL_MESSAGES: dict[ControlType, type[Message]] = {
    ControlType.ABORT: EndTxnMarker,
    ControlType.COMMIT: EndTxnMarker,
    ControlType.LEADER_CHANGE: LeaderChangeMessage,
    ControlType.SNAPSHOT_HEADER: SnapshotHeaderRecord,
    ControlType.SNAPSHOT_FOOTER: SnapshotFooterRecord,
    ControlType.KRAFT_VERSION: KRaftVersionRecord,
    ControlType.KRAFT_VOTERS: VotersRecord,
}

_KEY = Layout(">hh")
_VERSION = Layout(">h")


def encode_control(kind: ControlType, message: Message, version: int | None = None) -> tuple[bytes, bytes]:
    """Key and value of a control record, the value in the newest version unless told otherwise."""
    version = message.MAX_VERSION if version is None else version
    key = _KEY.pack(0, kind)
    if isinstance(message, EndTxnMarker):
        return key, _VERSION.pack(version) + message.encode(version)
    message.version = version  # type: ignore[attr-defined]
    return key, message.encode(version)


def decode_control(key: Buffer, value: Buffer) -> tuple[ControlType, Message] | None:
    """Type and message of a control record, or None for a type that is not known, which readers skip as Kafka does."""
    if len(key) < _KEY.size or len(value) < _VERSION.size:
        raise WireError("control record is shorter than its head")
    code = _KEY.unpack_from(key)[1]
    if code not in iter(ControlType):
        return None
    kind = ControlType(code)
    cls = CONTROL_MESSAGES[kind]
    # A newer version only adds to an older one, so it is read as the newest that is known.
    version = min(_VERSION.unpack_from(value)[0], cls.MAX_VERSION)
    position = _VERSION.size if cls is EndTxnMarker else 0
    return kind, cls.decode_from(value, version, position)[0]
