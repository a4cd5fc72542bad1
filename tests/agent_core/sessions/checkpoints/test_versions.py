"""What files were, kept before they are changed."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import threading
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from agent_core.errors import StoreError
from agent_core.sessions.checkpoints.file_states import Change, FileState, sha256
from agent_core.sessions.checkpoints.versions import CallOfTurn, NoteChanges, VersionLimits
from agent_core.sessions.schema import files_of
from tests.support.file_bench import SESSION, FileBench
from tools.ports import CommandSpec

umask = os.umask(0)
os.umask(umask)
PLAIN = 0o666 & ~umask
COLUMNS = "path, origin, before_hash, before_mode, after_hash, after_mode, lost, call_id, turn"


def versions(bench):
    """The rows about files, with paths below the session's directory, as far as `after_mode`."""
    rows = bench.rows(f"SELECT {COLUMNS} FROM file_versions WHERE coalesce(after_hash, '') != '/' ORDER BY id")
    return [(row[0].removeprefix(f"{bench.work}/"), *row[1:6]) for row in rows]


def test_content_and_row_are_there_before_the_file_is_changed(bench):
    path = bench.path("file")
    path.write_bytes(b"before")
    path.chmod(0o640)
    bench.begin()
    bench.history("call 7").writing(path, b"before", b"after")
    assert path.read_bytes() == b"before"
    assert versions(bench) == [("file", "tool", sha256(b"before"), 0o640, sha256(b"after"), 0o640)]
    assert bench.rows("SELECT call_id, turn, lost, created_at FROM file_versions") == [("call 7", 1, "", bench.now)]
    assert bench.blobs.get(sha256(b"before")) == b"before"


def test_no_file_is_told_as_null(bench):
    bench.begin()
    bench.write("new", b"1")
    bench.remove("new")
    assert versions(bench) == [
        ("new", "tool", None, None, sha256(b"1"), None),
        ("new", "tool", sha256(b"1"), PLAIN, None, None),
    ]


def test_a_move_is_a_file_that_goes_and_one_that_comes(bench):
    bench.path("a").write_bytes(b"1")
    bench.begin()
    bench.rename("a", "b")
    assert versions(bench) == [
        ("a", "tool", sha256(b"1"), PLAIN, None, None),
        ("b", "tool", None, None, sha256(b"1"), PLAIN),
    ]


def test_what_a_command_names_is_kept_while_it_runs_and_known_afterwards(bench):
    for name in ("named", "same"):
        bench.path(name).write_bytes(b"1")
    bench.begin()
    with bench.history().command(CommandSpec("echo 2 > named; touch same; cat > same", bench.work, 1.0)):
        rows = versions(bench)
        assert [(row[0], row[2], row[4]) for row in rows] == [
            ("named", sha256(b"1"), "?"),
            ("same", sha256(b"1"), "?"),
        ]
        bench.path("named").write_bytes(b"2")
    assert versions(bench) == [("named", "command", sha256(b"1"), PLAIN, sha256(b"2"), PLAIN)]


def test_what_a_command_changes_without_naming_it_is_found(bench):
    for name in ("changed", "gone", "same"):
        bench.path(name).write_bytes(name.encode())
    bench.begin()
    with bench.history().command(CommandSpec("make everything", bench.work, 1.0)):
        bench.path("changed").write_bytes(b"2")
        bench.path("gone").unlink()
        bench.path("new").write_bytes(b"3")
    assert versions(bench) == [
        ("changed", "found", sha256(b"changed"), PLAIN, sha256(b"2"), PLAIN),
        ("gone", "found", sha256(b"gone"), PLAIN, None, None),
        ("new", "found", None, None, sha256(b"3"), PLAIN),
    ]
    assert bench.blobs.get(sha256(b"changed")) == b"changed"


def test_a_command_that_only_reads_leaves_nothing(bench):
    bench.path("file").write_bytes(b"1")
    bench.begin()
    with bench.history().command(CommandSpec("cat file", bench.work, 1.0)):
        bench.path("file").write_bytes(b"2")  # somebody else, meanwhile
    assert versions(bench) == []


def test_a_command_that_raises_is_noted_and_raises_on(bench):
    bench.path("file").write_bytes(b"1")
    bench.begin()

    def run():
        with bench.history().command(CommandSpec("rm file", bench.work, 1.0)):
            bench.path("file").unlink()
            raise KeyError

    with pytest.raises(KeyError):
        run()
    assert versions(bench) == [("file", "command", sha256(b"1"), PLAIN, None, None)]


def test_directories_that_a_command_makes_by_name_go_again(bench):
    bench.begin()
    bench.path("mine").mkdir()
    bench.run("mkdir -p made/deep; echo 1 > made/deep/file; echo 1 > mine/file")
    bench.undo()
    assert bench.path("mine").exists()
    assert not bench.path("made").exists()


def test_the_programs_own_home_is_not_searched_for_changes(tmp_path):
    bench = FileBench(tmp_path)
    bench.begin()
    history = bench.versions.for_call(SESSION, "t1", "c", (tmp_path / "work",))
    assert history.skipped == (bench.home, bench.blobs.root)
    within = bench.versions.for_call(SESSION, "t1", "c", (bench.home / "skills",))
    assert within.skipped == (bench.blobs.root, *files_of(bench.database.path))
    bench.database.close()


def test_a_large_file_is_told_as_lost_with_its_hash(tmp_path):
    bench = FileBench(tmp_path, VersionLimits(max_file_bytes=10))
    bench.path("file").write_bytes(b"x" * 11)
    bench.begin()
    bench.write("file", b"1")
    (row,) = bench.rows("SELECT before_hash, lost FROM file_versions")
    assert row == (sha256(b"x" * 11), "it was too large to keep (11 bytes; up to 10 are kept)")
    assert list(bench.blobs.files()) == []
    bench.database.close()


def test_what_cannot_be_kept_is_told_and_the_edit_goes_on(bench):
    bench.path("file").write_bytes(b"before")
    bench.home.mkdir(exist_ok=True)
    bench.blobs.root.write_bytes(b"a file where the directory should be")
    bench.begin()
    bench.write("file", b"after")
    assert bench.path("file").read_bytes() == b"after"
    (failed,) = bench.undo().failed
    assert "it could not be kept. Could not keep what a file was in" in failed.reason


def test_a_turn_that_has_left_nothing_else_is_there_for_what_it_changed(bench):
    bench.turn = 7
    bench.write("file", b"1")
    assert bench.rows("SELECT id, outcome FROM turns") == [("t7", "")]
    assert [one.action for one in bench.undo().done] == ["delete"]
    assert not bench.path("file").exists()


def test_of_a_session_that_is_not_there_nothing_is_kept(bench):
    bench.versions.for_call("nobody", "t1", "c", ()).writing(bench.path("file"), None, b"1")
    assert versions(bench) == []


def test_a_path_through_a_link_is_kept_under_its_real_name(bench):
    bench.path("real").mkdir()
    bench.path("link").symlink_to("real")
    bench.begin()
    bench.history().writing(bench.path("link/file"), None, b"1")
    assert [row[0] for row in versions(bench)] == ["real/file"]


def test_a_link_that_is_written_through_is_no_link_in_the_row(bench):
    bench.path("real").write_bytes(b"1")
    bench.path("link").symlink_to("real")
    bench.begin()
    bench.history().writing(bench.path("link"), b"1", b"2")
    assert versions(bench) == [("link", "tool", sha256(b"1"), None, sha256(b"2"), None)]


def test_an_id_that_is_no_text_is_no_matter(bench):
    bench.begin()
    bench.history("c\ud800").writing(bench.path("file"), None, b"1")
    assert bench.rows("SELECT call_id FROM file_versions") == [("c?",)]


@contextmanager
def locked(bench):
    """Another program holds the write lock meanwhile."""
    with closing(sqlite3.connect(bench.database.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


@contextmanager
def full(bench):
    """The database takes nothing meanwhile."""

    def write(patience=None):
        raise StoreError("There is no space left.", "full")

    bench.database.write = write
    yield
    del bench.database.write


@pytest.mark.parametrize("fault", [locked, full])
def test_what_happens_while_nothing_can_be_stored_is_noted_in_order_and_taken_back_exactly(bench, fault):
    bench.path("file").write_bytes(b"0")
    bench.begin()
    bench.write("file", b"1")
    with fault(bench):
        bench.write("file", b"2")
        bench.history().writing(bench.path("never"), None, b"1")()  # taken back: it was not written
        bench.run("mv file moved; echo 3 > other")
        bench.write("moved", b"4")
        assert len(versions(bench)) == 1
    bench.store.settle(SESSION)
    assert [row[:2] for row in versions(bench)] == [
        ("file", "tool"),
        ("file", "tool"),
        ("file", "command"),
        ("moved", "command"),
        ("other", "command"),
        ("moved", "tool"),
    ]
    bench.undo()
    assert bench.path("file").read_bytes() == b"0"
    assert not bench.path("moved").exists()
    assert not bench.path("other").exists()


def note_what_no_row_can_hold(bench, name):
    call = CallOfTurn(f"t{bench.turn}", "c", bench.now)
    change = Change(bench.path(name), FileState("a" * 64, 1 << 70), FileState("b" * 64))
    bench.store.note(SESSION, NoteChanges(call, "tool", [change]))


@pytest.mark.parametrize("first", [True, False])
def test_a_change_that_no_row_can_hold_keeps_no_other_from_being_noted_and_an_undo_names_it(bench, first):
    bench.begin()
    with locked(bench):
        if not first:
            bench.write("before", b"1")
        note_what_no_row_can_hold(bench, "odd")
        bench.write("after", b"1")
    bench.store.settle(SESSION)
    bench.path("odd").write_bytes(b"1")
    report = bench.undo()
    assert {one.path.name for one in report.done} == ({"after"} if first else {"before", "after"})
    [(odd, reason)] = [(one.path.name, one.reason) for one in report.failed]
    assert odd == "odd"
    assert "could not be noted (OverflowError)" in reason


def test_a_file_whose_past_cannot_be_looked_at_is_named_by_an_undo(bench, monkeypatch, caplog):
    bench.path("file").write_bytes(b"0")
    bench.begin()
    lstat = Path.lstat
    with monkeypatch.context() as broken:
        broken.setattr(Path, "lstat", lambda path: 1 / (path.name != "file") and lstat(path))
        bench.write("file", b"1")
    assert "is not kept" in caplog.text
    [failed] = bench.undo().failed
    assert (failed.path.name, "could not be kept (ZeroDivisionError)" in failed.reason) == ("file", True)
    assert bench.path("file").read_bytes() == b"1"


def test_edits_from_many_threads_are_all_kept(bench):
    bench.begin()
    threads = [
        threading.Thread(target=bench.write, args=(f"d{number}/f", b"%d" % number), daemon=True)
        for number in range(16)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(versions(bench)) == 16
    bench.undo()
    assert bench.snapshot() == {}


def test_a_repository_needs_no_git_and_is_as_good_with_it(bench):
    def git(*arguments):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@example.com", *arguments], cwd=bench.work,
                       check=True, capture_output=True)  # fmt: skip

    git("init", "-q")
    bench.path("file").write_bytes(b"committed")
    git("add", "-A")
    git("commit", "-qm", "first")
    bench.path("file").write_bytes(b"not committed")
    bench.begin()
    bench.run("git checkout -q -- file")
    assert bench.path("file").read_bytes() == b"committed"
    bench.undo()
    assert bench.path("file").read_bytes() == b"not committed"
