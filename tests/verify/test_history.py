"""Histories in files: what is written comes back, whatever a crash left at the end."""

from __future__ import annotations

from pathlib import Path

from headrace.verify.history import Recorder, operations, read_events


def test_a_file_holds_what_was_noted(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    recorder = Recorder(path)
    done = recorder.invoke("p", "send", value="a")
    recorder.invoke("p", "send", value="b")
    recorder.end(done, "ok", offset=3)
    recorder.close()
    events = list(read_events(path))
    assert events == recorder.events
    first, second = operations(events)
    assert (first.ok, first.get("offset"), first.get("value")) == (True, 3, "a")
    assert (second.outcome, second.ended) == ("unknown", None)


def test_a_line_cut_short_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    recorder = Recorder(path)
    recorder.invoke("p", "send", value="a")
    recorder.close()
    path.write_text(path.read_text() + '{"time": 1, "proc')
    assert len(list(read_events(path))) == 1
