"""What the registry refuses, with Confluent's HTTP status and error code for it: clients act on the codes, people read the messages."""

from __future__ import annotations

from collections.abc import Sequence


class RegistryError(Exception):
    """An answer that is not what was asked for. `code` is Confluent's error code, of which the first three digits are the HTTP status."""

    def __init__(self, code: int, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status or (code if code < 1000 else code // 100)


class NotLeader(RegistryError):
    """A write came to an instance that may not write; whoever leads can take it."""

    def __init__(self, message: str = "Leader not known.") -> None:
        super().__init__(50004, message)


class StoreFailure(RegistryError):
    """The topic did not take a write."""

    def __init__(self, message: str) -> None:
        super().__init__(50001, message)


class Unsettled(StoreFailure):
    """The lead was lost while a write was under way: whether it counts is known to the topic alone."""


class StartFailure(Exception):
    """Why a registry cannot start, in a sentence."""


def subject_not_found(subject: str) -> RegistryError:
    return RegistryError(40401, f"Subject '{subject}' not found.")


def version_not_found(version: int) -> RegistryError:
    return RegistryError(40402, f"Version {version} not found.")


def schema_not_found(which: object = None) -> RegistryError:
    return RegistryError(40403, "Schema not found" if which is None else f"Schema {which} not found")


def subject_soft_deleted(subject: str) -> RegistryError:
    return RegistryError(40404, f"Subject '{subject}' was soft deleted.Set permanent=true to delete permanently")


def subject_not_soft_deleted(subject: str) -> RegistryError:
    return RegistryError(40405, f"Subject '{subject}' was not deleted first before being permanently deleted")


def version_soft_deleted(subject: str, version: int) -> RegistryError:
    return RegistryError(
        40406, f"Subject '{subject}' Version {version} was soft deleted.Set permanent=true to delete permanently"
    )


def version_not_soft_deleted(subject: str, version: int) -> RegistryError:
    return RegistryError(
        40407, f"Subject '{subject}' Version {version} was not deleted first before being permanently deleted"
    )


def no_subject_config(subject: str) -> RegistryError:
    return RegistryError(40408, f"Subject '{subject}' does not have subject-level compatibility configured")


def no_subject_mode(subject: str) -> RegistryError:
    return RegistryError(40409, f"Subject '{subject}' does not have subject-level mode configured")


def association_not_found(resource: str) -> RegistryError:
    return RegistryError(40410, f"Association for '{resource}' not found.")


def incompatible(subject: str, messages: Sequence[str]) -> RegistryError:
    return RegistryError(
        40901,
        f'Schema being registered is incompatible with an earlier schema for subject "{subject}", '
        f"details: [{', '.join(messages)}]",
    )


def invalid_schema(reason: str) -> RegistryError:
    return RegistryError(42201, reason)


def invalid_version(version: object) -> RegistryError:
    return RegistryError(
        42202,
        f"The specified version '{version}' is not a valid version id. "
        'Allowed values are between [1, 2^31-1] and the string "latest"',
    )


def invalid_level() -> RegistryError:
    return RegistryError(
        42203,
        "Invalid compatibility level. Valid values are none, backward, forward, full, backward_transitive, "
        "forward_transitive, and full_transitive",
    )


def invalid_mode(
    message: str = "Invalid mode. Valid values are READWRITE, READONLY, IMPORT and FORWARD.",
) -> RegistryError:
    return RegistryError(42204, message)


def not_permitted(message: str) -> RegistryError:
    return RegistryError(42205, message)


def reference_exists(subject: str, version: int) -> RegistryError:
    key = f"{{magic=1,keytype=SCHEMA,subject={subject},version={version}}}"
    return RegistryError(42206, f"One or more references exist to the schema {key}.")


def invalid_subject(subject: str) -> RegistryError:
    return RegistryError(42208, f"The specified subject '{subject}' is not a valid subject.")


def too_large(message: str = "Register operation failed because schema is too large") -> RegistryError:
    return RegistryError(42209, message)


def invalid_rule_set(message: str) -> RegistryError:
    return RegistryError(42210, message)


def context_not_empty(context: str) -> RegistryError:
    return RegistryError(42211, f"The specified context '{context}' is not empty.")


def invalid_association(name: str, reason: str) -> RegistryError:
    return RegistryError(42212, f"The association specified an invalid value for property: '{name}', detail: {reason}")


def bad_request(message: str) -> RegistryError:
    return RegistryError(400, message)


def unprocessable(message: str) -> RegistryError:
    return RegistryError(422, message)
