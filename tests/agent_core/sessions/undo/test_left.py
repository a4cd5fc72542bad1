"""Directories, pipes, changes from before a fork, a workspace that is gone: an undo brings back or names each."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from acp_adapter.commands.undo import told_of
from agent_core.sessions.checkpoints.restore import LocalDisk
from agent_core.sessions.checkpoints.undo import RewindPlan
from agent_core.sessions.checkpoints.undo_plan import RewindReport
from agent_core.sessions.fork import copy_session
from agent_core.sessions.records import NewSession
from tests.support.file_bench import SESSION, FileBench, never


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[FileBench]:
    bench = FileBench(tmp_path)
    yield bench
    bench.database.close()


def hidden(python: str) -> str:
    """A command whose text says nothing of what it does."""
    return f"python3 -c '{python}'"


def folders(bench: FileBench) -> dict[str, int]:
    """The permissions of every directory below `work`."""
    return {
        str(path.relative_to(bench.work)): stat.S_IMODE(path.stat().st_mode)
        for path in bench.work.rglob("*")
        if path.is_dir()
    }


def names(outcomes: tuple[object, ...]) -> list[str]:
    return sorted(outcome.path.name for outcome in outcomes)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf empty",
        "rmdir empty/deep empty",
        hidden('import shutil; shutil.rmtree("empty")'),
        "rm -rf empty closed",
        "rm -rf closed && mkdir closed",
        "mv closed elsewhere",
        "chmod 777 closed empty/deep",
        hidden('import os; os.chmod("closed", 0o500)'),
        "find . -type d -exec chmod 755 {} +",
        "rm -rf empty && touch empty",
    ],
)
def test_directories_come_back_with_their_permissions_and_a_redo_takes_them_again(
    bench: FileBench, command: str
) -> None:
    bench.path("empty/deep").mkdir(parents=True, mode=0o750)
    bench.path("closed").mkdir(mode=0o700)
    bench.path("closed/a.txt").write_text("a")
    before, files = folders(bench), bench.snapshot()
    bench.begin()
    bench.run(command)
    after, left = folders(bench), bench.snapshot()
    assert (after, left) != (before, files)
    report = bench.undo()
    assert (report.failed, report.kept) == ((), ())
    assert (folders(bench), bench.snapshot()) == (before, files)
    bench.redo()
    assert (folders(bench), bench.snapshot()) == (after, left)


def test_a_directory_that_was_emptied_and_has_a_file_of_someone_else_by_now_is_only_given_its_permissions(
    bench: FileBench,
) -> None:
    bench.path("empty").mkdir(mode=0o700)
    bench.begin()
    bench.run("chmod 755 empty")
    bench.path("empty/theirs").write_text("x")
    report = bench.undo()
    assert [(outcome.path.name, outcome.action) for outcome in report.done] == [("empty", "chmod")]
    assert folders(bench) == {"empty": 0o700}


def test_permissions_that_someone_else_has_changed_since_stay(bench: FileBench) -> None:
    bench.path("d").mkdir(mode=0o700)
    bench.begin()
    bench.run("chmod 755 d")
    bench.path("d").chmod(0o711)
    report = bench.undo()
    assert [outcome.reason for outcome in report.kept] == ["someone else has changed its permissions since"]
    assert folders(bench) == {"d": 0o711}


@pytest.mark.parametrize("command", ["rm pipe", "mv pipe other", hidden('import os; os.remove("pipe")')])
def test_a_pipe_that_is_gone_is_named(bench: FileBench, command: str) -> None:
    os.mkfifo(bench.path("pipe"))
    bench.begin()
    bench.run(command)
    plan = bench.rewinder.plan(SESSION)
    assert ("pipe", "lost") in [(step.path.name, step.state) for step in plan.steps]
    report = bench.undo()
    assert "it was a pipe, which is not made again" in [outcome.reason for outcome in report.failed]
    assert "pipe`: it was a pipe" in told_of(report, plan, bench.work)


@pytest.mark.parametrize("command", ["mkfifo made", "mkfifo made; rm a.txt", "cp -a pipe made"])
def test_a_pipe_that_a_command_has_made_is_named(bench: FileBench, command: str) -> None:
    os.mkfifo(bench.path("pipe"))
    bench.path("a.txt").write_text("a")
    bench.begin()
    bench.run(command)
    assert names(bench.undo().failed) == ["made"]
    assert bench.path("a.txt").exists()


def test_a_file_in_place_of_a_pipe_goes_and_the_pipe_is_named(bench: FileBench) -> None:
    os.mkfifo(bench.path("pipe"))
    bench.begin()
    bench.run("rm pipe; echo x > pipe")
    report = bench.undo()
    assert "it was a pipe, which is not made again" in [outcome.reason for outcome in report.failed]


def test_made_directories_that_are_gone_are_named_though_the_command_did_not(bench: FileBench) -> None:
    bench.path("node_modules/x").mkdir(parents=True)
    bench.begin()
    bench.run(hidden('import shutil; shutil.rmtree("node_modules")'))
    assert names(bench.undo().failed) == ["node_modules"]


def forked(bench: FileBench) -> str:
    with bench.database.write() as connection:
        new = NewSession("f", str(bench.work), source="acp")
        copy_session(connection, SESSION, new, None, bench.now)
    return "f"


def undo(bench: FileBench, session: str, turns: int = 1) -> tuple[RewindPlan, RewindReport]:
    plan = bench.rewinder.plan(session, turns)
    return plan, bench.rewinder.apply(plan, never)


def test_files_of_a_turn_from_before_the_fork_are_named_and_stay(bench: FileBench) -> None:
    bench.path("a.txt").write_bytes(b"old")
    bench.begin()
    bench.write("a.txt", b"new")
    bench.write("b.txt", b"made")
    plan, report = undo(bench, forked(bench))
    assert names(report.failed) == ["a.txt", "b.txt"]
    assert {outcome.reason for outcome in report.failed} == {
        "it was changed before this session was forked: only the session that it was forked from can undo that"
    }
    assert "Not brought back:\n- `a.txt`: it was changed before this session was forked" in told_of(
        report, plan, bench.work
    )
    assert (bench.path("a.txt").read_bytes(), bench.path("b.txt").read_bytes()) == (b"new", b"made")


def test_files_that_the_other_session_has_taken_back_itself_are_not_named(bench: FileBench) -> None:
    bench.path("a.txt").write_bytes(b"old")
    bench.begin()
    bench.write("a.txt", b"new")
    session = forked(bench)
    bench.undo()
    assert undo(bench, session)[1].failed == ()


def test_a_fork_takes_its_own_changes_back_and_names_those_from_before(bench: FileBench) -> None:
    bench.path("a.txt").write_bytes(b"old")
    bench.begin()
    bench.write("a.txt", b"new")
    session = forked(bench)
    with bench.database.write() as connection:
        connection.execute(
            "INSERT INTO turns (session_id, number, id, began_at) VALUES (?, 2, 'own', ?)", (session, bench.now)
        )
    history = bench.versions.for_call(session, "own", "c1", (bench.work,))
    history.writing(bench.path("a.txt"), b"new", b"newer")
    bench.path("a.txt").write_bytes(b"newer")
    _, report = undo(bench, session, 2)
    assert (names(report.done), names(report.failed)) == (["a.txt"], ["a.txt"])
    assert bench.path("a.txt").read_bytes() == b"new"


@pytest.mark.parametrize("leave", [shutil.rmtree, lambda work: work.rename(work.with_name("moved"))])
def test_a_workspace_that_is_gone_is_not_made_again(bench: FileBench, leave: object) -> None:
    bench.path("a.txt").write_bytes(b"old")
    bench.path("d").mkdir(mode=0o700)
    bench.begin()
    bench.write("a.txt", b"new")
    bench.run("rm -rf d; echo x > b.txt")
    leave(bench.work)  # type: ignore[operator]
    bench.rewinder = bench.rewinder.on(LocalDisk((bench.work,)))
    report = bench.undo()
    assert not bench.work.exists()
    assert names(report.failed) == ["a.txt", "b.txt", "d"]
    assert all("is not there any more: moved or deleted" in outcome.reason for outcome in report.failed)
