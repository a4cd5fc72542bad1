"""A directory that becomes a link while undo writes: nothing outside is ever written, changed or removed."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from agent_core.sessions.checkpoints.file_states import LINK_MODE, NOTHING, FileState, look, sha256
from agent_core.sessions.checkpoints.restore import place
from tests.support.swapping import exchange, swapping
from tools.errors import FileAccessError, FileChanged

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux swaps names in one step")
_SECONDS = 0.3
_MODE = 0o640
_SAME = b"the same"

WANTED = {
    "another content": (FileState(sha256(b"new"), 0o600), b"new"),
    "nothing": (NOTHING, None),
    "another mode": (FileState(sha256(_SAME), 0o777), None),
    "a link": (FileState(sha256(b"to"), LINK_MODE), b"to"),
}


class Ground:
    """The file `inside/d/f`, and one just like it outside, to which a link beside `d` leads."""

    def __init__(self, tmp_path: Path) -> None:
        self.folder, self.link, self.outside = tmp_path / "inside/d", tmp_path / "inside/link", tmp_path / "outside"
        self.folder.mkdir(parents=True)
        self.outside.mkdir()
        self.link.symlink_to(self.outside)
        for folder in (self.folder, self.outside):
            (folder / "f").write_bytes(_SAME)
            (folder / "f").chmod(_MODE)
        self.untouched = self._outside()

    def restore(self, held: int) -> None:
        """The file of the directory whose descriptor this is, wherever its name is now, as it was."""
        with contextlib.suppress(FileNotFoundError):
            os.unlink("f", dir_fd=held)
        descriptor = os.open("f", os.O_WRONLY | os.O_CREAT, _MODE, dir_fd=held)
        os.write(descriptor, _SAME)
        os.fchmod(descriptor, _MODE)
        os.close(descriptor)

    def _outside(self) -> list[tuple[str, bytes, int]]:
        return [(each.name, each.read_bytes(), stat.S_IMODE(each.lstat().st_mode)) for each in self.outside.iterdir()]

    def check(self) -> None:
        assert self._outside() == self.untouched


@pytest.mark.parametrize("wanted", WANTED)
def test_what_is_outside_stays_as_it_is_however_the_directory_is_swapped(tmp_path: Path, wanted: str) -> None:
    ground = Ground(tmp_path)
    state, content = WANTED[wanted]
    seen = look(ground.folder / "f", 1_000)
    held = os.open(ground.folder, os.O_RDONLY)
    placed = refused = 0
    with swapping(ground.folder, ground.link):
        ends = time.monotonic() + _SECONDS
        while time.monotonic() < ends or not placed or not refused:
            try:
                place(ground.folder / "f", seen, state, content)
            except (FileChanged, FileAccessError):
                refused += 1
            else:
                placed += 1
                ground.restore(held)
            ground.check()
    os.close(held)


@pytest.mark.parametrize("wanted", WANTED)
def test_a_link_that_comes_after_the_directory_is_held_leads_nowhere(
    tmp_path: Path, wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ground = Ground(tmp_path)
    state, content = WANTED[wanted]
    seen = look(ground.folder / "f", 1_000)
    _at_first_look_into_a_held_directory(monkeypatch, lambda: exchange(ground.folder, ground.link))
    place(ground.folder / "f", seen, state, content)
    ground.check()
    assert look(ground.link / "f", 1_000).state.is_same(state)


def test_empty_directories_in_the_way_are_removed_where_they_were_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ground = Ground(tmp_path)
    for folder in (ground.folder, ground.outside):
        (folder / "tree/a/b").mkdir(parents=True)
    seen = look(ground.folder / "tree", 0)
    _at_first_look_into_a_held_directory(monkeypatch, lambda: exchange(ground.folder, ground.link))
    place(ground.folder / "tree", seen, FileState(sha256(b"new"), 0o600), b"new")
    assert (ground.link / "tree").read_bytes() == b"new"
    assert (ground.outside / "tree/a/b").is_dir()


def _at_first_look_into_a_held_directory(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Act when the system is first asked about a name in a directory that is held open."""
    stat_of, acted = os.stat, list[bool]()

    def stat_then(path: str, *, dir_fd: int | None = None, follow_symlinks: bool = True) -> os.stat_result:
        if dir_fd is not None and not acted:
            acted.append(True)
            act()
        return stat_of(path, dir_fd=dir_fd, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(os, "stat", stat_then)
