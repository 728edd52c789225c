"""`quorum-state`: which epoch of the metadata quorum this node has seen, and who leads it. Kafka's JSON, version 1.

    {"leaderId":1,"leaderEpoch":3,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}

Written before a node acts in a new epoch, so that no epoch has two leaders.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from headrace.fs import Fs
from headrace.replica.features import UnknownMetadata
from headrace.wire.schema import ZERO_UUID
from headrace.wire.uuids import to_text

FILE_NAME = "quorum-state"


class QuorumState(NamedTuple):
    leader_id: int = -1
    leader_epoch: int = 0


def read_quorum_state(fs: Fs, folder: Path) -> QuorumState:
    """The state on disk; epoch 0 without a leader when there is none yet."""
    path = str(folder / FILE_NAME)
    if not fs.exists(path):
        return QuorumState()
    try:
        fields = json.loads(fs.read_file(path))
        version = fields["data_version"]
        state = QuorumState(int(fields["leaderId"]), int(fields["leaderEpoch"]))
    except (ValueError, KeyError, TypeError) as error:
        raise UnknownMetadata(f"{path} cannot be read: {error}") from error
    if version not in (0, 1):
        raise UnknownMetadata(f"{path} has version {version}; this version knows 0 and 1")
    return state


def write_quorum_state(fs: Fs, folder: Path, state: QuorumState) -> None:
    fields = {
        "leaderId": state.leader_id,
        "leaderEpoch": state.leader_epoch,
        "votedId": -1,
        "votedDirectoryId": to_text(ZERO_UUID),
        "data_version": 1,
    }
    fs.write_file(str(folder / FILE_NAME), json.dumps(fields, separators=(",", ":")).encode())
