"""What an undo does with places that others run later."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_core.sessions.checkpoints.undo import FileStep
from tests.support.file_bench import SESSION, FileBench
from tests.tools.environments.test_places_run_later import Session, git, write


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[FileBench]:
    bench = FileBench(tmp_path.resolve())
    yield bench
    bench.database.close()


def refuse(asked: list[FileStep], step: FileStep) -> bool:
    asked.append(step)
    return False


@pytest.mark.parametrize(
    ("name", "who"), [(".envrc", "direnv"), (".vscode/tasks.json", "VS Code"), ("sub/AGENTS.md", "coding agents")]
)
def test_an_undo_asks_before_it_brings_back_a_place_that_a_command_has_changed(
    bench: FileBench, name: str, who: str
) -> None:
    write(bench.path(name), "left in the background\n")
    bench.begin()
    bench.run(f"rm {name}")
    [step] = bench.rewinder.plan(SESSION).steps
    assert (step.action, step.state) == ("create", "found")
    assert who in step.reason
    asked: list[FileStep] = []
    bench.undo(overwrite=lambda step: refuse(asked, step))
    assert len(asked) == 1
    assert not bench.path(name).exists()


def test_an_undo_of_an_edit_of_a_place_needs_no_question(bench: FileBench) -> None:
    write(bench.path(".envrc"), "mine\n")
    bench.begin()
    bench.write(".envrc", b"new\n")
    bench.undo()
    assert bench.path(".envrc").read_text() == "mine\n"


def test_an_undo_takes_a_place_away_that_a_command_has_made(bench: FileBench) -> None:
    bench.begin()
    bench.run("echo x > .envrc")
    bench.undo()
    assert not bench.path(".envrc").exists()


@pytest.mark.parametrize(
    ("name", "was"),
    [(".git/hooks/pre-commit", None), (".git/info/attributes", "* text\n"), (".venv/bin/activate", "mine\n")],
)
def test_what_was_allowed_to_stay_where_no_change_is_looked_for_is_taken_back(
    bench: FileBench, name: str, was: str | None
) -> None:
    git(bench.work, "init")
    if was is not None:
        write(bench.path(name), was)
    bench.begin()
    session = Session(bench.work)
    session.person.allows = True
    session.run(lambda: write(bench.path(name), "new\n"), history=bench.history)
    assert (session.names(), bench.path(name).read_text()) == ([name], "new\n")
    bench.undo()
    assert (bench.path(name).read_text() if bench.path(name).exists() else None) == was
