"""A recording holds each line, in order, without secrets, and costs the session nothing when it fails."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from acp_adapter.export import recording as recorder_module
from acp_adapter.export.recording import Direction, Recorder
from tests.support.waiting import wait_until
from tools.redaction import Redactor

KEY = "our-own-key-0123456789"


def recorded(path: Path, *lines: tuple[Direction, bytes]) -> list[dict[str, Any]]:
    recorder = Recorder(path, lambda: Redactor([KEY]), "a test")
    for direction, line in lines:
        recorder.put(direction, line)
    assert recorder.close(10)
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def encoded(message: object) -> bytes:
    return json.dumps(message).encode() + b"\n"


def chunk(text: str, session: str = "s", kind: str = "agent_message_chunk") -> bytes:
    update = {"sessionUpdate": kind, "content": {"type": "text", "text": text}}
    return encoded({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": session, "update": update}})


def texts(lines: list[dict[str, Any]]) -> list[str]:
    return [line["frame"]["params"]["update"]["content"]["text"] for line in lines if "frame" in line]


def test_each_line_is_kept_in_its_order_and_what_is_no_message_too(tmp_path: Path) -> None:
    asked, answered = {"jsonrpc": "2.0", "id": 1, "method": "initialize"}, {"jsonrpc": "2.0", "id": 1, "result": {}}
    head, *lines = recorded(
        tmp_path / "r.jsonl", ("out", encoded(asked)), ("out", b"rubbish\xff"), ("in", encoded(answered))
    )
    assert (head["recording"], head["program"], head["pid"]) == (1, "a test", os.getpid())
    assert [(line["dir"], line.get("frame", line.get("line"))) for line in lines] == [
        ("out", asked),
        ("out", "rubbish\ufffd"),
        ("in", answered),
    ]
    assert {line["run"] for line in lines} == {head["run"]}
    assert [line["t"] for line in lines] == sorted(line["t"] for line in lines)


def test_a_second_connection_is_written_behind_the_first(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    first = recorded(path, ("in", chunk("one")))
    both = recorded(path, ("in", chunk("two")))
    assert both[: len(first)] == first
    assert len({line["run"] for line in both}) == 2


def test_no_secret_is_kept_whole_or_in_pieces(tmp_path: Path) -> None:
    token = "ghp_" + "a1B2" * 9
    lines = recorded(
        tmp_path / "r.jsonl",
        ("out", encoded({"method": "x", "params": {"text": f"it is {KEY}"}})),
        *(("in", chunk(piece)) for piece in ("The token: ", token[:7], token[7:], " is it.")),
        ("in", chunk("another text", kind="agent_thought_chunk")),
    )
    written = (tmp_path / "r.jsonl").read_text()
    assert KEY not in written
    assert token[7:] not in written
    assert "".join(texts(lines[2:])) == "The token: [redacted: github token] is it.another text"


def test_what_is_enormous_is_cut(tmp_path: Path) -> None:
    _, line = recorded(tmp_path / "r.jsonl", ("out", encoded({"method": "x", "params": {"data": "A" * 1_000_000}})))
    assert len(json.dumps(line)) < 30_000
    assert "980000 characters left out" in line["frame"]["params"]["data"]


def test_a_full_disk_ends_the_recording_and_nothing_else(tmp_path: Path) -> None:
    recorder = Recorder(Path("/dev/full"), Redactor)
    for _ in range(3):
        recorder.put("in", chunk("text"))
    assert recorder.close(10)


def test_a_disk_that_is_slower_than_the_connection_ends_the_recording_not_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(recorder_module, "MOST_WAITING", 1_000)
    may_go_on = threading.Event()

    def redacting() -> Redactor:
        may_go_on.wait(10)
        return Redactor()

    recorder = Recorder(tmp_path / "r.jsonl", redacting)
    for number in range(100):
        recorder.put("in", encoded({"id": number, "result": "x" * 100}))
    may_go_on.set()
    assert recorder.close(10)
    assert len((tmp_path / "r.jsonl").read_text().splitlines()) < 10
    assert [record.message for record in caplog.records if "ends early" in record.message]


def test_what_is_held_back_is_written_when_nothing_more_comes(tmp_path: Path) -> None:
    """Whoever looks at the file while the agent works, or after it was killed, finds the last text, too."""
    path = tmp_path / "r.jsonl"
    recorder = Recorder(path, Redactor)
    recorder.put("in", chunk("the last text"))
    wait_until(lambda: "the last text" in path.read_text("utf-8"))
    assert recorder.close(10)
