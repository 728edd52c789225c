"""`/compatibility`: would this schema break anyone?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.registry.api.call import Call
from headrace.registry.api.endpoint import NORMALIZE, Endpoint, Parameter, Way
from headrace.registry.compatibility import on_check
from headrace.registry.errors import RegistryError, version_not_found
from headrace.registry.model import StoredSchema
from headrace.registry.requests import LATEST, schema_request


def check_version(call: Call) -> Any:
    subject, version = call.subject(), call.version()
    before = call.registry.state.version(subject, version)
    if before is None and version != LATEST:
        raise version_not_found(version)
    return _checked(call, subject, [] if before is None else [before])


def check_all(call: Call) -> Any:
    subject = call.subject()
    return _checked(call, subject, call.registry.state.versions(subject, deleted=False))


def _checked(call: Call, subject: str, previous: Sequence[StoredSchema]) -> Any:
    registry, request, verbose = call.registry, schema_request(call.body), call.flag("verbose")
    try:
        messages = on_check(
            registry.state,
            registry.parser,
            registry.defaults,
            subject,
            request,
            previous,
            normalize=call.flag("normalize"),
        )
    except RegistryError as error:
        if error.code != 42201 or not verbose:
            raise
        messages = [error.message]
    return {"is_compatible": not messages, **({"messages": messages} if verbose else {})}


_VERBOSE = Parameter("verbose", "List every difference that breaks; what is no schema is one of them.", "boolean")
ENDPOINTS = (
    Endpoint(
        "POST",
        "/compatibility/subjects/{subject}/versions/{version}",
        "Check a schema against one version. A subject that is not there is compatible with anything as its `latest`.",
        check_version,
        Way.THREAD,
        (NORMALIZE, _VERBOSE),
        "SchemaRequest",
        "Compatible",
        (40402, 42201, 42202),
    ),
    Endpoint(
        "POST",
        "/compatibility/subjects/{subject}/versions",
        "Check a schema against those that its subject's level asks for, as registering it would.",
        check_all,
        Way.THREAD,
        (NORMALIZE, _VERBOSE),
        "SchemaRequest",
        "Compatible",
        (42201,),
    ),
)
