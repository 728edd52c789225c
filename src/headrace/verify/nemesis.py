"""The one who breaks things: one fault at a time for a while, then health for a while, until told to stop."""

from __future__ import annotations

import enum
import random
import threading
from collections import Counter
from collections.abc import Callable, Sequence

from headrace.testing.proxy import Faults, Proxy
from headrace.verify.history import OK, Recorder
from headrace.verify.target import Target

END_TXN = 26


class Fault(enum.StrEnum):
    """What can be done to a cluster."""

    KILL = "kill"
    PAUSE = "pause"
    CUT = "cut"
    DELAY = "delay"
    SILENCE = "silence"
    LOSE = "lose"
    LATE = "late"


MEANING = {
    Fault.KILL: "kill -9 and start again",
    Fault.PAUSE: "SIGSTOP, then SIGCONT",
    Fault.CUT: "close connections",
    Fault.DELAY: "slow requests and answers",
    Fault.SILENCE: "nothing passes, connections stay open",
    Fault.LOSE: "the broker acts, its answer is lost",
    Fault.LATE: "a request arrives after its sender has given it up and sent it again elsewhere",
}
NETWORK = (Fault.CUT, Fault.DELAY, Fault.SILENCE, Fault.LOSE, Fault.LATE)


class Nemesis(threading.Thread):
    """Breaks what it was given, and leaves everything whole: `stop` heals before it returns."""

    def __init__(
        self, recorder: Recorder, faults: Sequence[Fault], seed: int, target: Target | None, network: Proxy | None
    ) -> None:
        super().__init__(name="verify-nemesis", daemon=True)
        self.recorder = recorder
        self.faults = list(faults)
        self.random = random.Random(f"{seed}/nemesis")  # noqa: S311 (repeatable, not secret)
        self.target = target
        self.network = network
        self.count: Counter[str] = Counter()
        self.failure: BaseException | None = None
        self._stopping = threading.Event()

    def run(self) -> None:
        try:
            while not self._stopping.wait(self.random.uniform(0.5, 3.0)):
                fault = self.random.choice(self.faults)
                identity = self.recorder.invoke("nemesis", "fault", what=fault.value)
                self._actions()[fault]()
                self.recorder.end(identity, OK)
                self.count[fault.value] += 1
        except BaseException as error:
            self.failure = error

    def stop(self) -> None:
        self._stopping.set()
        if self.is_alive():
            self.join()
        if self.network is not None:
            self.network.heal()

    def _actions(self) -> dict[Fault, Callable[[], None]]:
        late = frozenset((END_TXN,)) if self.random.random() < 0.7 else frozenset[int]()
        return {
            Fault.KILL: self._kill,
            Fault.PAUSE: self._pause,
            Fault.CUT: lambda: self._network().cut(self.random.choice((0.3, 0.7, 1.0))),
            Fault.DELAY: lambda: self._disturb(Faults(delay_s=self.random.choice((0.05, 0.3, 1.0)))),
            Fault.SILENCE: lambda: self._disturb(Faults(silent=True), longest=3.0),
            Fault.LOSE: lambda: self._disturb(Faults(lose_answers=0.1)),
            Fault.LATE: lambda: self._disturb(
                Faults(deliver_late=0.5 if late else 0.1, late_s=self.random.choice((0.3, 1.0, 2.0)), late_keys=late)
            ),
        }

    def _network(self) -> Proxy:
        assert self.network is not None, "network faults need the proxy"
        return self.network

    def _disturb(self, faults: Faults, longest: float = 5.0) -> None:
        network = self._network()
        network.faults = faults
        self._stopping.wait(self.random.uniform(0.5, longest))
        network.heal()

    def _kill(self) -> None:
        assert self.target is not None, "kill needs a broker process"
        self.target.kill()
        self._stopping.wait(self.random.choice((0.0, 0.5, 2.0)))
        self.target.restart()

    def _pause(self) -> None:
        assert self.target is not None, "pause needs a broker process"
        self.target.pause()
        try:
            self._stopping.wait(self.random.choice((0.2, 2.0, 7.0)))
        finally:
            self.target.resume()
