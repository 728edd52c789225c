"""Two schemas side by side: what changed in the text, and whom the change breaks, in which direction, why."""

from __future__ import annotations

import difflib
import json
import re
from typing import TYPE_CHECKING, Any

from headrace.cli.errors import CliError

if TYPE_CHECKING:
    from rich.console import Console

    from headrace.registry.http_client import RemoteRegistry


def pretty(text: str) -> str:
    """JSON over several lines; anything else as it is."""
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return text.rstrip("\n")


def plain(message: str) -> str:
    """What a registry's message about a difference says to people: `{errorType:'X', description:'why', additionalInfo:'…'}` is `why (X)`."""
    found = re.match(
        r"\{errorType:'?\"?(\w+)'?\"?, description:'?\"?(.*?)'?\"?(, additionalInfo:.*)?\}$", message, re.DOTALL
    )
    return f"{found[2]} ({found[1]})" if found else message


def comparison(remote: RemoteRegistry, before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """The difference as data: lines of text, and for each direction what breaks."""
    lines = difflib.unified_diff(
        pretty(before["schema"]).splitlines(), pretty(after["schema"]).splitlines(), "old", "new", n=3, lineterm=""
    )
    forward, backward = _breaking(remote, before, after)
    return {
        "subject": before["subject"],
        "old": before["version"],
        "new": after["version"],
        "diff": list(lines)[2:],
        "backward": {"compatible": not backward, "differences": backward},
        "forward": {"compatible": not forward, "differences": forward},
    }


def _breaking(
    remote: RemoteRegistry, before: dict[str, Any], after: dict[str, Any]
) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """What stops old readers from new data, and new readers from old data."""
    from headrace.registry.schemas import InvalidSchema, Reference, parse

    def parsed(document: dict[str, Any]) -> Any:
        references = [
            Reference(each["name"], each["subject"], each["version"]) for each in document.get("references", ())
        ]
        return parse(document.get("schemaType", "AVRO"), document["schema"], references, _resolved(remote, document))

    try:
        old, new = parsed(before), parsed(after)
    except InvalidSchema as error:
        raise CliError(f"The schemas cannot be compared: {error}") from None
    if old.schema_type != new.schema_type:
        reason = f"{old.schema_type} and {new.schema_type} have nothing in common"
        return [{"kind": "TYPE", "path": "/", "message": reason}], [{"kind": "TYPE", "path": "/", "message": reason}]
    return _listed(old.differences(new), ("old", "new")), _listed(new.differences(old), ("new", "old"))


def _listed(differences: Any, words: tuple[str, str]) -> list[dict[str, str]]:
    return [
        {"kind": each.kind, "path": each.path, "message": each.text(*words)}
        for each in differences
        if not each.compatible
    ]


def _resolved(remote: RemoteRegistry, document: dict[str, Any]) -> dict[str, str]:
    """The texts of all references, what others need first."""
    found: dict[str, str] = {}

    def collect(references: list[dict[str, Any]]) -> None:
        for reference in references:
            if reference["name"] not in found:
                target = remote.version(reference["subject"], str(reference["version"]), deleted=True)
                collect(target.get("references", []))
                found[reference["name"]] = target["schema"]

    collect(document.get("references", []))
    return found


def print_comparison(out: Console, found: dict[str, Any]) -> None:
    from rich.text import Text

    out.print(Text(f"{found['subject']}: version {found['old']} → {found['new']}", "bold cyan"))
    if not found["diff"]:
        out.print("No difference in the text")
    for line in found["diff"]:
        style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
        out.print(Text(line, style), soft_wrap=True)
    out.print()
    _print_direction(out, "backward", f"readers with {found['new']} on data of {found['old']}", found["backward"])
    _print_direction(out, "forward", f"readers with {found['old']} on data of {found['new']}", found["forward"])


def _print_direction(out: Console, name: str, who: str, verdict: dict[str, Any]) -> None:
    from rich.text import Text

    fits = verdict["compatible"]
    line = Text.assemble(
        (f"{name:<9}", "bold"), ("fits  " if fits else "breaks", "green" if fits else "bold red"), f"  {who}"
    )
    out.print(line, soft_wrap=True)
    for difference in verdict["differences"]:
        out.print(Text(f"  {plain(difference['message'])}", "red"), soft_wrap=True)
