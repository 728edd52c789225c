"""Where Headrace answers otherwise than Kafka and means to: the one table, and the page of the documentation made from it.

`python -m tests.oracle.differences` writes the page. A row that no exchange needs any more fails a test.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

PAGE = Path(__file__).resolve().parents[2] / "docs" / "explanation" / "differences.md"


class Difference(NamedTuple):
    """`where` says in which exchanges, by script and patterns of labels; `fields` which fields, or all of the answer."""

    what: str
    kafka: str
    headrace: str
    why: str
    where: Mapping[str, Iterable[str]]
    fields: frozenset[str] = frozenset()

    def matches(self, script: str, label: str) -> bool:
        """Labels begin with a number, which may change."""
        return any(fnmatchcase(label[4:], pattern) for pattern in self.where.get(script, ()))

    def explains(self, script: str, label: str, kafka: Any, headrace: Any) -> bool:
        if not self.matches(script, label):
            return False
        return not self.fields or without(kafka, self.fields) == without(headrace, self.fields)


def without(answer: Any, fields: frozenset[str]) -> Any:
    if isinstance(answer, dict):
        return {name: without(value, fields) for name, value in answer.items() if name not in fields}
    return [without(each, fields) for each in answer] if isinstance(answer, list) else answer


DIFFERENCES = (
    Difference(
        "APIs and features",
        "advertises the newer group protocols, share groups, ACLs, SASL, quotas and more",
        "advertises what it serves, in Kafka's versions; `group.version` is not finalized",
        "An API is advertised when its handler is there, so that clients choose a way that works.",
        {"api_versions": ["ApiVersions v*"], "malformed_frames": ["empty client id", "client id of length -2"]},
        frozenset({"api_keys", "supported_features", "finalized_features"}),
    ),
    Difference(
        "Records inside a batch",
        "decodes every batch: malformed records are INVALID_RECORD, a codec's failure is UNKNOWN_SERVER_ERROR, and the largest "
        "timestamp is computed anew",
        "checks header and CRC, and takes the header's word for the rest",
        "This is where the speed comes from. Topics that are compacted or bound timestamps from below are decoded; "
        "`headrace.validate.records` does it for any.",
        {
            "produce_inner_records": ["Produce v12: *", "ListOffsets v7: max timestamp"],
            "produce_batches": ["Fetch v12: after time -5", "*max timestamp tomorrow, records not"],
        },
    ),
    Difference(
        "Bytes behind a batch",
        "drops them, or takes their beginning for another batch",
        "INVALID_RECORD",
        "A request with a batch and something else is a mistake, and hiding it helps nobody.",
        {"produce_batches": ["*bytes behind", "Produce v12: length 49"]},
    ),
    Difference(
        "Impossible lengths and codecs",
        "UNKNOWN_SERVER_ERROR",
        "INVALID_RECORD for a length of 2147483647, UNSUPPORTED_COMPRESSION_TYPE for codecs 5 to 7",
        "The errors that Kafka has for this; a server error would be retried.",
        {"produce_batches": ["Produce v12: length 2147483647", "Produce v12: codec [567]"]},
    ),
    Difference(
        "Batches marked as log append time",
        "clears the mark where the topic has create time; refuses record by record where it has not",
        "INVALID_TIMESTAMP for the batch",
        "Only brokers set the mark; no client sends it.",
        {
            "produce_batches": ["*log append time"],
            "produce_topic_configs": ["Produce v12: log append time sent"],
        },
    ),
    Difference(
        "Produce with null records",
        "fails and never answers",
        "INVALID_RECORD; the end of the connection with acks=0",
        "A client should not wait for nothing.",
        {"produce_versions": ["Produce v13: null records"], "produce_without_answer": ["*null records"]},
    ),
    Difference(
        "Negative limits in Fetch",
        "UNKNOWN_SERVER_ERROR for a partition, any answer for a request",
        "a negative limit is a limit of 0",
        "There is nothing to be gained from another meaning.",
        {"fetch_limits": ["Fetch v12: *max bytes -*"]},
    ),
    Difference(
        "Isolation levels other than 0 and 1",
        "UNKNOWN_SERVER_ERROR",
        "read as 0",
        "No client sends any.",
        {
            "fetch_limits": ["Fetch v12: isolation level 2"],
            "listed_offsets": ["ListOffsets v11: * at isolation level 2"],
        },
    ),
    Difference(
        "Fetch by a replica",
        "NOT_LEADER_OR_FOLLOWER for one that is not assigned",
        "answered like a consumer",
        "There are no followers yet.",
        {"fetch_limits": ["Fetch v*: unknown replica"]},
    ),
    Difference(
        "Offset of the largest timestamp after all records were deleted",
        "the offset of a record that is gone",
        "none",
        "An offset below the log start offset cannot be read.",
        {"listed_offsets": ["ListOffsets v11: -3 with all deleted"]},
    ),
    Difference(
        "Metadata by topic id in versions 10 and 11, or by neither name nor id",
        "an answer without brokers; UNKNOWN_SERVER_ERROR for neither",
        "the same errors for the topics (INVALID_TOPIC_EXCEPTION for neither), and the brokers",
        "The request is refused either way; what is known is said.",
        {
            "metadata_versions": ["Metadata v1[01]: *", "Metadata v1[23]: null name, zero id"],
            "metadata_creates": ["Metadata v1[01]: unknown id"],
        },
    ),
    Difference(
        "Auto-creation that fails",
        "UNKNOWN_TOPIC_OR_PARTITION, now and for ever",
        "the reason, for example INVALID_TOPIC_EXCEPTION for a name like an existing one but for '.' and '_'",
        "Topics are created before the answer, so the reason is known; for the same reason a created topic has leaders at once.",
        {"metadata_creates": ["Metadata v9: similar name"]},
    ),
    Difference(
        "Two new topics that differ in '.' and '_' only, in one request",
        "creates both",
        "INVALID_TOPIC_EXCEPTION for the second",
        "One after the other they are refused by both.",
        {"created_topics": ["CreateTopics v7: similar in one request"]},
    ),
    Difference(
        "Values of configs",
        "shown as they were typed (` 5000 `, `TRUE`); the same cleanup policy may be named twice",
        "shown as they are understood (`5000`, `true`); INVALID_CONFIG for an item named twice",
        "What is shown is what is in force.",
        {
            "created_topics": [
                "CreateTopics v7: spaces",
                "CreateTopics v7: boolean case",
                "CreateTopics v7: policy twice",
            ]
        },
    ),
    Difference(
        "More than 10,000 partitions at once",
        "UNKNOWN_SERVER_ERROR from CreatePartitions",
        "POLICY_VIOLATION, as both answer to CreateTopics",
        "The reason can be told.",
        {"created_partitions": ["CreatePartitions v*: to 10003", "CreatePartitions v*: to 2147483647"]},
    ),
    Difference(
        "DescribeTopicPartitions with an invalid name",
        "UNKNOWN_SERVER_ERROR for every topic of the request",
        "INVALID_TOPIC_EXCEPTION for that name",
        "The other topics are not to blame.",
        {"described_partitions": ["DescribeTopicPartitions v0: ('bad/name', '', 'a') 2000 None"]},
    ),
    Difference(
        "AlterReplicaLogDirs to another log directory",
        "copies the log there while it is written to, then uses the copy; for a partition that does not exist yet, remembers the "
        "directory until it is created",
        "UNSUPPORTED_VERSION, and the log stays where it is; nothing is remembered",
        "A log can be moved by hand while the broker is stopped: it is found in any directory of `log.dirs` at the next start.",
        {
            "moved_replicas": [
                "AlterReplicaLogDirs v*: to the other",
                "AlterReplicaLogDirs v*: is in the other",
                "AlterReplicaLogDirs v*: all are in the other",
            ]
        },
    ),
    Difference(
        "The metadata quorum",
        "no directory ids and the address that was given, in a static quorum as it is tested",
        "directory ids, and `localhost`",
        "Headrace makes a dynamic quorum of one, as `kafka-storage format --standalone` does.",
        {"described_quorum": ["DescribeQuorum v2"]},
        frozenset({"host", "replica_directory_id"}),
    ),
    Difference(
        "`node.id`",
        "has no default",
        "is 1 unless set",
        "A broker should start without a file of settings.",
        {"described_configs": ["DescribeConfigs v*: node id"]},
    ),
    Difference(
        "Settings of TLS and SASL",
        "described",
        "unknown",
        "They come with TLS and SASL.",
        {"described_configs": ["DescribeConfigs v*: a password"]},
    ),
    Difference(
        "Configs of groups and client metrics",
        "checked against the broker's bounds; synonyms are the broker's settings",
        "kept, described and checked one by one; what the newer group protocols and telemetry need is not",
        "They have no effect before those are there.",
        {
            "described_configs": ["DescribeConfigs v*: type 32"],
            "listed_config_resources": ["DescribeConfigs v4"],
            "refused_alterations": ["*: group: *", "*: client metrics: match=*"],
        },
    ),
    Difference(
        "Impossible operations and values of 32,767 characters in IncrementalAlterConfigs",
        "UNKNOWN_SERVER_ERROR",
        "INVALID_REQUEST, INVALID_CONFIG",
        "The errors that Kafka has for this.",
        {"refused_alterations": ["*no such operation", "*negative operation", "*long value"]},
    ),
    Difference(
        "AlterConfigs that names a resource twice",
        "never answers",
        "INVALID_REQUEST, as both answer to IncrementalAlterConfigs",
        "A client should not wait for nothing.",
        {"refused_alterations": ["AlterConfigs v?: replace twice"]},
    ),
    Difference(
        "Strings that are no UTF-8",
        "replaces what it cannot read",
        "closes the connection",
        "The frame is malformed; a name that was changed on the way is worse than none.",
        {
            "malformed_frames": ["client id that is no UTF-8"],
            "trailing_and_missing_bytes": ["a name that is no UTF-8"],
        },
    ),
    Difference(
        "ApiVersions of a version to come, without the tags of its header",
        "closes the connection",
        "UNSUPPORTED_VERSION with the range that is served, as with tags",
        "The answer needs nothing behind the correlation id.",
        {"unknown_apis": ["ApiVersions *"]},
    ),
)

INTRODUCTION = """\
# Where Headrace differs from Apache Kafka

The same requests, good and bad, in all versions, are sent to Apache Kafka 4.3 and to Headrace, and the answers are compared
field by field. Ids, ports and times of the brokers' own, the words of error messages, and the beginning of a batch that Kafka may send
behind the last whole one are not compared. Everything else is the same, except for this.

<!-- Made by `python -m tests.oracle.differences`; a test fails when it is not up to date. -->

| what | Apache Kafka 4.3 | Headrace | why |
|---|---|---|---|
"""


def page() -> str:
    rows = (f"| {each.what} | {each.kafka} | {each.headrace} | {each.why} |\n" for each in DIFFERENCES)
    return INTRODUCTION + "".join(rows)


if __name__ == "__main__":
    PAGE.write_text(page())
