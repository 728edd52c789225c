"""A coverage-guided fuzzer of everything that reads bytes from outside: `make fuzz`, or this file with --seconds.

The first bytes of an input choose a decoder, the rest is what it has to read. Any exception but WireError is a finding,
and so is a message that changes when it is encoded and decoded again. A finding ends the run with exit code 1 and leaves
the input that caused it.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from headrace.wire import batch
from headrace.wire.apis import APIS
from headrace.wire.errors import WireError
from headrace.wire.frame import parse_request_header
from headrace.wire.records import consumer_protocol, control, group, metadata, transaction
from headrace.wire.schema import Message, Struct

Target = Callable[[bytes], object]


def message_target(cls: type[Message], version: int) -> Target:
    def target(data: bytes) -> None:
        message = cls.decode(memoryview(data), version)
        again = message.encode(version)
        if cls.decode(again, version).encode(version) != again:
            raise AssertionError(f"{cls.__name__} v{version} is not stable: {data.hex()}")

    return target


def records_target(data: bytes) -> None:
    """The data as the records of a batch whose header fits them; the first two bytes are attributes and count."""
    view = batch.encode_batch([]) + data[2:]
    view[8:12] = (len(view) - 12).to_bytes(4, "big")
    view[22], view[60] = (data + b"\0\0")[:2]
    batch.decode_records(view, limit=1 << 20)


MESSAGES = [
    (cls, version)
    for api in APIS.values()
    for cls in (api.request, api.response)
    for version in range(api.min_version, api.max_version + 1)
]
TARGETS: list[Target] = [
    *(message_target(*case) for case in MESSAGES),
    parse_request_header,
    batch.decode_records,
    records_target,
    metadata.decode_record,
    group.decode_key,
    lambda data: group.decode_value(group.OffsetCommitValue, data),
    lambda data: group.decode_value(group.GroupMetadataValue, data),
    transaction.decode_key,
    transaction.decode_value,
    lambda data: control.decode_control(data[:4], data[4:]),
    lambda data: consumer_protocol.decode_protocol(consumer_protocol.ConsumerProtocolSubscription, data),
    lambda data: consumer_protocol.decode_protocol(consumer_protocol.ConsumerProtocolAssignment, data),
]


def example(cls: type[Struct]) -> Struct:
    """A struct with one element in every list and something in every string, from which mutations start."""
    filled: dict[str, object] = {}
    for name, field in cls.FIELDS.items():
        inner = field.element or field
        value: object = {"string": "t", "bytes": b"b", "records": b"r", "bool": True, "uuid": b"u" * 16}.get(
            inner.kind, 1
        )
        if inner.struct is not None:
            value = example(inner.struct)
        filled[name] = [value] if field.element else value
    return cls(**filled)


def write_seeds(folder: Path) -> None:
    for number, (cls, version) in enumerate(MESSAGES):
        message = example(cls)
        assert isinstance(message, cls)
        (folder / f"{cls.__name__}-{version}").write_bytes(number.to_bytes(2, "big") + message.encode(version))
    for codec in range(5):
        records = bytes(batch.encode_batch([batch.Record(key=b"k", value=b"v", headers=[("h", b"x")])], codec=codec))
        number = TARGETS.index(batch.decode_records)
        (folder / f"batch-{codec}").write_bytes(number.to_bytes(2, "big") + records)
        number = TARGETS.index(records_target)
        (folder / f"records-{codec}").write_bytes(number.to_bytes(2, "big") + bytes((codec, 1)) + records[61:])


def one_input(data: bytes) -> None:
    """Runs one input; returns if all is well, raises if it is a finding."""
    target = TARGETS[int.from_bytes(data[:2], "big") % len(TARGETS)]
    with contextlib.suppress(WireError):
        target(data[2:])


def fuzz_here(arguments: list[str]) -> None:
    """Runs atheris in this process, which it ends."""
    import atheris

    for cls, version in MESSAGES:
        cls._decoders[version] = atheris.instrument_func(cls.decoder(version))
    for module in (batch, metadata, group, control, consumer_protocol):
        for value in list(vars(module).values()):
            if callable(value) and getattr(value, "__module__", "") == module.__name__ and hasattr(value, "__code__"):
                atheris.instrument_func(value)
    atheris.Setup([sys.argv[0], *arguments], one_input)
    atheris.Fuzz()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=int(os.environ.get("SECONDS", "60")))
    parser.add_argument("--findings", type=Path, default=Path(".cache/fuzz"), help="where inputs that failed are kept")
    options, rest = parser.parse_known_args()
    if rest[:1] == ["here"]:
        fuzz_here(rest[1:])
    if importlib.util.find_spec("atheris") is None:
        print("atheris is not installed: there is none for this version of Python, 3.11 and 3.12 have it")
        return 2
    options.findings.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as corpus:
        write_seeds(Path(corpus))
        limits = [f"-max_total_time={options.seconds}", "-max_len=4096", "-timeout=10", "-rss_limit_mb=2048"]
        command = [sys.executable, __file__, "here", *limits, f"-artifact_prefix={options.findings}/", corpus]
        started = time.monotonic()
        run = subprocess.run([*command, "-print_final_stats=1"], stderr=subprocess.PIPE, text=True, check=False)
        elapsed = time.monotonic() - started
        kept = len(list(Path(corpus).iterdir()))
    executed = [line.split()[-1] for line in run.stderr.splitlines() if "number_of_executed_units" in line]
    count = int(executed[0]) if executed else 0
    print(f"{count} inputs in {elapsed:.0f} s, {count / elapsed:.0f} per second, {kept} kept for their coverage")
    if run.returncode != 0:
        print(run.stderr[-4000:])
        print(f"FOUND something: the input is in {options.findings}/")
        return 1
    print("found nothing")
    return 0


if __name__ == "__main__":
    sys.exit(main())
