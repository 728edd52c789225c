"""Workers of another client library, as programs that print their part of the history.

The program is started with `--bootstrap-server --role --name --source --sink --partitions --group --seed --abort-share`, where the
role is `writer` or `transformer`. It prints events as lines of JSON (see `history`), and ends soon after its standard input does.
"""

from __future__ import annotations

import json
import shlex
import subprocess
from typing import IO

from headrace.verify.worker import Stage, Worker

END_WITHIN_S = 60.0


class ExternalWorker(Worker):
    """One such program. What it prints on standard error is kept for the case that it fails."""

    def __init__(self, stage: Stage, name: str, role: str, command: str) -> None:
        super().__init__(stage, name)
        arguments = {
            "--bootstrap-server": stage.bootstrap_servers,
            "--role": role,
            "--name": name,
            "--source": stage.source,
            "--sink": stage.sink,
            "--partitions": stage.partitions,
            "--group": stage.group,
            "--seed": stage.seed,
            "--abort-share": stage.abort_share,
        }
        self._command = shlex.split(command) + [str(part) for pair in arguments.items() for part in pair]
        self._process: subprocess.Popen[str] | None = None

    def work(self) -> None:
        self._process = subprocess.Popen(  # noqa: S603 (the command is the user's own)
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        with self._process as process:
            assert process.stdout is not None and process.stderr is not None
            for line in process.stdout:
                event = json.loads(line)
                self.recorder.add(event)
                if event["type"] == "ok":
                    self.ready.set()
            complaint = process.stderr.read()
            if process.wait(END_WITHIN_S):
                raise RuntimeError(f"{self.label} ended with exit code {process.returncode}: {complaint[-500:]}")

    def stop(self) -> None:
        super().stop()
        if self._process is not None and self._process.stdin is not None:
            _close(self._process.stdin)

    def kill(self) -> None:
        """For a program that does not end by itself."""
        if self._process is not None:
            self._process.kill()


def _close(pipe: IO[str]) -> None:
    try:
        pipe.close()
    except BrokenPipeError:
        return  # it has ended already, and says so by its exit code
