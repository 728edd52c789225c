"""What counts where no config says anything: the registry's own settings. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.registry.model import JsonObject
from headrace.registry.state import State


@dataclass(frozen=True)
class Defaults:
    """The level for new registries, and which checks are on."""

    level: str = "BACKWARD"
    validate_fields: bool = False
    validate_new_schemas: bool = True
    mode_changes: bool = True

    def config(self, state: State, subject: str | None) -> dict[str, Any]:
        """What counts for a subject, with a level in any case."""
        return self.complete(state.config_in_scope(subject))

    def complete(self, config: JsonObject) -> dict[str, Any]:
        return {"compatibilityLevel": self.level, **config}

    def flag(self, config: JsonObject, name: str) -> bool:
        """A setting that is on or off, from a config or else from the registry's own."""
        own = {"validateFields": self.validate_fields, "validateNewSchemas": self.validate_new_schemas}
        return bool(config.get(name, own.get(name, False)))

    def fills_in(self, state: State, subject: str) -> bool:
        """Whether the config adds metadata or rules to what is registered, so that a schema as it was sent says little."""
        names = ("defaultMetadata", "overrideMetadata", "defaultRuleSet", "overrideRuleSet")
        return any(name in state.config_in_scope(subject) for name in names)
