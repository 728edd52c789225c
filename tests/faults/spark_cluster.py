"""A Spark standalone cluster on this machine: a master and workers as processes of their own, from PySpark's jars.

Each worker starts one executor with all its cores. A worker is killed together with its executor, as when its machine is gone.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import Self

from conformance.cache import free_port
from headrace.spark.runtime.installation import Installation, prepare
from headrace.testing import wait_until

START_TIMEOUT_S = 300.0
_FLAGS = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


class StandaloneCluster:
    """For `with`. `python_path` is where Python workers find modules, as if they were installed there."""

    def __init__(self, workers: int = 2, cores: int = 16, memory: str = "1g", python_path: str = "") -> None:
        self._installation: Installation = prepare()
        self._cores, self._memory, self._python_path = cores, memory, python_path
        self._directory = Path(tempfile.mkdtemp(prefix="headrace-spark-cluster-"))
        self._port = free_port()
        self.master = f"spark://127.0.0.1:{self._port}"
        self._master: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []
        self._wanted = workers

    def start(self) -> Self:
        web = str(free_port())
        place = ("--host", "127.0.0.1", "--port", str(self._port), "--webui-port", web)
        self._master = self._launch("master", "org.apache.spark.deploy.master.Master", *place)
        wait_until(self._listens, timeout_s=START_TIMEOUT_S, message=f"the master\n{self.log('master')}")
        for number in range(self._wanted):
            self._start_worker(number)
        return self

    def _start_worker(self, number: int) -> None:
        name = f"worker-{number}"
        place = ("--host", "127.0.0.1", "--port", "0", "--webui-port", str(free_port()))
        size = ("--cores", str(self._cores), "--memory", self._memory, "--work-dir", str(self._directory / name))
        # Remembered before it is waited for, so that it ends with the others when it does not come up.
        self.workers.append(self._launch(name, "org.apache.spark.deploy.worker.Worker", *place, *size, self.master))
        wait_until(
            lambda: "Successfully registered with master" in self.log(name),
            timeout_s=START_TIMEOUT_S,
            message=f"{name}\n{self.log(name)}",
            interval_s=0.1,
        )

    def _launch(self, name: str, main_class: str, *arguments: str) -> subprocess.Popen[bytes]:
        spark = self._installation.spark
        environment = {
            **os.environ,
            "SPARK_HOME": str(spark.home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            # Else the launcher looks for a build of Spark to tell it.
            "SPARK_SCALA_VERSION": "2.13",
            "JAVA_HOME": str(self._installation.java.executable.resolve().parent.parent),
            "PYTHONPATH": self._python_path,
        }
        command = [
            str(self._installation.java.executable),
            *_FLAGS,
            "-cp",
            f"{spark.home}/jars/*",
            main_class,
            *arguments,
        ]
        with self._log_file(name).open("ab") as log:
            # A group of its own, so that a worker and its executor can be killed together.
            return subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, process_group=0
            )

    def kill_worker(self, number: int) -> None:
        _kill(self.workers[number])

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._port)) == 0

    def _log_file(self, name: str) -> Path:
        return self._directory / f"{name}.log"

    def log(self, name: str) -> str:
        path = self._log_file(name)
        return path.read_text(errors="replace")[-20_000:] if path.exists() else ""

    def executor_logs(self) -> dict[str, str]:
        """What the executors had to say, by worker, application and number."""
        found = sorted(self._directory.glob("worker-*/*/*/stderr"))
        return {str(path.relative_to(self._directory)): path.read_text(errors="replace") for path in found}

    def close(self) -> None:
        for process in (*self.workers, self._master):
            if process is not None:
                _kill(process)
        shutil.rmtree(self._directory, ignore_errors=True)

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_: object) -> None:
        self.close()


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
