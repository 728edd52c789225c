"""Starts that cannot succeed say why in one line, leave nothing behind, and cost nothing at the next start."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from headrace.broker.startup import StartError
from headrace.fs import Fs
from headrace.replica.snapshot import record_batches
from headrace.settings import SettingError
from headrace.storage.config import LogConfig
from headrace.storage.directory import LogDirectory
from headrace.testing import LocalBroker, broker
from headrace.testing.faults import FailingFs, FullDiskFs
from headrace.wire.messages.api_versions import ApiVersionsRequest
from headrace.wire.records.metadata import FeatureLevelRecord
from tests.broker.raw import RawClient


def refusal(data_dir: Path, *, fs: Fs | None = None, **settings: object) -> str:
    """What a broker says that does not start; one line, and the directory is free again."""
    named = {name.replace("_", "."): value for name, value in settings.items()}
    with pytest.raises(StartError) as raised:
        LocalBroker(named, data_dir, fs=fs).start()
    said = str(raised.value)
    assert "\n" not in said
    assert said.endswith(".")
    return said


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data_dir = tmp_path_factory.mktemp("template") / "data"
    with broker(data_dir=data_dir) as server:
        server.create_topic("t")
        server.produce("t", [b"kept"])
    return data_dir


@pytest.fixture
def used(template: Path, tmp_path: Path) -> Path:
    """A directory that a broker has used and left cleanly."""
    return Path(shutil.copytree(template, tmp_path / "data"))


def is_clean(data_dir: Path) -> bool:
    return (data_dir / ".kafka_cleanshutdown").exists()


def test_a_port_in_use_costs_no_recovery(used: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = refusal(used, listeners=f"PLAINTEXT://127.0.0.1:{port}")
        assert f"127.0.0.1:{port}" in said
        assert "--port" in said
        assert is_clean(used)
        said = refusal(used, headrace_http_port=port)
        assert str(port) in said
        assert "headrace.http.port" in said
        assert is_clean(used)
    with broker(data_dir=used) as server:
        assert [one.value() for one in server.records("t", 1)] == [b"kept"]


def test_an_address_of_another_machine(tmp_path: Path) -> None:
    assert "192.0.2.1" in refusal(tmp_path / "d", listeners="PLAINTEXT://192.0.2.1:0")
    assert "no-such-host.invalid" in refusal(tmp_path / "d", listeners="PLAINTEXT://no-such-host.invalid:0")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_directory_without_permission(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o500)
    said = refusal(tmp_path / "closed" / "d")
    assert "log.dirs" in said
    assert "--data-dir" in said


def test_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert "--data-dir" in refusal(tmp_path / "file")
    assert "--data-dir" in refusal(tmp_path / "file" / "below")


def test_a_directory_of_another_node(used: Path) -> None:
    said = refusal(used, node_id=2)
    assert "belongs to node 1" in said
    assert "node.id=1" in said


def test_directories_of_two_clusters(used: Path, tmp_path: Path) -> None:
    with broker(data_dir=tmp_path / "other"):
        pass
    said = refusal(used, log_dirs=f"{used},{tmp_path / 'other'}")
    assert "belongs to cluster" in said
    assert "one cluster" in said


def test_the_directory_with_the_metadata_comes_first(used: Path, tmp_path: Path) -> None:
    said = refusal(used, log_dirs=f"{tmp_path / 'new'},{used}")
    assert str(used) in said
    assert "first in log.dirs" in said
    with broker(log_dirs=f"{used},{tmp_path / 'new'}") as server:
        assert [one.value() for one in server.records("t", 1)] == [b"kept"]
    # The one that was added belongs to the cluster now, and is nothing without the first.
    said = refusal(used, log_dirs=f"{tmp_path / 'empty'},{tmp_path / 'new'}")
    assert "none of log.dirs holds the metadata" in said


def test_two_brokers_on_one_directory(used: Path) -> None:
    with broker(data_dir=used) as first:
        said = refusal(used)
        assert f"pid {os.getpid()}" in said
        assert socket.gethostname() in said
        with RawClient(first.port) as client:
            assert client.call(ApiVersionsRequest(), 0).error_code == 0


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe\x00", b"version=7\ncluster.id=x\nnode.id=1\n", b"version=1\nnode.id=1\n"]
)
def test_meta_properties_that_make_no_sense(used: Path, content: bytes) -> None:
    (used / "meta.properties").write_bytes(content)
    said = refusal(used)
    assert "meta.properties" in said
    assert "Restore" in said
    assert is_clean(used)


def append_to_metadata_log(data_dir: Path, value: bytes) -> None:
    """A record as a newer Kafka may have written it."""
    directory = LogDirectory.open(data_dir, node_id=1)
    config = LogConfig(retention_ms=-1)
    log = directory.open_private_log("__cluster_metadata", 0, bytes(15) + b"\x01", config)
    for batch in record_batches([value], base_offset=log.log_end_offset, epoch=1, now_ms=1, limit=1 << 20):
        log.append(memoryview(batch), leader_epoch=1, now_ms=1, origin="coordinator")
    log.close()
    directory.unlock()


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (b"\x01\xc7\x01\x00\x00", "199"),
        (b"\x01\x0c\x00\x0emagic.feature\x00\x07\x00", "magic.feature"),
        (b"\x01\x0c\x00\x11metadata.version\x00\x63\x00", "metadata.version at level 99"),
    ],
)
def test_metadata_that_this_version_does_not_know(used: Path, value: bytes, name: str) -> None:
    append_to_metadata_log(used, value)
    said = refusal(used)
    assert name in said
    assert "version that wrote it" in said
    assert is_clean(used)


def test_a_snapshot_that_is_damaged(used: Path) -> None:
    (snapshot,) = (used / "__cluster_metadata-0").glob("*.checkpoint")
    content = bytearray(snapshot.read_bytes())
    content[-1] ^= 1
    snapshot.write_bytes(content)
    said = refusal(used)
    assert snapshot.name in said


@pytest.mark.parametrize("fs", [FullDiskFs(), FailingFs(operations=("write", "fsync"))], ids=["full", "broken"])
def test_a_disk_that_takes_nothing(tmp_path: Path, fs: Fs) -> None:
    assert "log.dirs" in refusal(tmp_path / "d", fs=fs)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("listeners", "PLAINTEXT://nowhere"),
        ("listeners", "SSL://:9093"),
        ("advertised.listeners", "PLAINTEXT://0.0.0.0:9092"),
        ("process.roles", "controller"),
        ("max.connections.per.ip.overrides", "localhost"),
        ("num.io.threads", "0"),
    ],
)
def test_settings_that_cannot_be(tmp_path: Path, name: str, value: str) -> None:
    with pytest.raises(SettingError) as raised:
        LocalBroker({name: value}, tmp_path / "d").start()
    assert str(raised.value).startswith(name)
    assert not (tmp_path / "d").exists()


def test_the_command_line_prints_that_line_and_nothing_else(used: Path) -> None:
    append_to_metadata_log(used, b"\x01\xc7\x01\x00\x00")
    command = [sys.executable, "-m", "headrace", "broker", "--data-dir", str(used), "--port", "0"]
    ended = subprocess.run(command, capture_output=True, timeout=30, check=False)
    assert (ended.returncode, ended.stdout) == (1, b"")
    (line,) = ended.stderr.decode().splitlines()
    assert line.startswith("Error: ")
    assert "199" in line


def test_a_directory_that_does_not_exist_is_made(tmp_path: Path) -> None:
    with broker(log_dirs=f"{tmp_path}/a/b,{tmp_path}/c") as server:
        server.create_topic("t")
    assert is_clean(tmp_path / "a" / "b")
    assert is_clean(tmp_path / "c")


def test_a_server_properties_of_apache_kafka_starts_a_broker(tmp_path: Path) -> None:
    """With names for controllers, threads and timeouts that mean nothing here."""
    settings = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "controller.quorum.bootstrap.servers": "localhost:9093",
        "listeners": "PLAINTEXT://:0,CONTROLLER://:9093",
        "inter.broker.listener.name": "PLAINTEXT",
        "advertised.listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
        "num.network.threads": "3",
        "num.io.threads": "8",
        "socket.send.buffer.bytes": "102400",
        "socket.receive.buffer.bytes": "102400",
        "socket.request.max.bytes": "104857600",
        "num.partitions": "1",
        "num.recovery.threads.per.data.dir": "1",
        "offsets.topic.replication.factor": "1",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "log.retention.hours": "168",
        "log.segment.bytes": "1073741824",
        "log.retention.check.interval.ms": "300000",
    }
    with broker(settings, data_dir=tmp_path / "d") as server, RawClient(server.port) as client:
        assert client.call(ApiVersionsRequest(), 0).error_code == 0
        assert [one.name for one in server.call(lambda b: b.listeners)] == ["PLAINTEXT"]


def test_features_of_kafka_that_are_not_here_are_kept_and_not_promised(used: Path) -> None:
    """Apache Kafka finalizes all of its features when it formats a directory."""
    with broker(data_dir=used) as server, RawClient(server.port) as client:
        levels = {"group.version": 1, "share.version": 1}
        records = [FeatureLevelRecord(name=name, feature_level=level) for name, level in levels.items()]
        server.call(lambda b: b.metadata.write(records))
        answer = client.call(ApiVersionsRequest(client_software_name="a", client_software_version="1"), 4)
        finalized = {one.name: one.max_version_level for one in answer.finalized_features}
        assert (finalized["metadata.version"], finalized["transaction.version"]) == (30, 2)
        assert not set(levels) & set(finalized)
        supported = {one.name: one.max_version for one in answer.supported_features}
        assert (supported["transaction.version"], supported["group.version"]) == (2, 0)
        server.restart()
        assert levels.items() <= server.call(lambda b: b.image.features).items()
