"""A machine at whose other end something else answers by now: errors that say so, in bounded time and memory."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.local_machine import LocalMachine
from tests.support.memory import memory_kept
from tools.environments.guardian import Guardian
from tools.environments.remote import connection
from tools.environments.remote.connection import Streams, TooMuch, exchanged
from tools.environments.remote.scripts import Framing
from tools.environments.remote.session import FarSide
from tools.errors import CommandError, FileAccessError


def _started(*words: str) -> subprocess.Popen[bytes]:
    return Streams(subprocess.PIPE, subprocess.PIPE, None).popen(words, os.environ)


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory whose programs are found first on the machine."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    return tmp_path / "bin"


@pytest.fixture
def side() -> Iterator[FarSide]:
    guardian = Guardian()
    made = FarSide(LocalMachine(), guardian)
    yield made
    made.close()
    guardian.kill_all()


def _put(place: Path, script: str) -> None:
    place.write_text(f"#!/bin/sh\n{script}\n")
    place.chmod(0o755)


class _OddMachine(LocalMachine):
    """One whose shell says something else than it was asked for, once it is to serve files."""

    answer = b""

    def __init__(self, place: Path) -> None:
        super().__init__()
        self._place = place / "answer"

    def start(self, script: str, streams: Streams, *, terminal: bool = False) -> subprocess.Popen[bytes]:
        if self.answer and script.endswith("done\n"):
            self._place.write_bytes(self.answer)
            script = (
                f'echo hermes-files; IFS= read -r line; t=${{line##* }}; printf "$(cat {self._place})" "$t"; '
                "exec sleep 1000"
            )
        return super().start(script, streams, terminal=terminal)


@pytest.mark.parametrize(
    "answer",
    ["", "nothing", "ok", "refused", "no", r"ok x 1 1\n", r"ok 41ed a 1\n", r"ok 41ed 1 never\n", r"\377\376 ok 1\n"],
)
def test_what_is_no_answer_is_an_error_that_names_it(tmp_path: Path, answer: str) -> None:
    guardian, machine = Guardian(), _OddMachine(tmp_path)
    side = FarSide(machine, guardian)
    files = side.files()
    machine.answer = f"{answer}\\000%s\\000".encode()
    try:
        with pytest.raises(FileAccessError):
            files.stat(Path("/tmp"))
        machine.answer = b""
        side.close()
        facts = files.stat(Path("/tmp"))
        assert facts is not None
        assert facts.kind == "directory"
    finally:
        side.close()
        guardian.kill_all()


def test_files_of_a_shell_that_says_too_much_are_not_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "MOST_BYTES", 100_000)
    guardian, machine = Guardian(), _OddMachine(tmp_path)
    machine.answer = b"%s" + b"x" * 200_000
    side = FarSide(machine, guardian)
    try:
        with pytest.raises(FileAccessError, match="more than 100,000 bytes"):
            side.files().stat(Path("/tmp"))
    finally:
        side.close()
        guardian.kill_all()


def test_a_machine_without_the_usual_programs_is_named_as_one(there: Path) -> None:
    guardian = Guardian()
    made = FarSide(LocalMachine(), guardian)
    _put(there / "stat", "echo what")
    try:
        with pytest.raises(FileAccessError, match="It needs stat"):
            made.files().stat(there / "stat")
    finally:
        made.close()
        guardian.kill_all()


def test_a_program_that_prints_without_an_end_is_not_read_to_it() -> None:
    with _started("yes") as process:
        with pytest.raises(TooMuch, match="more than 100,000 bytes"):
            exchanged(process, b"", 60.0, 100_000)
        process.kill()


def test_a_script_that_prints_without_an_end_is_an_error(side: FarSide, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MOST_BYTES", 100_000)
    with pytest.raises(CommandError, match="does not answer as expected"):
        side.link.output_of("yes")
    assert side.link.output_of("echo still there") == b"still there\n"


def test_what_is_given_and_what_is_printed_may_both_be_long() -> None:
    given = bytes(range(256)) * 20_000
    with _started("cat") as process:
        assert exchanged(process, given, 60.0) == given


def test_a_program_that_reads_nothing_has_its_words_told() -> None:
    with _started("sh", "-c", "exec <&-; echo said") as process:
        assert exchanged(process, b"x" * 1_000_000, 60.0) == b"said\n"


def test_a_program_that_does_not_end_is_given_up() -> None:
    with _started("sleep", "1000") as process:
        with pytest.raises(subprocess.TimeoutExpired):
            exchanged(process, b"", 0.01)
        process.kill()


def test_a_greeting_without_an_end_is_not_kept() -> None:
    framing = Framing("tok")
    with memory_kept() as kept:
        for _ in range(100):
            assert framing.feed(b"x" * 65_536) == b""
        assert kept() < 1_000_000
    assert framing.feed(b"\0tok:begun 7\0out") == b"out"
    assert framing.pid == 7


@pytest.mark.long
def test_a_report_without_an_end_is_not_kept() -> None:
    framing = Framing("tok")
    framing.feed(b"\0tok:begun 7\0out\0tok:report\0")
    with memory_kept() as kept:
        for _ in range(300):
            framing.feed(b"x" * 65_536)
        assert kept() < 19_000_000
    framing.feed(b"\0tok:exit 3\0")
    assert framing.status == 3
    assert framing.report == b""
