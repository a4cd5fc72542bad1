"""Changes of several real files: all of them, or none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

import pytest

import tools.patch  # noqa: F401 - registers the tool
from tests.support.tool_context import call, error_of, make_context
from tools.environments.atomic_writes import FileChange, change_all
from tools.environments.local_files import LocalFileSystem
from tools.errors import FileAccessError, FileChanged, ToolInterrupted
from tools.ports import FileStat, FileSystem, SearchQuery, SearchResult


@dataclass
class Faulty:
    """A file system whose changes fail from one on (counted from 0): `times` times, in the middle of the work."""

    inner: FileSystem
    at: int
    times: int = 1
    problem: Exception = field(default_factory=lambda: FileAccessError("no space left"))
    made: int = 0

    def stat(self, path: Path) -> FileStat | None:
        return self.inner.stat(path)

    def open(self, path: Path) -> BinaryIO:
        return self.inner.open(path)

    def remarks(self) -> tuple[str, ...]:
        return self.inner.remarks()

    def list(self, path: Path) -> Sequence[str]:
        return self.inner.list(path)

    def search(self, query: SearchQuery) -> SearchResult:
        return self.inner.search(query)

    def write(self, path: Path, data: bytes, *, expected: bytes | None) -> bytes:
        self._step()
        return self.inner.write(path, data, expected=expected)

    def remove(self, path: Path, *, expected: bytes) -> None:
        self._step()
        self.inner.remove(path, expected=expected)

    def rename(self, source: Path, target: Path) -> None:
        self._step()
        self.inner.rename(source, target)

    def _step(self) -> None:
        self.made += 1
        if self.at < self.made <= self.at + self.times:
            raise self.problem


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def changes(folder: Path) -> list[FileChange]:
    """An edit, a new file, a move with a change, a plain move and a deletion: six steps."""
    for name in ("edit", "moves", "plain", "gone"):
        (folder / name).write_bytes(name.encode())
    (folder / "moves").chmod(0o755)
    return [
        FileChange(folder / "edit", b"edit", b"edited"),
        FileChange(folder / "new" / "file", None, b"new"),
        FileChange(folder / "moved", b"moves", b"moved on", source=folder / "moves"),
        FileChange(folder / "plain2", b"plain", b"plain", source=folder / "plain"),
        FileChange(folder / "gone", b"gone", None),
    ]


BEFORE = {"edit": b"edit", "moves": b"moves", "plain": b"plain", "gone": b"gone"}


def test_all_changes_are_made_and_told(tmp_path: Path):
    assert change_all(LocalFileSystem(), changes(tmp_path)) == [b"edited", b"new", b"moved on", b"plain", None]
    assert content(tmp_path) == {"edit": b"edited", "file": b"new", "moved": b"moved on", "plain2": b"plain"}
    assert (tmp_path / "moved").stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("at", range(6))
@pytest.mark.parametrize("problem", [FileAccessError("no space left"), ToolInterrupted()])
def test_a_failure_at_any_step_leaves_every_file_as_it_was(tmp_path: Path, at: int, problem: Exception):
    wanted = changes(tmp_path)
    with pytest.raises(type(problem)):
        change_all(Faulty(LocalFileSystem(), at, problem=problem), wanted)
    assert content(tmp_path) == BEFORE
    assert (tmp_path / "moves").stat().st_mode & 0o777 == 0o755


def test_what_somebody_else_wrote_meanwhile_is_not_put_back_but_named(tmp_path: Path):
    wanted = changes(tmp_path)

    class Busy(Faulty):
        def remove(self, path: Path, *, expected: bytes) -> None:
            if path.name == "gone":
                (tmp_path / "edit").write_bytes(b"theirs")
                raise FileChanged("gone has changed")
            super().remove(path, expected=expected)

    with pytest.raises(FileAccessError, match=r"gone has changed .*could not be taken back in .*/edit: look"):
        change_all(Busy(LocalFileSystem(), 99), wanted)
    assert content(tmp_path) == {**BEFORE, "edit": b"theirs"}


@pytest.mark.parametrize("at", range(5))
def test_a_patch_that_fails_half_way_changes_nothing(tmp_path: Path, at: int):
    for name in ("a", "c", "e"):
        (tmp_path / name).write_text(f"{name}\n")
    patch = "*** Update File: a\n-a\n+A\n*** Add File: b\n+b\n*** Update File: c\n*** Move to: d\n-c\n+C\n"
    ctx = make_context(tmp_path)
    ctx = replace(ctx, fs=Faulty(ctx.fs, at))
    assert "no space left" in error_of(call(ctx, "patch", patch=patch + "*** Delete File: e\n*** End Patch"))
    assert content(tmp_path) == {"a": b"a\n", "c": b"c\n", "e": b"e\n"}
