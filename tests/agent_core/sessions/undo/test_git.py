"""What git commands take from a work tree is kept first, and an undo brings it back."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_core.sessions.checkpoints.versions import VersionLimits
from tests.support.file_bench import FileBench
from tools.environments.git_effects import git_effects
from tools.errors import Denied
from tools.ports import CommandSpec

LARGE = 300 * 1024
"""No look that does not know what a command takes keeps as much."""


class GitBench(FileBench):
    """A session in a repository with two branches, and changes that are in none of them: an edited, a new, a deleted
    and an ignored file, each too large to be seen by chance.
    """

    def __init__(self, directory: Path, limits: VersionLimits | None = None) -> None:
        super().__init__(directory, limits)
        self.git("init", "-q", "-b", "main")
        self.put("src/kept.bin", b"committed ")
        self.put("src/gone.bin", b"gone ")
        self.put("src/moved.bin", b"moved ")
        (self.work / ".gitignore").write_text("*.log\n")
        self.commit()
        self.git("checkout", "-q", "-b", "other")
        self.put("src/kept.bin", b"other ")
        self.put("src/more.bin", b"more ")
        self.commit()
        self.git("checkout", "-q", "main")
        self.put("src/kept.bin", b"edited ")
        self.put("src/new.bin", b"new ")
        self.put("fresh/deep/new.bin", b"deep ")
        self.put("build.log", b"log ")

    def git(self, *arguments: str) -> None:
        words = ("git", "-c", "user.name=a", "-c", "user.email=a@example.com", *arguments)
        subprocess.run(words, cwd=self.work, check=True, capture_output=True)

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "x")

    def put(self, name: str, word: bytes) -> None:
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((word * LARGE)[:LARGE])

    def files(self) -> dict[str, bytes]:
        return {
            str(path.relative_to(self.work)): path.read_bytes()
            for path in sorted(self.work.rglob("*"))
            if path.is_file() and ".git" not in path.parts
        }


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[GitBench]:
    bench = GitBench(tmp_path)
    yield bench
    bench.database.close()


@pytest.mark.parametrize(
    "command",
    [
        "git checkout -- .",
        "git checkout .",
        "git checkout -f",
        "git checkout HEAD -- src",
        "cd src && git checkout -- kept.bin",
        "git restore .",
        "git restore --source=other src/kept.bin",
        "git reset -q --hard",
        "git reset -q --hard other",
        "git stash -q",
        "git stash push -q -u",
        "git stash push -q -- src/kept.bin",
        "git stash push -q --all",
        "git clean -qfd",
        "git clean -qf src fresh",
        "git clean -qfdx",
        "git clean -qfX",
        "git switch -q -f other",
        "git switch -q --discard-changes -c mine other",
        "git rm -q -f src/kept.bin src/gone.bin",
        "git mv src/kept.bin src/elsewhere.bin",
        "git ls-files -m | xargs git checkout -q --",
        "git reset -q --hard && git clean -qfdx",
        "sh -c 'git restore .'",
    ],
)
def test_all_that_a_command_takes_comes_back(bench: GitBench, command: str) -> None:
    before = bench.files()
    bench.begin()
    bench.run(command)
    assert bench.files() != before
    report = bench.undo()
    assert (report.failed, report.kept) == ((), ())
    assert bench.files() == before


def test_a_redo_takes_it_again(bench: GitBench) -> None:
    before = bench.files()
    bench.begin()
    bench.run("git stash -q -u")
    after = bench.files()
    bench.undo()
    assert bench.files() == before
    bench.redo()
    assert bench.files() == after


def test_a_deleted_file_that_a_command_brings_back_is_gone_again(bench: GitBench) -> None:
    bench.path("src/gone.bin").unlink()
    before = bench.files()
    bench.begin()
    bench.run("git checkout -- src")
    assert "src/gone.bin" in bench.files()
    bench.undo()
    assert bench.files() == before


@pytest.mark.parametrize("command", ["git clean -fd", "git stash -u", "git clean -fdX -- src"])
def test_what_is_beyond_the_bound_is_known_before(bench: GitBench, command: str) -> None:
    if command.endswith("src"):
        (bench.work / ".gitignore").write_text("*\n")
    assert git_effects(command, bench.work, (bench.work,)).unkept == ""
    for number in range(5):
        sparse(bench.work / f"src/{number}.bin", 45_000_000)
    assert git_effects(command, bench.work, (bench.work,)).unkept.startswith("all of its 22")
    sparse(bench.work / "src/huge.bin", 60_000_000)
    assert git_effects(command, bench.work, (bench.work,)).unkept.startswith("huge.bin (60 MB), all of its 22")


def sparse(path: Path, size: int) -> None:
    with path.open("wb") as stream:
        stream.truncate(size)


def test_a_file_that_is_too_large_to_keep_is_named_before_and_listed_afterwards(tmp_path: Path) -> None:
    bench = GitBench(tmp_path, VersionLimits(max_file_bytes=LARGE))
    with bench.path("src/new.bin").open("ab") as stream:
        stream.write(b"more than that")
    bench.begin()
    bench.run("git clean -qfd")
    report = bench.undo()
    assert [outcome.path.name for outcome in report.failed] == ["new.bin"]
    assert "larger than" in report.failed[0].reason
    assert "fresh/deep/new.bin" in bench.files()
    bench.database.close()


def test_made_directories_are_named_and_not_copied(bench: GitBench) -> None:
    bench.put("node_modules/a/index.js", b"x ")
    (bench.work / "nested").mkdir()
    bench.git("init", "-q", "nested")
    bench.put("nested/a.bin", b"nested ")
    found = git_effects("git clean -ffdx", bench.work, (bench.work,))
    assert found.unkept == "node_modules/, nested/"
    assert [path.name for path in found.folders] == ["node_modules", "nested"]
    bench.begin()
    bench.run("git clean -qffdx")
    report = bench.undo()
    assert {"nested", "node_modules"} <= {outcome.path.name for outcome in report.failed}
    assert "src/new.bin" in bench.files()


def make_slow(monkeypatch: pytest.MonkeyPatch, below: Path, ending: str = "") -> None:
    """A file below a directory takes two seconds to open, by a clock that knows nothing else."""
    now, open_file = [0.0], os.open

    def slowly(path: str, *arguments: int, **named: int) -> int:
        if str(path).startswith(str(below)) and str(path).endswith(ending):
            now[0] += 2.0
        return open_file(path, *arguments, **named)

    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(os, "open", slowly)


def test_what_there_is_no_time_to_keep_is_kept_after_the_command(
    bench: GitBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = bench.files()
    bench.begin()
    with monkeypatch.context() as patched:
        make_slow(patched, bench.blobs.root)
        bench.run("git stash -q -a")
    assert bench.undo().failed == ()
    assert bench.files() == before


def test_what_there_is_no_time_to_read_is_said_before_the_command_runs(
    bench: GitBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_slow(monkeypatch, bench.work, ".bin")
    bench.begin()
    told: list[str] = []

    def refuse(why: str) -> None:
        told.append(why)
        raise Denied("not like this")

    spec = CommandSpec("git stash -u", bench.work, 10.0)
    with pytest.raises(Denied), bench.history().command(spec, refuse):
        pytest.fail("it must not run")
    assert "copying them takes too long" in told[0]
    assert bench.undo().failed == ()


def test_a_repository_above_the_session_or_none_takes_nothing_from_elsewhere(bench: GitBench) -> None:
    inside = bench.work / "src"
    found = git_effects("git reset --hard", inside, (inside,))
    assert [path.name for path in found.taken] == ["kept.bin"]
    assert git_effects("git clean -fd", inside, (bench.work / "fresh",)).taken == ()
    assert git_effects("git clean -fd", Path("/"), (bench.work,)).taken == ()
