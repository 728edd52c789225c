"""`headrace completion`: the script that makes a shell complete Headrace's commands and options."""

from __future__ import annotations

import enum
import sys
from typing import Annotated

import typer

from headrace.cli.command import command


class Shell(enum.StrEnum):
    """The shells Typer writes scripts for."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def register(app: typer.Typer) -> None:
    @command(
        app,
        "completion",
        examples=(
            'eval "$(headrace completion bash)"',
            "headrace completion zsh > ~/.zfunc/_headrace",
            "headrace --install-completion        (for the shell you are in, for good)",
        ),
    )
    def completion(shell: Annotated[Shell, typer.Argument(help="Your shell.")]) -> None:
        """Print the completion script for a shell."""
        from typer.completion import get_completion_script

        script = get_completion_script(prog_name="headrace", complete_var="_HEADRACE_COMPLETE", shell=shell.value)
        sys.stdout.write(script + "\n")
