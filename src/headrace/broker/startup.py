"""What a broker checks and takes possession of before it runs; whatever is wrong becomes one line that says what to do.

Owns nothing: `Broker` keeps what is opened here, and gives it back when the start fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from headrace.broker.listeners import Listener
from headrace.clock import Clock
from headrace.fs import Fs
from headrace.replica.controller import Registration
from headrace.replica.features import UnknownMetadata
from headrace.replica.topic_names import CLUSTER_METADATA
from headrace.settings.broker import BrokerSettings
from headrace.storage.checkpoint import CLEAN_SHUTDOWN, CorruptCheckpoint
from headrace.storage.directory import DirectoryError, LogDirectory
from headrace.wire.errors import WireError
from headrace.wire.uuids import from_text, random_uuid, to_text


class StartError(Exception):
    """The broker cannot start; the text is one line that says what to do."""


@contextmanager
def one_line() -> Iterator[None]:
    """Turn what a start may stumble over into a StartError. A disk error keeps its path; a bug stays a bug."""
    try:
        yield
    except UnknownMetadata as error:
        raise StartError(
            f"{str(error).rstrip('.')}. Start the version that wrote it, or give another directory in log.dirs "
            "(--data-dir on the command line)."
        ) from error
    except (CorruptCheckpoint, WireError) as error:
        raise StartError(
            f"the cluster metadata cannot be read: {error}. Restore the first directory of log.dirs from a backup, or "
            "give another one (--data-dir on the command line)."
        ) from error
    except DirectoryError as error:
        said = str(error).rstrip(".")
        if "log.dirs" not in said and "another directory" not in said:
            said += ". Restore that file, or give another directory in log.dirs"
        raise StartError(f"{said} (--data-dir on the command line).") from error
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise StartError(
            f"a log directory cannot be used: {where}{error.strerror or error}. Repair it, or give another in log.dirs "
            "(--data-dir on the command line)."
        ) from error


def open_directories(
    settings: BrokerSettings, opened: list[LogDirectory], *, fs: Fs, clock: Clock, max_open_files: int
) -> None:
    """Lock every directory of log.dirs and see that they belong together. They go into `opened` one by one."""
    for path in map(Path, settings.log_dirs):
        directory = LogDirectory.open(
            path.absolute(), node_id=settings.node_id, fs=fs, clock=clock, max_open_files=max_open_files
        )
        opened.append(directory)
    cluster_id = _common_cluster(opened)
    if cluster_id is not None:
        _check_metadata_is_first(opened, fs)
    for directory in opened:
        directory.format(cluster_id or (cluster_id := to_text(random_uuid())))


def _common_cluster(directories: Sequence[LogDirectory]) -> str | None:
    found = [directory for directory in directories if directory.cluster_id is not None]
    for directory in found[1:]:
        if directory.cluster_id != found[0].cluster_id:
            raise StartError(
                f"{directory.path} belongs to cluster {directory.cluster_id} and {found[0].path} to "
                f"{found[0].cluster_id}. Give directories of one cluster in log.dirs."
            )
    return found[0].cluster_id if found else None


def _check_metadata_is_first(directories: Sequence[LogDirectory], fs: Fs) -> None:
    """The first directory holds the metadata. Where it was not, a start would forget every topic in the others."""
    holders = [one for one in directories if fs.exists(str(one.path / f"{CLUSTER_METADATA}-0"))]
    if holders and holders[0] is directories[0]:
        return
    if holders:
        raise StartError(
            f"{holders[0].path} holds the metadata of cluster {holders[0].cluster_id}. Put it first in log.dirs."
        )
    if directories[0].cluster_id is None:
        known = next(one for one in directories if one.cluster_id is not None)
        raise StartError(
            f"none of log.dirs holds the metadata of cluster {known.cluster_id}, which {known.path} belongs to. "
            "Put the directory with it first, or leave that one out."
        )


def registration(
    settings: BrokerSettings, listeners: Sequence[Listener], directories: Sequence[LogDirectory]
) -> Registration:
    """This node as it presents itself to the controller, once its ports are bound and its directories locked."""
    return Registration(
        node_id=settings.node_id,
        listeners=[listener.advertised for listener in listeners],
        controller_listener=settings.controller_listener,
        log_dirs=[from_text(directory.directory_id or "") for directory in directories],
        rack=settings["broker.rack"],
        clean=all(directory.fs.exists(str(directory.path / CLEAN_SHUTDOWN)) for directory in directories),
    )
