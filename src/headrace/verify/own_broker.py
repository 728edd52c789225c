"""A Headrace broker of our own as a target of the nemesis."""

from __future__ import annotations

import os
import signal

from headrace.testing import BrokerProcess


class OwnBroker:
    """Kills, restarts, pauses and resumes a `BrokerProcess`."""

    def __init__(self, process: BrokerProcess) -> None:
        self.process = process

    def kill(self) -> None:
        self.process.kill()

    def restart(self) -> None:
        self.process.restart()

    def pause(self) -> None:
        os.kill(self.process.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.process.pid, signal.SIGCONT)
