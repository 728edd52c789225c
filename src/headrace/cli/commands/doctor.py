"""`headrace doctor`: is everything here that Headrace needs, and if not, what mends it?"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from headrace.admin.times import counted
from headrace.cli.command import Json, command
from headrace.cli.errors import FAILED
from headrace.cli.output import console, print_json, print_table

if TYPE_CHECKING:
    from headrace.spark.runtime.checkup import Finding


def register(app: typer.Typer) -> None:
    @command(app, "doctor", examples=("headrace doctor", "headrace doctor --json"))
    def doctor(as_json: Json = False) -> None:
        """Look for what is missing, and say the command that mends it.

        Looks at Python, Java, PySpark and what `headrace setup` makes, at ports, disks and limits. Changes nothing. Exit code 1 means
        that something is missing which pipelines need.
        """
        findings = _findings()
        missing = [finding for finding in findings if finding.needed and not finding.good]
        if as_json:
            print_json({"good": not missing, "checks": [asdict(finding) for finding in findings]})
        else:
            _print(findings, missing)
        if missing:
            raise typer.Exit(FAILED)


def _findings() -> list[Finding]:
    from headrace.cli.machine import machine_findings
    from headrace.spark.runtime.cache import cache_directory
    from headrace.spark.runtime.checkup import checkup

    return [*checkup(), *machine_findings({"here": Path.cwd(), "cache": cache_directory()})]


def _print(findings: list[Finding], missing: list[Finding]) -> None:
    def state(finding: Finding) -> str:
        return "ok" if finding.good else "MISSING" if finding.needed else "note"

    rows = [(finding.name, state(finding), finding.found, finding.next_step) for finding in findings]
    print_table(("CHECK", "STATE", "FOUND", "TO MEND IT"), rows)
    console().print(f"{counted(len(missing), 'thing')} missing." if missing else "Everything that is needed is here.")
