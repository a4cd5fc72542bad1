"""Taking back a command that moves files: the only copy of a file is never removed."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.support.waiting import outlast_the_clock
from tools.ports import CommandSpec

LARGE = b"0123456789abcdef" * 25_000  # more than is held of a file that the command does not name


def script(text):
    return f"python3 -c 'import os; {text}'"


def all_contents(bench):
    return sorted(path.read_bytes() for path in bench.work.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    "command",
    [
        script('os.rename("a", "b")'),
        script('os.rename("a", "t"); os.rename("c", "a"); os.rename("t", "c")'),
        script('os.makedirs("x/y"); os.rename("a", "x/y/a")'),
        script('os.replace("a", "small")'),
    ],
    ids=["renamed", "swapped", "into a new directory", "over another"],
)
def test_a_large_file_that_was_moved_without_a_word_comes_back(bench, command):
    for name, content in (("a", LARGE), ("c", LARGE[::-1]), ("small", b"small")):
        bench.path(name).write_bytes(content)
    before = bench.snapshot()
    bench.begin()
    bench.run(command)
    after = bench.snapshot()
    assert after != before
    bench.undo()
    assert bench.snapshot() == before
    bench.redo()
    assert bench.snapshot() == after


def test_a_moved_file_that_cannot_come_back_is_left_where_it_is(bench):
    bench.path("a").write_bytes(LARGE)
    bench.begin()
    bench.run(script('os.rename("a", "b"); open("b", "a").write("x")'))
    report = bench.undo()
    assert bench.path("b").read_bytes() == LARGE + b"x"
    assert {outcome.path.name for outcome in report.failed} == {"a", "b"}


@pytest.mark.slow
def test_more_moved_files_than_are_kept_beforehand_come_back(bench):
    bench.path("src").mkdir()
    for number in range(1_100):
        bench.path(f"src/{number}").write_bytes(os.urandom(20_000))
    before = bench.snapshot()
    bench.begin()
    bench.run("mv src lib")
    bench.undo()
    assert bench.snapshot() == before


@pytest.mark.parametrize("folder", [".git", ".venv"])
def test_a_directory_that_nobody_looks_into_is_not_emptied_at_its_new_place(bench, folder):
    bench.path(folder).mkdir()
    bench.path(f"{folder}/precious").write_bytes(b"precious")
    outlast_the_clock(bench.work)
    bench.begin()
    bench.run(f"mv {folder} elsewhere")
    report = bench.undo()
    assert all_contents(bench) == [b"precious"]
    assert {outcome.path.name for outcome in report.failed} == {folder, "precious"}


def test_what_came_from_an_unseen_directory_of_another_device_stays_too(bench):
    bench.path(".venv").mkdir()
    bench.path(".venv/precious").write_bytes(b"precious")
    os.utime(bench.path(".venv/precious"), (1_000_000_000, 1_000_000_000))
    bench.begin()
    bench.run("cp -a .venv elsewhere && rm -r .venv")  # as a move does there
    bench.undo()
    assert all_contents(bench) == [b"precious"]


def test_new_directories_go_with_the_turn_that_made_them(bench):
    bench.path("kept").write_bytes(b"1")
    bench.begin()
    bench.run(script('os.makedirs("x/y/z"); open("x/y/file", "w").write("1"); os.makedirs("empty")'))
    bench.undo()
    assert [path.name for path in bench.work.iterdir()] == ["kept"]


def test_a_directory_in_whose_place_a_file_was_put_comes_back(bench):
    bench.path("dir").mkdir()
    bench.path("dir/file").write_bytes(b"1")
    before = bench.snapshot()
    bench.begin()
    bench.run("rm -r dir; echo 2 > dir")
    bench.undo()
    assert bench.snapshot() == before


def test_what_another_session_edits_while_a_command_runs_is_not_this_ones_change(bench):
    bench.path("shared").write_bytes(b"0")
    bench.begin()
    with bench.database.write() as connection:
        connection.execute(
            "INSERT INTO sessions (id, cwd, source, mode, root_id, created_at, updated_at)"
            " VALUES ('other', ?, 'acp', 'default', 'other', 0, 0)",
            (str(bench.work),),
        )
        connection.execute("INSERT INTO turns (session_id, number, id, began_at) VALUES ('other', 1, 'o1', 0)")
    command = "echo 1 > mine; : a script of any kind"
    with bench.history().command(CommandSpec(command, bench.work, 10.0)):
        subprocess.run(["bash", "-c", command], cwd=bench.work, check=True)
        history = bench.versions.for_call("other", "o1", "c1", (bench.work,))
        history.writing(bench.path("shared"), b"0", b"theirs")
        bench.path("shared").write_bytes(b"theirs")
    bench.undo()
    assert bench.path("shared").read_bytes() == b"theirs"
    assert not bench.path("mine").exists()
