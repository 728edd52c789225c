"""Kafka's error codes, and the one exception for bytes that are not what they should be.

An error code is data in a response. `WireError` says that a peer sent malformed bytes: decoders raise nothing else, and
the connection that sent them is closed. Our own mistakes raise ordinary exceptions.
"""

from __future__ import annotations

from enum import IntEnum


class WireError(Exception):
    """Bytes from outside that are no message of the kind expected."""


class ErrorCode(IntEnum):
    """The error codes of Kafka 4.3, with a sentence each and whether a client may try again."""

    message: str
    retriable: bool

    def __new__(cls, code: int, message: str, retriable: bool = False) -> ErrorCode:
        member = int.__new__(cls, code)
        member._value_ = code
        member.message = message
        member.retriable = retriable
        return member

    UNKNOWN_SERVER_ERROR = -1, "The server failed in a way it did not expect."
    NONE = 0, ""
    OFFSET_OUT_OF_RANGE = 1, "The log does not hold this offset."
    CORRUPT_MESSAGE = 2, "The record batch is damaged: its checksum, size or content is wrong.", True
    UNKNOWN_TOPIC_OR_PARTITION = 3, "This broker has no such topic or partition.", True
    INVALID_FETCH_SIZE = 4, "The fetch size is not allowed."
    LEADER_NOT_AVAILABLE = 5, "The partition has no leader at the moment.", True
    NOT_LEADER_OR_FOLLOWER = 6, "This broker is not the leader of the partition, or no replica of it.", True
    REQUEST_TIMED_OUT = 7, "The request was not completed in time.", True
    BROKER_NOT_AVAILABLE = 8, "The broker is not there."
    REPLICA_NOT_AVAILABLE = 9, "The replica of the partition is not there.", True
    MESSAGE_TOO_LARGE = 10, "The record batch is larger than the topic allows."
    STALE_CONTROLLER_EPOCH = 11, "Another controller has taken over."
    OFFSET_METADATA_TOO_LARGE = 12, "The metadata committed with the offset is too long."
    NETWORK_EXCEPTION = 13, "The connection broke before the response came.", True
    COORDINATOR_LOAD_IN_PROGRESS = 14, "The coordinator is still reading its state.", True
    COORDINATOR_NOT_AVAILABLE = 15, "There is no coordinator at the moment.", True
    NOT_COORDINATOR = 16, "Another broker is the coordinator.", True
    INVALID_TOPIC_EXCEPTION = 17, "The topic name is not allowed, or the topic does not allow this."
    RECORD_LIST_TOO_LARGE = 18, "The record batch is larger than a segment."
    NOT_ENOUGH_REPLICAS = 19, "Too few replicas are in sync for this write.", True
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20, "The records were written, but by too few replicas in sync.", True
    INVALID_REQUIRED_ACKS = 21, "acks must be 0, 1 or -1."
    ILLEGAL_GENERATION = 22, "The group is in another generation."
    INCONSISTENT_GROUP_PROTOCOL = 23, "The member's protocols do not fit those of the group."
    INVALID_GROUP_ID = 24, "The group id is not allowed."
    UNKNOWN_MEMBER_ID = 25, "The group has no such member."
    INVALID_SESSION_TIMEOUT = 26, "The session timeout is outside what the broker allows."
    REBALANCE_IN_PROGRESS = 27, "The group is rebalancing; join again."
    INVALID_COMMIT_OFFSET_SIZE = 28, "The offsets to commit are too large."
    TOPIC_AUTHORIZATION_FAILED = 29, "Not allowed to use this topic."
    GROUP_AUTHORIZATION_FAILED = 30, "Not allowed to use this group."
    CLUSTER_AUTHORIZATION_FAILED = 31, "Not allowed to do this to the cluster."
    INVALID_TIMESTAMP = 32, "The timestamp is outside what the topic allows."
    UNSUPPORTED_SASL_MECHANISM = 33, "The SASL mechanism is not offered here."
    ILLEGAL_SASL_STATE = 34, "The request does not fit the state of the authentication."
    UNSUPPORTED_VERSION = 35, "This version of the API is not supported."
    TOPIC_ALREADY_EXISTS = 36, "A topic of this name exists already."
    INVALID_PARTITIONS = 37, "The number of partitions is not allowed."
    INVALID_REPLICATION_FACTOR = 38, "The replication factor is below 1 or above the number of brokers."
    INVALID_REPLICA_ASSIGNMENT = 39, "The assignment of replicas is not valid."
    INVALID_CONFIG = 40, "The configuration is not valid."
    NOT_CONTROLLER = 41, "This broker is not the controller.", True
    INVALID_REQUEST = 42, "The request makes no sense."
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43, "The record format does not allow this."
    POLICY_VIOLATION = 44, "A policy of the cluster forbids this."
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45, "The producer's sequence number is not the next one."
    DUPLICATE_SEQUENCE_NUMBER = 46, "The producer's sequence number was seen before."
    INVALID_PRODUCER_EPOCH = 47, "The producer's epoch is an old one."
    INVALID_TXN_STATE = 48, "The transaction is in a state that does not allow this."
    INVALID_PRODUCER_ID_MAPPING = 49, "The producer id does not belong to this transactional id."
    INVALID_TRANSACTION_TIMEOUT = 50, "The transaction timeout is longer than the broker allows."
    CONCURRENT_TRANSACTIONS = 51, "Another operation on this transaction is still going on.", True
    TRANSACTION_COORDINATOR_FENCED = 52, "The transaction coordinator has been replaced."
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53, "Not allowed to use this transactional id."
    SECURITY_DISABLED = 54, "Security is switched off."
    OPERATION_NOT_ATTEMPTED = 55, "The operation was not tried, because another one in the request failed."
    KAFKA_STORAGE_ERROR = 56, "The disk that holds the log failed.", True
    LOG_DIR_NOT_FOUND = 57, "The broker has no such log directory."
    SASL_AUTHENTICATION_FAILED = 58, "Authentication failed."
    UNKNOWN_PRODUCER_ID = 59, "The log knows nothing of this producer id any more."
    REASSIGNMENT_IN_PROGRESS = 60, "The partition is being reassigned."
    DELEGATION_TOKEN_AUTH_DISABLED = 61, "Delegation tokens are switched off."
    DELEGATION_TOKEN_NOT_FOUND = 62, "There is no such delegation token."
    DELEGATION_TOKEN_OWNER_MISMATCH = 63, "The delegation token belongs to somebody else."
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = 64, "Delegation tokens cannot be asked for on this connection."
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65, "Not allowed to use this delegation token."
    DELEGATION_TOKEN_EXPIRED = 66, "The delegation token has expired."
    INVALID_PRINCIPAL_TYPE = 67, "This type of principal is not supported."
    NON_EMPTY_GROUP = 68, "The group still has members."
    GROUP_ID_NOT_FOUND = 69, "There is no such group."
    FETCH_SESSION_ID_NOT_FOUND = 70, "There is no such fetch session.", True
    INVALID_FETCH_SESSION_EPOCH = 71, "The fetch session is at another epoch.", True
    LISTENER_NOT_FOUND = 72, "The leader has no listener of this name.", True
    TOPIC_DELETION_DISABLED = 73, "Topics cannot be deleted on this broker."
    FENCED_LEADER_EPOCH = 74, "The leader epoch is older than the broker's.", True
    UNKNOWN_LEADER_EPOCH = 75, "The leader epoch is newer than the broker's.", True
    UNSUPPORTED_COMPRESSION_TYPE = 76, "The client does not support the partition's compression."
    STALE_BROKER_EPOCH = 77, "The broker has registered anew since."
    OFFSET_NOT_AVAILABLE = 78, "The new leader does not know its high watermark yet.", True
    MEMBER_ID_REQUIRED = 79, "Join again with the member id given here."
    PREFERRED_LEADER_NOT_AVAILABLE = 80, "The preferred leader is not there.", True
    GROUP_MAX_SIZE_REACHED = 81, "The group is full."
    FENCED_INSTANCE_ID = 82, "Another member has taken this group instance id."
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83, "No replica may become leader.", True
    ELECTION_NOT_NEEDED = 84, "The partition needs no election.", True
    NO_REASSIGNMENT_IN_PROGRESS = 85, "The partition is not being reassigned."
    GROUP_SUBSCRIBED_TO_TOPIC = 86, "The group is subscribed to the topic."
    INVALID_RECORD = 87, "A record in the batch is not valid for this topic."
    UNSTABLE_OFFSET_COMMIT = 88, "Offsets wait for a transaction to end.", True
    THROTTLING_QUOTA_EXCEEDED = 89, "The quota is used up.", True
    PRODUCER_FENCED = 90, "A newer producer uses this transactional id."
    RESOURCE_NOT_FOUND = 91, "There is no such resource."
    DUPLICATE_RESOURCE = 92, "The request names one resource twice."
    UNACCEPTABLE_CREDENTIAL = 93, "The credential does not meet the requirements."
    INCONSISTENT_VOTER_SET = 94, "The two sides know different voters."
    INVALID_UPDATE_VERSION = 95, "The version to update to is not valid."
    FEATURE_UPDATE_FAILED = 96, "The features could not be updated."
    PRINCIPAL_DESERIALIZATION_FAILURE = 97, "The principal of a forwarded request could not be read."
    SNAPSHOT_NOT_FOUND = 98, "There is no such snapshot."
    POSITION_OUT_OF_RANGE = 99, "The position lies outside the snapshot."
    UNKNOWN_TOPIC_ID = 100, "This broker has no topic of this id.", True
    DUPLICATE_BROKER_REGISTRATION = 101, "Another broker uses this id."
    BROKER_ID_NOT_REGISTERED = 102, "No broker of this id is registered."
    INCONSISTENT_TOPIC_ID = 103, "The log has another topic id.", True
    INCONSISTENT_CLUSTER_ID = 104, "The cluster has another id."
    TRANSACTIONAL_ID_NOT_FOUND = 105, "There is no such transactional id."
    FETCH_SESSION_TOPIC_ID_ERROR = 106, "The fetch session mixes topic names and topic ids.", True
    INELIGIBLE_REPLICA = 107, "A replica in the new in-sync set may not be there."
    NEW_LEADER_ELECTED = 108, "The partition was changed, and has another leader now."
    OFFSET_MOVED_TO_TIERED_STORAGE = 109, "The offset lies in tiered storage."
    FENCED_MEMBER_EPOCH = 110, "The member's epoch is fenced; give up all partitions and join again."
    UNRELEASED_INSTANCE_ID = 111, "Another member still uses this group instance id."
    UNSUPPORTED_ASSIGNOR = 112, "The group does not support this assignor."
    STALE_MEMBER_EPOCH = 113, "The member's epoch is an old one; try again after the next heartbeat."
    MISMATCHED_ENDPOINT_TYPE = 114, "The request went to the wrong type of endpoint."
    UNSUPPORTED_ENDPOINT_TYPE = 115, "This type of endpoint is not supported."
    UNKNOWN_CONTROLLER_ID = 116, "There is no controller of this id."
    UNKNOWN_SUBSCRIPTION_ID = 117, "The telemetry subscription is unknown or out of date."
    TELEMETRY_TOO_LARGE = 118, "The telemetry is larger than the broker allows."
    INVALID_REGISTRATION = 119, "The registration of the broker is not valid."
    TRANSACTION_ABORTABLE = 120, "The transaction met an error; abort it and go on."
    INVALID_RECORD_STATE = 121, "The record is in a state that cannot be acknowledged."
    SHARE_SESSION_NOT_FOUND = 122, "There is no such share session.", True
    INVALID_SHARE_SESSION_EPOCH = 123, "The share session is at another epoch.", True
    FENCED_STATE_EPOCH = 124, "The state of the share group is at another epoch."
    INVALID_VOTER_KEY = 125, "The voter has another key."
    DUPLICATE_VOTER = 126, "The voter is in the set already."
    VOTER_NOT_FOUND = 127, "The voter is not in the set."
    INVALID_REGULAR_EXPRESSION = 128, "The regular expression is not valid."
    REBOOTSTRAP_REQUIRED = 129, "The client's metadata is too old; bootstrap again."
    STREAMS_INVALID_TOPOLOGY = 130, "The topology is not valid."
    STREAMS_INVALID_TOPOLOGY_EPOCH = 131, "The epoch of the topology is not valid."
    STREAMS_TOPOLOGY_FENCED = 132, "The epoch of the topology is an old one."
    SHARE_SESSION_LIMIT_REACHED = 133, "There are too many share sessions.", True
