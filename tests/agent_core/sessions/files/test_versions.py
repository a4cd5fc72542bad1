"""What files were, kept before they are changed."""

from __future__ import annotations

import logging
import os
import sqlite3
import subprocess
import threading

import pytest

from agent_core.sessions.database.file_header import files_of
from agent_core.sessions.files.keeping import Keeper
from agent_core.sessions.files.looking import sha256
from agent_core.sessions.files.versions import VersionLimits
from tests.support.file_bench import SESSION, FileBench
from tools.context import CommandSpec

umask = os.umask(0)
os.umask(umask)
PLAIN = 0o666 & ~umask
COLUMNS = "path, origin, before_hash, before_mode, after_hash, after_mode, lost, call_id, turn"


@pytest.fixture
def bench(tmp_path):
    bench = FileBench(tmp_path)
    yield bench
    bench.database.close()


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


def test_a_turn_that_is_not_stored_keeps_nothing(bench, caplog):
    caplog.set_level(logging.INFO)
    bench.versions.for_call(SESSION, "nowhere", "c", ()).writing(bench.path("file"), None, b"1")
    bench.versions.for_call("nobody", "t1", "c", ()).writing(bench.path("file"), None, b"1")
    assert versions(bench) == []
    assert "is not stored" in caplog.text


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


def test_rows_wait_while_the_database_is_locked_and_come_in_order(bench):
    bench.path("file").write_bytes(b"0")
    bench.begin()
    now = [0.0]
    keeper = Keeper(bench.database, bench.blobs, VersionLimits(), timer=lambda: now[0])
    other = sqlite3.connect(bench.database.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    written = []
    assert not keeper.write(lambda connection: written.append(1))
    assert not keeper.write(lambda connection: written.append(2))  # at once: the database is left alone for a while
    assert not keeper.flush()
    other.execute("ROLLBACK")
    other.close()
    assert written == []
    now[0] = 3.0
    assert keeper.write(lambda connection: written.append(3))
    assert written == [1, 2, 3]
    assert keeper.flush()


def test_a_row_that_cannot_be_written_at_all_does_not_keep_back_others(bench):
    keeper = Keeper(bench.database, bench.blobs, VersionLimits())

    def broken(connection):
        raise ValueError

    with pytest.raises(ValueError):
        keeper.write(broken)
    assert keeper.flush()


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
