"""`/config`, `/mode` and `/contexts`: what counts for everything, for a context, for a subject."""

from __future__ import annotations

from typing import Any

from headrace.registry import subjects
from headrace.registry.api.call import Call
from headrace.registry.api.endpoint import LIMIT, OFFSET, Endpoint, Parameter, Plain, Way, Write
from headrace.registry.changes import on_delete_config, on_delete_mode, on_set_config, on_set_mode
from headrace.registry.deletion import on_delete_context
from headrace.registry.errors import bad_request, invalid_subject, no_subject_config, no_subject_mode
from headrace.registry.model import Mode
from headrace.registry.requests import config_request, mode_request


def _writable(call: Call) -> str | None:
    scope = call.scope()
    if scope is not None and not subjects.is_valid(scope, for_settings=True):
        raise invalid_subject(call.path.get("subject", scope))
    return scope


def show_config(call: Call) -> Any:
    scope, registry = call.scope(), call.registry
    if call.flag("defaultToGlobal"):
        return registry.defaults.config(registry.state, scope)
    config = registry.state.config(scope)
    if config is None and scope is not None and not subjects.is_global_context(scope):
        raise no_subject_config(scope)
    return registry.defaults.complete(config or {})


def set_config(call: Call) -> Any:
    scope, changes = _writable(call), config_request(call.body)
    return Write(lambda state: on_set_config(state, scope, changes), _echo, repeatable=True)


def _echo(config: Any) -> Any:
    """An update is answered under the old name of the level."""
    return {"compatibility" if name == "compatibilityLevel" else name: value for name, value in config.items()}


def delete_config(call: Call) -> Any:
    scope, defaults = call.scope(), call.registry.defaults
    return Write(lambda state: on_delete_config(state, defaults, scope))


def show_mode(call: Call) -> Any:
    scope, state = call.scope(), call.registry.state
    mode = state.mode_in_scope(scope) if call.flag("defaultToGlobal") else state.mode(scope)
    if mode is None:
        if scope is not None and not subjects.is_global_context(scope):
            raise no_subject_mode(scope)
        mode = Mode.READWRITE
    return {"mode": mode.value}


def set_mode(call: Call) -> Any:
    scope, mode, force = _writable(call), mode_request(call.body), call.flag("force")
    defaults = call.registry.defaults
    return Write(lambda state: on_set_mode(state, defaults, scope, mode, force=force), _mode, repeatable=True)


def delete_mode(call: Call) -> Any:
    scope, recursive, defaults = call.scope(), call.flag("recursive"), call.registry.defaults
    return Write(lambda state: on_delete_mode(state, defaults, scope, recursive=recursive), _mode)


def _mode(mode: Mode | None) -> Any:
    return {} if mode is None else {"mode": mode.value}


def list_contexts(call: Call) -> Any:
    prefix = call.text("contextPrefix")
    return call.page([each for each in call.registry.state.contexts() if each.startswith(prefix)])


def delete_context(call: Call) -> Any:
    try:
        context = subjects.named_context(call.path["context"])
    except ValueError as error:
        raise bad_request(str(error)) from None
    return Write(lambda state: on_delete_context(state, context), lambda _: Plain(status=204), repeatable=True)


_TO_GLOBAL = Parameter("defaultToGlobal", "What counts, wherever it was set.", "boolean")
_FORCE = Parameter("force", "Change to import mode although schemas are there.", "boolean")
_RECURSIVE = Parameter("recursive", "Also the modes of the subjects in the context.", "boolean")


def _of(what: str, path: str) -> tuple[Endpoint, ...]:
    """The same three for everything (or a context), and for a subject."""
    where = "of a subject" if path.endswith("}") else "of everything, or of the context in the path"
    if what == "config":
        return (
            Endpoint("GET", path, f"The config {where}.", show_config, Way.MEMORY, (_TO_GLOBAL,), answer="Config", errors=(40408,)),
            Endpoint("PUT", path, f"Change the config {where}; what is not named stays.", set_config, Way.LEADER, (), "Config", "Config", (42203, 42205, 42208, 42210), writes=True),
            Endpoint("DELETE", path, f"Take back the config {where}; the answer is what it was.", delete_config, Way.LEADER, answer="Config", errors=(40401, 42205), writes=True),
        )  # fmt: skip
    return (
        Endpoint("GET", path, f"The mode {where}.", show_mode, Way.MEMORY, (_TO_GLOBAL,), answer="Mode", errors=(40409,)),
        Endpoint("PUT", path, f"Change the mode {where}.", set_mode, Way.LEADER, (_FORCE,), "Mode", "Mode", (42204, 42205, 42206, 42208), writes=True),
        Endpoint("DELETE", path, f"Take back the mode {where}; the answer is what it was.", delete_mode, Way.LEADER, (_RECURSIVE,), answer="Mode", errors=(40401, 42205), writes=True),
    )  # fmt: skip


ENDPOINTS = (
    *_of("config", "/config"),
    *_of("config", "/config/{subject}"),
    *_of("mode", "/mode"),
    *_of("mode", "/mode/{subject}"),
    Endpoint(
        "GET",
        "/contexts",
        "The contexts, the default one first.",
        list_contexts,
        Way.MEMORY,
        (Parameter("contextPrefix", "Only contexts that begin so."), OFFSET, LIMIT),
        answer="Texts",
        in_contexts=False,
    ),
    Endpoint(
        "DELETE",
        "/contexts/{context}",
        "Delete a context that is empty.",
        delete_context,
        Way.LEADER,
        errors=(400, 42211),
        answer="Nothing",
        writes=True,
        in_contexts=False,
    ),
)
