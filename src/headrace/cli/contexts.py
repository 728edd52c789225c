"""Named contexts: clusters a user talks to, in `headrace/config.toml` under the user's configuration directory.

current = "production"

[contexts.production]
bootstrap_servers = "kafka-1:9092,kafka-2:9092"

[contexts.production.properties]
"security.protocol" = "SASL_SSL"
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from headrace.admin.errors import did_you_mean
from headrace.cli.errors import CliError


@dataclass(frozen=True, slots=True)
class Context:
    """One cluster: its address and what a client needs to be let in."""

    name: str
    bootstrap_servers: str
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Contexts:
    """The whole file. `save` replaces it in one step."""

    path: Path
    by_name: dict[str, Context] = field(default_factory=dict)
    current: str | None = None

    def get(self, name: str) -> Context:
        if name not in self.by_name:
            raise CliError(
                f"There is no context '{name}'",
                did_you_mean(name, self.by_name)
                or f"Add it with `headrace context add {name} --bootstrap-server HOST:PORT`",
            )
        return self.by_name[name]

    def save(self) -> None:
        lines = [f"current = {_quoted(self.current)}", ""] if self.current else []
        for context in self.by_name.values():
            lines += [f"[contexts.{_quoted(context.name)}]"]
            lines += [f"bootstrap_servers = {_quoted(context.bootstrap_servers)}", ""]
            if context.properties:
                lines += [f"[contexts.{_quoted(context.name)}.properties]"]
                lines += [f"{_quoted(key)} = {_quoted(value)}" for key, value in context.properties.items()] + [""]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.path.with_suffix(".tmp")
        # Properties may hold a password, so the file is the user's alone from its first byte.
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write("\n".join(lines))
        temporary.replace(self.path)


def config_file() -> Path:
    """`$XDG_CONFIG_HOME/headrace/config.toml`, by default under `~/.config`."""
    base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(base) / "headrace" / "config.toml"


def load_contexts() -> Contexts:
    """What the file says; nothing when there is none."""
    path = config_file()
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Contexts(path)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CliError(f"Cannot read {path}: {error}", "Repair or remove that file") from None
    by_name = {}
    for name, entry in document.get("contexts", {}).items():
        if not isinstance(entry, dict) or not isinstance(entry.get("bootstrap_servers"), str):
            raise CliError(f"Context '{name}' in {path} has no bootstrap_servers", "Add them, or remove the context")
        properties = {key: str(value) for key, value in entry.get("properties", {}).items()}
        by_name[name] = Context(name, entry["bootstrap_servers"], properties)
    return Contexts(path, by_name, document.get("current"))


def _quoted(text: str | None) -> str:
    # A JSON string is a TOML basic string as long as nothing beyond ASCII is escaped with surrogates.
    return json.dumps(text, ensure_ascii=False)
