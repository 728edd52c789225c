"""Full and failing disks: the directory goes offline with Kafka's error, others go on, nothing acknowledged is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.testing import broker
from headrace.testing.faults import FailingFs, FullDiskFs
from headrace.wire.errors import ErrorCode
from tests.broker.raw import RawClient, batch


@pytest.mark.parametrize("kind", ["full", "failing"])
def test_a_broken_disk_takes_its_directory_offline_and_no_other(tmp_path: Path, kind: str) -> None:
    fs = (FullDiskFs if kind == "full" else FailingFs)(matching=f"{tmp_path}/b/", active=False)
    with broker({"log.dirs": f"{tmp_path}/a,{tmp_path}/b"}, fs=fs) as server:
        server.create_topic("t", 6)
        with RawClient(server.port) as client:
            for partition in range(6):
                assert client.produce("t", batch(b"before"), partition=partition).error_code == 0
            where = {p: server.call(lambda b, p=p: b.replicas.get("t", p).log.folder.path) for p in range(6)}
            broken = {p for p, path in where.items() if path.startswith(f"{tmp_path}/b/")}
            assert broken and len(broken) < 6
            fs.active = True
            for partition in range(6):
                answer = client.produce("t", batch(b"after"), partition=partition)
                assert answer.error_code == (ErrorCode.KAFKA_STORAGE_ERROR if partition in broken else 0)
            assert client.fetch("t", 0, partition=min(broken)).error_code == ErrorCode.KAFKA_STORAGE_ERROR
            assert client.fetch("t", 0, partition=min(set(range(6)) - broken)).high_watermark == 2
            assert server.call(lambda b: b.problems())
        fs.active = False
        server.restart()
        with RawClient(server.port) as client:
            for partition in range(6):
                assert client.fetch("t", 0, partition=partition).high_watermark == (1 if partition in broken else 2)
            assert not server.call(lambda b: b.problems())
