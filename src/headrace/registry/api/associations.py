"""`/associations`: which subject stands for a topic's keys or values. The newest serializers ask here first."""

from __future__ import annotations

from typing import Any

from headrace.registry.api.call import Call
from headrace.registry.api.endpoint import LIMIT, OFFSET, Endpoint, Parameter, Plain, Way, Write
from headrace.registry.api.entities import association_entity
from headrace.registry.associations import (
    association_request,
    matching,
    on_associate,
    on_dissociate,
)
from headrace.registry.errors import association_not_found, unprocessable
from headrace.registry.subjects import context_prefix, join

TOPIC = "topic"


def _found(call: Call, **where: str) -> Any:
    found = matching(
        call.registry.state.associations(),
        resource_type=call.text("resourceType") or TOPIC,
        kinds=call.texts("associationType"),
        lifecycle=_lifecycle(call),
        **where,
    )
    return call.page([association_entity(each) for each in found])


def _lifecycle(call: Call) -> str:
    lifecycle = call.text("lifecycle").upper()
    if lifecycle not in ("", "STRONG", "WEAK"):
        raise unprocessable("lifecycle is STRONG or WEAK")
    return lifecycle


def of_subject(call: Call) -> Any:
    return _found(call, subject=call.subject())


def of_name(call: Call) -> Any:
    return _found(call, namespace=call.path["namespace"], name=call.path["name"])


def of_id(call: Call) -> Any:
    return _found(call, resource_id=call.path["id"])


def _context(call: Call) -> str:
    return context_prefix(call.text("context")) or join(call.context, "")


def create(call: Call) -> Any:
    return _associate(call, create=True)


def create_or_change(call: Call) -> Any:
    return _associate(call, create=False)


def _associate(call: Call, *, create: bool) -> Any:
    registry, dry_run = call.registry, call.flag("dryRun")
    request = association_request(call.body, call.path.get("id"), _context(call), create=create, dry_run=dry_run)

    def change(state: Any) -> Any:
        outcome = on_associate(state, registry.parser, registry.defaults, request, create=create)
        return outcome if not dry_run else type(outcome)((), outcome.answer)

    return Write(change, repeatable=True)


def delete(call: Call) -> Any:
    id_, resource_type, kinds = call.path["id"], call.text("resourceType") or TOPIC, call.texts("associationType")
    found = matching(call.registry.state.associations(), resource_type=resource_type, kinds=kinds, resource_id=id_)
    if not found:
        raise association_not_found(id_)
    cascade, dry_run = call.flag("cascadeLifecycle"), call.flag("dryRun")

    def change(state: Any) -> Any:
        outcome = on_dissociate(state, id_, resource_type, kinds, cascade=cascade)
        return outcome if not dry_run else type(outcome)((), outcome.answer)

    return Write(change, lambda _: Plain(status=204))


_TYPE = Parameter("resourceType", "Always `topic`.")
_KIND = Parameter("associationType", "Only these, such as `key` or `value`.", many=True)
_LIFECYCLE = Parameter("lifecycle", "Only STRONG or only WEAK ones.")
_DRY_RUN = Parameter("dryRun", "Say what would be, and change nothing.", "boolean")
_LISTS = (_TYPE, _KIND, _LIFECYCLE, OFFSET, LIMIT)
_CONTEXT = Parameter("context", "The context of subjects that name none.")
_REFUSALS = (40903, 40904, 40905, 40907, 40908, 42201, 42205, 42212)
_RESOURCE = "/associations/resources/{id}"
ENDPOINTS = (
    Endpoint("GET", "/associations/resources/{namespace}/{name}", "The associations of a topic; `-` for any namespace.", of_name, Way.MEMORY, _LISTS, answer="Associations"),
    Endpoint("GET", _RESOURCE, "The associations of a topic by its id.", of_id, Way.MEMORY, _LISTS, answer="Associations"),
    Endpoint("GET", "/associations/subjects/{subject}", "The associations of a subject.", of_subject, Way.MEMORY, _LISTS, answer="Associations"),
    Endpoint("POST", "/associations", "Associate subjects with a topic.", create, Way.THREAD, (_CONTEXT, _DRY_RUN), "AssociationRequest", "AssociationResponse", _REFUSALS, writes=True),
    Endpoint("PUT", _RESOURCE, "Associate subjects with a topic, or change how.", create_or_change, Way.THREAD, (_CONTEXT, _DRY_RUN), "AssociationRequest", "AssociationResponse", _REFUSALS, writes=True),
    Endpoint("DELETE", _RESOURCE, "End associations of a topic.", delete, Way.LEADER, (_TYPE, _KIND, Parameter("cascadeLifecycle", "Also soft delete the subjects of STRONG ones.", "boolean"), _DRY_RUN), answer="Nothing", errors=(40410, 42205, 42206), writes=True),
)  # fmt: skip
