"""Where replicas live: on which brokers, in which log directories."""

from __future__ import annotations

from conformance.node import DATA_DIR
from headrace.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from headrace.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from headrace.wire.messages.describe_log_dirs import DescribeLogDirsRequest
from headrace.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from tests.oracle.requests import versions
from tests.oracle.script import Script, wait_until

TWO_LOG_DIRS = {"log.dirs": f"{DATA_DIR},{DATA_DIR}-2"}
Replicas = list[int] | None


def altered_reassignments(s: Script) -> None:
    """AlterPartitionReassignments."""
    s.create("t", partitions=2)

    def ask(*topics: tuple[str, list[tuple[int, Replicas]]], allow: bool = True) -> AlterPartitionReassignmentsRequest:
        rows = [
            ReassignableTopic(
                name=name, partitions=[ReassignablePartition(partition_index=i, replicas=r) for i, r in partitions]
            )
            for name, partitions in topics
        ]
        return AlterPartitionReassignmentsRequest(topics=rows, allow_replication_factor_change=allow)

    targets: tuple[Replicas, ...] = ([1], [7], [1, 7], [7, 1], [1, 1], [7, 7], [-1], [], None)
    for version in versions(AlterPartitionReassignmentsRequest):
        for allow in (True, False)[: version + 1]:
            for replicas in targets:
                s.call(ask(("t", [(0, replicas)]), allow=allow), version, f"to {replicas}, change allowed {allow}")
            s.call(ask(allow=allow), version, f"no topics, change allowed {allow}")
        s.call(ask(("t", [(0, [1]), (1, [1])])), version, "two")
        s.call(ask(("t", [(0, [7]), (1, [1])])), version, "one of two")
        s.call(ask(("t", [(9, [1]), (-1, [1])])), version, "unknown partitions")
        s.call(ask(("t", [(9, None), (9, []), (9, [7])])), version, "unknown partition to nowhere")
        s.call(ask(("nowhere", [(0, [1])]), ("t", [(0, [1])])), version, "unknown topic")
        s.call(ask(("nowhere", [(0, None)])), version, "unknown topic, called off")
        s.call(ask(("", [(0, [1])]), ("bad/name", [(0, [1])])), version, "bad names")
        s.call(ask(("__cluster_metadata", [(0, [1])])), version, "the metadata")
        s.call(ask(("t", [])), version, "no partitions")
        s.call(ask(("nowhere", [])), version, "no partitions of an unknown topic")
        s.call(ask(("t", [(0, [1]), (0, [7]), (0, None)])), version, "a partition three times")
        s.call(ask(("t", [(0, [1])]), ("t", [(0, [7])])), version, "a topic twice")


def listed_reassignments(s: Script) -> None:
    """ListPartitionReassignments."""
    s.create("t", partitions=2)

    def ask(*topics: tuple[str, list[int]]) -> ListPartitionReassignmentsRequest:
        rows = [ListPartitionReassignmentsTopics(name=name, partition_indexes=indexes) for name, indexes in topics]
        return ListPartitionReassignmentsRequest(topics=rows)

    for version in versions(ListPartitionReassignmentsRequest):
        s.call(ListPartitionReassignmentsRequest(topics=None), version, "all")
        s.call(ask(("t", [0, 1])), version, "two")
        s.call(ask(("t", [9, -1])), version, "unknown partitions")
        s.call(ask(("nowhere", [0]), ("", [0]), ("bad/name", [0])), version, "unknown topics")
        s.call(ask(("t", [])), version, "no partitions")
        s.call(ask(), version, "no topics")
        s.call(ask(("t", [0, 0]), ("t", [0])), version, "twice")


def altered_log_dirs(s: Script) -> None:
    """AlterReplicaLogDirs, with one log directory."""
    longest, too_long = "x" * 213, "x" * 214
    s.create("t", longest, too_long, partitions=2)
    (here,) = _log_dirs(s)
    for version in versions(AlterReplicaLogDirsRequest):
        s.call(move((here, "t", [0])), version, "where it is")
        s.call(move((here, "t", [0, 1, 0])), version, "two, one of them twice")
        for path in ("/nowhere", "", ".", here + "/", here + "/.", here.rpartition("/")[2]):
            what = path.replace(here, "where it is").replace(here.rpartition("/")[2], "its last part")
            s.call(move((path, "t", [0])), version, f"to {what!r}")
        s.call(move((here, "t", [9, -1])), version, "unknown partitions")
        s.call(move((here, "nowhere", [0])), version, "unknown topic")
        s.call(move(("/nowhere", "nowhere", [0])), version, "unknown topic to nowhere")
        s.call(move((here, "", [0]), (here, "bad/name", [0])), version, "bad names")
        s.call(move((here, "__cluster_metadata", [0])), version, "the metadata")
        s.call(move((here, longest, [0])), version, "longest name")
        s.call(move((here, too_long, [0]), ("/nowhere", too_long, [1])), version, "name that is too long")
        s.call(move((here, "t", [0]), ("/nowhere", "t", [1])), version, "one of two")
        s.call(move((here, "t", [0]), ("/nowhere", "t", [0])), version, "to two places")
        s.call(move(("/nowhere", "t", [0]), (here, "t", [0])), version, "to two places, the good one last")
        s.call(move((here, "t", [])), version, "no partitions")
        s.call(AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir(path=here)]), version, "no topics")
        s.call(move(), version, "no directories")


def moved_replicas(s: Script) -> None:
    """AlterReplicaLogDirs, with two log directories."""
    for version in versions(AlterReplicaLogDirsRequest):
        moved, later = f"moved-{version}", f"later-{version}"
        s.create(moved)
        (home,) = _places(s, moved)
        (other,) = _log_dirs(s) - {home}
        s.call(move((home, moved, [0])), version, "where it is")
        answer = s.call(move((other, moved, [0])), version, "to the other")
        if not answer.results[0].partitions[0].error_code:
            wait_until(lambda moved=moved, other=other: _places(s, moved) == {other})
        s.note(f"AlterReplicaLogDirs v{version}: is in the other", _places(s, moved) == {other})
        s.call(move((other, later, [0, 1, 2, 3])), version, "before there are any")
        s.create(later, partitions=4)
        s.note(f"AlterReplicaLogDirs v{version}: all are in the other", _places(s, later) == {other})


def move(*asked: tuple[str, str, list[int]]) -> AlterReplicaLogDirsRequest:
    """`asked` are directory, topic and partitions."""
    return AlterReplicaLogDirsRequest(
        dirs=[
            AlterReplicaLogDir(path=path, topics=[AlterReplicaLogDirTopic(name=topic, partitions=partitions)])
            for path, topic, partitions in asked
        ]
    )


def _log_dirs(s: Script) -> set[str]:
    return {found.log_dir for found in s.client("setup").call(DescribeLogDirsRequest(topics=None), 4).results}


def _places(s: Script, topic: str) -> set[str]:
    """The directories that hold partitions of a topic, or are about to."""
    found = s.client("setup").call(DescribeLogDirsRequest(topics=None), 4).results
    return {directory.log_dir for directory in found if topic in {one.name for one in directory.topics}}


SCRIPTS = (altered_reassignments, listed_reassignments, altered_log_dirs)
TWO_LOG_DIRS_SCRIPTS = (moved_replicas,)
