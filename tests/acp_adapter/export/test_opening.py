"""A recording goes only into a file that is new, empty or one already; behind what a crash has left."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from acp_adapter.export.recording import open_recording
from agent_core.errors import RequestError

HEAD = b'{"recording": 1, "run": "a"}\n'


def written(path: Path) -> bytes:
    file = open_recording(path)
    os.write(file, HEAD)
    os.close(file)
    return path.read_bytes()


def test_a_new_file_is_for_its_owner_alone_and_a_recording_is_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    assert written(path) == HEAD
    assert path.stat().st_mode & 0o777 == 0o600
    assert written(path) == 2 * HEAD


def test_a_line_that_a_crash_has_cut_takes_no_other_with_it(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(HEAD + b'{"run": "a", "dir": "in", "t": 1, "fra')
    assert written(path).splitlines()[-1] == HEAD.strip()


def test_what_prompt_printed_as_json_is_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(b'{"dir": "out", "t": 0, "frame": {}}\n')
    assert written(path).endswith(HEAD)


@pytest.mark.parametrize("content", [b"import os\n", b"{}", b"\xff\xfe\n", b"[" * 100_000])
def test_a_file_with_something_else_in_it_stays_as_it_is(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "main.py"
    path.write_bytes(content)
    with pytest.raises(RequestError, match=r"main\.py holds something that is no recording"):
        open_recording(path)
    assert path.read_bytes() == content


def test_the_connection_itself_is_no_place_for_a_recording(tmp_path: Path) -> None:
    path = tmp_path / "input.jsonl"
    path.touch()
    kept = os.dup(0)
    with path.open() as file:
        os.dup2(file.fileno(), 0)
    try:
        with pytest.raises(RequestError, match="where the messages themselves go"):
            open_recording(path)
    finally:
        os.dup2(kept, 0)
        os.close(kept)


def test_a_pipe_that_nobody_reads_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(OSError, match="No such device"):
        open_recording(path)


def test_a_pipe_that_somebody_reads_is_as_good_as_a_file(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    file = open_recording(path)
    try:
        assert os.get_blocking(file), "who reads slowly is waited for"
        os.write(file, HEAD)
        assert os.read(reader, 100) == HEAD
    finally:
        os.close(file)
        os.close(reader)
