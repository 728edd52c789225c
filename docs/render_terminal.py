"""Renders real output of the `headrace` command into the pictures of the docs: `python docs/render_terminal.py`.

It starts a broker on a free port, runs the commands in a pseudo-terminal, and exports what they printed as SVG, without fonts from elsewhere.
"""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from headrace.testing import broker_process

IMAGES = Path(__file__).parent / "images"
WIDTH, HEIGHT = 104, 40
_CURSOR = re.compile(rb"\x1b\[[0-9;?]*[A-HJKSThl]")
# Rich's export asks a content delivery network for a font; the reader's own monospace will do.
_FONT_FACE = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->\s*", re.DOTALL)
_PORT = re.compile(r"127\.0\.0\.1:\d{4,5}")


def run(command: str, environment: dict[str, str], seconds: float = 30.0) -> str:
    """What a command prints on a terminal."""
    ours, theirs = pty.openpty()
    os.set_blocking(ours, False)
    subprocess.run(["stty", "-F", os.ttyname(theirs), "cols", str(WIDTH), "rows", str(HEIGHT)], check=True)  # noqa: S603, S607
    process = subprocess.Popen(command, shell=True, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)  # noqa: S602
    os.close(theirs)
    data, deadline = b"", time.monotonic() + seconds
    while time.monotonic() < deadline:
        if select.select([ours], [], [], 0.1)[0]:
            try:
                chunk = os.read(ours, 65536)
            except OSError:
                break
            if not chunk:
                break
            data += chunk
        elif process.poll() is not None:
            break
    if process.poll() is None:
        process.terminate()
    process.wait()
    os.close(ours)
    return _CURSOR.sub(b"", data).replace(b"\r", b"").decode()


def export(name: str, title: str, lines: list[tuple[str, str]]) -> None:
    """Commands and what they printed, as one picture."""
    console = Console(record=True, width=WIDTH, file=open(os.devnull, "w"), force_terminal=True)  # noqa: SIM115
    for command, output in lines:
        if command:
            console.print(Text.assemble(("$ ", "bold green"), (command, "bold")))
        console.print(Text.from_ansi(_PORT.sub("127.0.0.1:9092", output.rstrip("\n"))))
    svg = console.export_svg(title=title, theme=MONOKAI, unique_id=name)
    svg = _COMMENT.sub("", _FONT_FACE.sub("", svg))
    (IMAGES / f"{name}.svg").write_text(svg.replace("Fira Code", "monospace"))
    sys.stdout.write(f"{IMAGES / name}.svg\n")


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, broker_process(data_dir=Path(scratch) / "headrace-data") as broker:
        environment = {
            **os.environ,
            "HEADRACE_BOOTSTRAP": broker.bootstrap_servers,
            "TERM": "xterm-256color",
            "XDG_CONFIG_HOME": scratch,
        }
        environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
        commands = [
            "headrace topic create orders --partitions 3",
            "printf 'alice:tea\\ncarol:cake\\nerin:jam\\nalice:cup\\n' | headrace produce orders --key-separator :",
            "headrace consume orders --merge",
            "headrace consume orders --group billing --count 2 > /dev/null",
            "headrace group describe billing",
            "headrace consume ordres",
        ]
        export("first-minute", "headrace", [(command, run(command, environment)) for command in commands])
        export("overview", "headrace", [("headrace", run("headrace", environment))])


if __name__ == "__main__":
    main()
