"""Several processes log to one file: none loses what another has written, and it stays within its bounds."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from acp_adapter.logs import SharedLog
from tests.support.partial_writes import in_parts

Say = Callable[[str], None]


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Callable[[], Say]]:
    """Each call makes what one process would have: a handler of its own for the same file."""
    made: list[SharedLog] = []

    def make() -> Say:
        handler = SharedLog(tmp_path / "a.log", 1_000, 2)
        made.append(handler)
        return lambda text: handler.handle(logging.makeLogRecord({"msg": text})) and None

    yield make
    for handler in made:
        handler.close()


def lines(tmp_path: Path) -> list[str]:
    """All that is kept, the oldest first."""
    files = [tmp_path / name for name in ("a.log.2", "a.log.1", "a.log")]
    return [line for file in files if file.exists() for line in file.read_text().splitlines()]


def test_what_two_write_by_turns_is_kept_in_order_over_the_files(tmp_path: Path, writer: Callable[[], Say]) -> None:
    by_turns = (writer(), writer())
    for number in range(50):
        by_turns[number % 2](f"{number:050d}")
    assert [int(line) for line in lines(tmp_path)] == list(range(50))[-len(lines(tmp_path)) :]
    assert len(lines(tmp_path)) > 2 * 1_000 // 51 - 2
    assert {file.name for file in tmp_path.iterdir()} == {"a.log", "a.log.1", "a.log.2"}
    assert all(file.stat().st_size <= 1_000 for file in tmp_path.iterdir())


def test_one_that_was_silent_while_the_file_moved_goes_on_in_the_new_one(
    tmp_path: Path, writer: Callable[[], Say]
) -> None:
    silent, busy = writer(), writer()
    silent("first")
    for number in range(25):
        busy(f"{number:050d}")
    silent("last")
    assert (tmp_path / "a.log").read_text().splitlines()[-1] == "last"


def test_every_file_is_for_the_user_alone(tmp_path: Path, writer: Callable[[], Say]) -> None:
    say = writer()
    for number in range(60):
        say(f"{number:050d}")
    assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()} == {0o600}


def test_a_file_that_was_removed_is_made_anew(tmp_path: Path, writer: Callable[[], Say]) -> None:
    say = writer()
    say("one")
    (tmp_path / "a.log").unlink()
    say("two")
    assert lines(tmp_path) == ["two"]


def test_a_full_disk_costs_the_record_and_nothing_is_said_on_stderr(
    tmp_path: Path, writer: Callable[[], Say], capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.log").symlink_to("/dev/full")
    writer()("lost")
    assert capfd.readouterr() == ("", "")


def test_a_text_that_no_encoding_can_hold_is_written_all_the_same(tmp_path: Path, writer: Callable[[], Say]) -> None:
    writer()("half a sign: \ud800")
    assert lines(tmp_path) == ["half a sign: \\ud800"]


def test_a_disk_that_takes_a_part_at_a_time_gets_the_whole_record(
    tmp_path: Path, writer: Callable[[], Say], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "write", in_parts(tmp_path / "a.log"))
    say = writer()
    say("one")
    say("two")
    assert lines(tmp_path) == ["one", "two"]


def test_after_a_record_that_was_cut_the_next_one_has_a_line_of_its_own(
    tmp_path: Path, writer: Callable[[], Say], monkeypatch: pytest.MonkeyPatch
) -> None:
    say = writer()
    with monkeypatch.context() as full:
        full.setattr(os, "write", in_parts(tmp_path / "a.log", most=2))
        say("cut")
        say("lost")
    say("next")
    say("last")
    assert lines(tmp_path) == ["cu", "next", "last"]
