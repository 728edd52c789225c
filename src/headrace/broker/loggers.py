"""The broker's loggers as configs (resource type 8): their levels, read and set while it runs, never stored."""

from __future__ import annotations

import logging

from headrace.replica.controller_configs import DELETE, SET
from headrace.replica.controller_error import Refused
from headrace.wire.errors import ErrorCode
from headrace.wire.messages.incremental_alter_configs import AlterConfigsResource

ROOT = "root"
# log4j's names, which Kafka's tools send, and their Python equals.
LEVELS = {
    "FATAL": logging.CRITICAL,
    "ERROR": logging.ERROR,
    "WARN": logging.WARNING,
    "INFO": logging.INFO,
    "DEBUG": logging.DEBUG,
    "TRACE": logging.DEBUG,
}
_NAMES = {level: name for name, level in reversed(LEVELS.items())} | {logging.DEBUG: "DEBUG"}


def logger_levels() -> dict[str, str]:
    """Every logger of ours with the level in force."""
    names = [name for name in logging.root.manager.loggerDict if name == "headrace" or name.startswith("headrace.")]
    return {ROOT: _level(logging.root)} | {name: _level(logging.getLogger(name)) for name in sorted(names)}


def _level(logger: logging.Logger) -> str:
    return _NAMES.get(logger.getEffectiveLevel(), "INFO")


def check_node(name: str, node_id: int) -> None:
    """Loggers belong to one broker, which must be this one."""
    if name != str(node_id):
        raise Refused(
            ErrorCode.INVALID_REQUEST, f"This is broker {node_id}; loggers of {name!r} must be asked for there."
        )


def alter_loggers(resource: AlterConfigsResource, node_id: int, validate_only: bool) -> None:
    """Set levels (SET) or give them back to the parent logger (DELETE); all of a resource or nothing."""
    check_node(resource.resource_name, node_id)
    known = logger_levels()
    for config in resource.configs:
        if config.name not in known:
            raise Refused(ErrorCode.INVALID_CONFIG, f"There is no logger {config.name!r}.")
        if config.config_operation == SET and config.value not in LEVELS:
            raise Refused(
                ErrorCode.INVALID_CONFIG, f"{config.name}: {config.value!r} is not one of {', '.join(LEVELS)}."
            )
        if config.config_operation not in (SET, DELETE) or (config.config_operation == DELETE and config.name == ROOT):
            raise Refused(ErrorCode.INVALID_REQUEST, f"{config.name}: this operation is not possible on a logger.")
    if validate_only:
        return
    for config in resource.configs:
        logger = logging.root if config.name == ROOT else logging.getLogger(config.name)
        logger.setLevel(LEVELS[config.value or ""] if config.config_operation == SET else logging.NOTSET)
