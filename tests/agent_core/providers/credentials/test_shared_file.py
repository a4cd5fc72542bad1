"""A JSON file that several processes read and change."""

from __future__ import annotations

import json
import os
import signal
import stat
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from agent_core.errors import TurnInterrupted
from agent_core.providers.shared_file import SharedFile, SharedFileError

KILLED_WHILE_WRITING = """
import os, signal, sys
from pathlib import Path
from agent_core.providers.shared_file import SharedFile

path = Path(sys.argv[1])
with SharedFile(path, durable=True).locked(30) as draft:
    path.with_name(path.name + ".tmp").write_text('{"version": 1, "ha')
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def path(home):
    return home / "shared.json"


@pytest.fixture
def file(path):
    return SharedFile(path, durable=True)


@pytest.fixture
def umask():
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


def put(file: SharedFile, **values: object) -> None:
    with file.locked(5) as draft:
        draft.content.update(values)
        draft.save()


def mode(path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_missing_file_is_empty_and_comes_with_the_first_save(path, file):
    assert file.read() == {}
    put(file, answer=42)
    assert file.read() == {"version": 1, "answer": 42}
    assert json.loads(path.read_text(encoding="utf-8")) == file.read()


def test_a_draft_that_is_not_saved_changes_nothing(file):
    put(file, answer=42)
    with file.locked(5) as draft:
        draft.content["answer"] = 7
    assert file.read()["answer"] == 42


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077, 0o777])
def test_file_and_lock_are_for_their_owner_alone_whatever_the_umask(path, file, umask, mask):
    umask(mask)
    put(file, answer=42)
    assert (mode(path), mode(path.with_name("shared.json.lock"))) == (0o600, 0o600)


def test_a_file_that_others_could_read_no_longer_is_after_a_save(path, file):
    path.write_text('{"version": 1}', encoding="utf-8")
    path.chmod(0o644)
    put(file, answer=42)
    assert mode(path) == 0o600


def test_a_missing_directory_is_made_for_its_owner_alone(path):
    put(SharedFile(path.parent / "deeper" / "shared.json", durable=True), answer=42)
    assert mode(path.parent / "deeper") == 0o700


def test_each_reader_sees_what_another_one_saved_even_at_once(path):
    writer, reader = SharedFile(path, durable=False), SharedFile(path, durable=False)
    for number in range(50):
        put(writer, number=f"{number:02}")
        assert reader.read()["number"] == f"{number:02}"


def test_a_file_that_changes_twice_within_a_tick_of_its_clock_is_read_again(path, file):
    tick = time.time_ns() + 60_000_000_000
    for number in (1, 2):
        path.write_text(f'{{"number": {number}}}', encoding="utf-8")
        os.utime(path, ns=(tick, tick))
        assert file.read() == {"number": number}


def test_an_unchanged_file_is_not_read_again(path, file):
    put(file, answer=42)
    os.utime(path, (1, 1))
    assert file.read() is file.read()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'"text"', b"\xff\xfe", b'{"version": "x"}', b"[" * 100_000])
def test_a_file_that_is_no_content_is_moved_aside_and_begun_anew(path, file, content, caplog):
    path.write_bytes(content)
    path.chmod(0o644)
    assert file.read() == {}
    put(file, answer=42)
    aside = path.with_name("shared.json.corrupt")
    assert aside.read_bytes() == content
    assert mode(aside) == 0o600
    assert file.read()["answer"] == 42
    assert "moved to" in caplog.text


def test_a_file_of_a_newer_version_is_left_alone(path, file):
    path.write_text('{"version": 2}', encoding="utf-8")
    with pytest.raises(SharedFileError, match="newer version"):
        file.read()
    with pytest.raises(SharedFileError, match="newer version"):
        put(file, answer=42)
    assert path.read_text(encoding="utf-8") == '{"version": 2}'


def test_a_process_that_was_killed_while_it_wrote_leaves_the_old_content_and_no_lock(path, file, other):
    put(file, answer=42)
    assert other(KILLED_WHILE_WRITING, path).wait() == -signal.SIGKILL
    assert path.with_name("shared.json.tmp").exists()
    assert file.read()["answer"] == 42
    put(file, answer=43)
    assert file.read()["answer"] == 43
    assert sorted(entry.name for entry in path.parent.iterdir()) == ["shared.json", "shared.json.lock"]


def test_a_lock_that_another_thread_holds_is_given_up_after_the_time_out(file):
    with file.locked(5), pytest.raises(SharedFileError, match=r"could not be locked within 0\.05 s"):
        in_thread(lambda: put_within(file, 0.05))


def test_the_wait_for_a_lock_ends_at_the_cancel(file):
    asked = threading.Semaphore(0)

    def cancelled() -> bool:
        asked.release()
        return True

    with file.locked(5), pytest.raises(TurnInterrupted):
        in_thread(lambda: put_within(file, 30, cancelled))
    assert asked.acquire(blocking=False)


def test_a_link_stays_a_link_and_the_file_behind_it_is_changed(path, file):
    real = path.parent / "real.json"
    path.symlink_to(real)
    put(file, answer=42)
    assert path.is_symlink()
    assert SharedFile(real, durable=True).read()["answer"] == 42


def test_a_directory_or_a_pipe_in_the_files_place_is_an_error_and_no_wait(path, file):
    path.mkdir()
    with pytest.raises(SharedFileError, match="not a regular file"):
        file.read()
    path.rmdir()
    os.mkfifo(path)
    with pytest.raises(SharedFileError, match="not a regular file"):
        put(file, answer=42)


def test_a_home_that_is_no_directory_is_an_error_that_names_the_file(path):
    path.write_text("a file", encoding="utf-8")
    below = SharedFile(path / "shared.json", durable=True)
    assert below.read() == {}
    with pytest.raises(SharedFileError, match=r"shared\.json/shared\.json could not be locked"):
        put(below, answer=42)


def put_within(file: SharedFile, timeout: float, cancelled=None) -> None:
    with file.locked(timeout, cancelled) as draft:
        draft.save()


def in_thread(work) -> None:
    """Run `work` on another thread; raise here what it raised."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(work).result()
