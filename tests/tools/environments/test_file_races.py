"""Directories that become links while files are read and written: nothing outside is ever seen or touched."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent_core.cancel import CancelToken
from tests.support.searches import by_grep, by_rg
from tests.support.swapping import exchange, swapping
from tests.support.tool_context import ScriptedApprover
from tools.approval.actions import Action
from tools.approval.gate import Approvals, Gate
from tools.approval.policy import Rules
from tools.environments.gated_ports import GatedFileSystem
from tools.environments.local_files import LocalFileSystem
from tools.environments.ripgrep import held_for_search, rg_program
from tools.errors import Denied, FileAccessError, FileRefused, ToolError
from tools.ports import NoHistory, SearchQuery, TakeBack

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(sys.platform != "linux", reason="only Linux swaps names in one step"),
]
SECRET = b"secret"
fs = LocalFileSystem()


@dataclass(frozen=True)
class Ground:
    """A workspace with the file `d/f`, and a directory outside of it that has one of the same name."""

    inside: Path
    outside: Path

    @property
    def folder(self) -> Path:
        return self.inside / "d"

    @property
    def file(self) -> Path:
        return self.folder / "f"

    @property
    def link(self) -> Path:
        """Leads outside."""
        return self.inside / "link"

    def swap(self, *_: object) -> None:
        """A link in the directory's place."""
        exchange(self.folder, self.link)

    def swap_once(self, *_: object) -> None:
        if not self.folder.is_symlink():
            self.swap()

    def check_outside(self) -> None:
        assert [entry.name for entry in self.outside.iterdir()] == ["f"]
        assert (self.outside / "f").read_bytes() == SECRET


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    ground = Ground(tmp_path / "inside", tmp_path / "outside")
    ground.folder.mkdir(parents=True)
    ground.outside.mkdir()
    ground.link.symlink_to(ground.outside)
    ground.file.write_bytes(b"0")
    (ground.outside / "f").write_bytes(SECRET)
    return ground


def until_both(attempt: Callable[[], None], least: int = 30) -> None:
    """Repeat until it went well and was refused so often each."""
    well = refused = 0
    deadline = time.monotonic() + 20
    while min(well, refused) < least:
        assert time.monotonic() < deadline, f"{well} went well, {refused} were refused"
        try:
            attempt()
            well += 1
        except FileAccessError:
            refused += 1


def test_what_is_read_in_a_race_is_never_what_is_outside(ground: Ground) -> None:
    def read() -> None:
        assert (facts := fs.stat(ground.file)) is None or facts.size == 1
        with fs.open(ground.file) as stream:
            assert stream.read() == b"0"
        assert fs.list(ground.folder) == ["f"]

    (ground.outside / "g").touch()
    with swapping(ground.folder, ground.link):
        until_both(read)


def test_what_is_written_in_a_race_is_never_outside(ground: Ground) -> None:
    content = [b"0"]

    def write() -> None:
        data = b"%d" % (int(content[0]) + 1)
        fs.write(ground.file, data, expected=content[0])
        content[0] = data

    with swapping(ground.folder, ground.link):
        until_both(write)
    assert ground.file.read_bytes() == content[0]
    assert [entry.name for entry in ground.folder.iterdir()] == ["f"]
    ground.check_outside()


def test_what_is_made_moved_and_deleted_in_a_race_is_never_outside(ground: Ground) -> None:
    def make_move_delete() -> None:
        with contextlib.suppress(FileAccessError):
            fs.remove(ground.file, expected=SECRET)
        fs.write(ground.folder / "deep/new", b"x", expected=None)
        _persist(lambda: fs.rename(ground.folder / "deep/new", ground.folder / "away/new"))
        _persist(lambda: fs.remove(ground.folder / "away/new", expected=b"x"))

    with swapping(ground.folder, ground.link):
        until_both(make_move_delete, 10)
    assert sorted(entry.name for entry in ground.folder.iterdir()) == ["away", "deep", "f"]
    ground.check_outside()


def _persist(action: Callable[[], None]) -> None:
    deadline = time.monotonic() + 10
    while True:
        try:
            return action()
        except FileAccessError:
            assert time.monotonic() < deadline


class SwapsBeforeTheEffect(NoHistory):
    """A history that is told right before the effect, when all is asked and looked at."""

    def __init__(self, swap: Callable[[], None]) -> None:
        self._swap = swap

    def writing(self, path: Path, before: bytes | None, after: bytes | None) -> TakeBack:
        self._swap()
        return super().writing(path, before, after)

    def moving(self, source: Path, target: Path) -> TakeBack:
        self._swap()
        return super().moving(source, target)


def gated(ground: Ground, on_allowed: Callable[[Action], None], history: NoHistory | None = None) -> GatedFileSystem:
    approvals = Approvals(Rules(roots=(ground.inside,)), "accept_edits", ScriptedApprover("reject_once"))
    gate = Gate(approvals, "c", CancelToken(), on_allowed, history=lambda: history or NoHistory())
    return GatedFileSystem(fs, gate)


@pytest.mark.parametrize(
    "reveal",
    [
        lambda files, ground: files.open(ground.file),
        lambda files, ground: files.open_saved(ground.file),
        lambda files, ground: files.stat(ground.file),
        lambda files, ground: files.list(ground.folder),
        lambda files, ground: files.search(SearchQuery("secret", ground.folder)),
        lambda files, ground: files.search(SearchQuery("secret", ground.file)),
    ],
    ids=["open", "open_saved", "stat", "list", "search", "search a file"],
)
def test_a_link_that_comes_between_the_yes_and_the_look_leads_nowhere(
    ground: Ground, reveal: Callable[[GatedFileSystem, Ground], object]
) -> None:
    with pytest.raises(FileRefused, match="has changed since it was looked at"):
        reveal(gated(ground, ground.swap_once), ground)


@pytest.mark.parametrize(
    "change",
    [
        lambda files, ground: files.write(ground.file, b"1", expected=b"0"),
        lambda files, ground: files.write(ground.file, b"1", expected=SECRET),
        lambda files, ground: files.write(ground.folder / "new", b"1", expected=None),
        lambda files, ground: files.write(ground.folder / "new/deep", b"1", expected=None),
        lambda files, ground: files.remove(ground.file, expected=SECRET),
        lambda files, ground: files.rename(ground.file, ground.inside / "g"),
        lambda files, ground: files.rename(ground.inside / "other", ground.folder / "g"),
    ],
    ids=["write", "write what is there", "create", "create below", "remove", "move out", "move in"],
)
def test_a_link_that_comes_between_the_yes_and_the_change_leads_nowhere(
    ground: Ground, change: Callable[[GatedFileSystem, Ground], object]
) -> None:
    (ground.inside / "other").write_bytes(b"other")
    with pytest.raises(FileRefused, match="has changed since it was looked at"):
        change(gated(ground, lambda _: None, SwapsBeforeTheEffect(ground.swap)), ground)
    ground.check_outside()
    assert sorted(entry.name for entry in ground.inside.iterdir()) == ["d", "link", "other"]
    ground.swap()
    assert ground.file.read_bytes() == b"0"


def test_a_file_with_another_name_elsewhere_is_not_changed_under_that_name(ground: Ground) -> None:
    (ground.inside / "hard").hardlink_to(ground.outside / "f")
    fs.write(ground.inside / "hard", b"1", expected=SECRET)
    fs.remove(ground.inside / "hard", expected=b"1")
    ground.check_outside()


@pytest.mark.parametrize("path", ["//proc/self/environ", "/proc/self/task/../environ", "/dev/fd/../../self/environ"])
def test_what_the_kernel_makes_up_is_not_read_however_it_is_written(ground: Ground, path: str) -> None:
    with pytest.raises(FileAccessError):
        fs.open(Path(path))


@pytest.mark.parametrize("detour", ["../inside/../outside/f", "d/../../outside/f", "link/f", "./d/.././link/./f"])
def test_a_detour_is_asked_about_as_what_it_leads_to(ground: Ground, detour: str) -> None:
    approver = ScriptedApprover("allow_once")
    approvals = Approvals(Rules(roots=(ground.inside,)), "default", approver)
    files = GatedFileSystem(fs, Gate(approvals, "c", CancelToken(), lambda _: None))
    for path in (
        ground.inside / detour,
        Path(f"/proc/self/root{ground.inside}") / detour,
        Path(f"/{ground.inside}") / detour,
    ):
        with files.open(path) as stream:
            assert stream.read() == SECRET
    assert {getattr(action, "path", None) for action in approver.asked} == {ground.outside / "f"}


def test_an_open_file_of_ours_is_known_by_its_own_path(ground: Ground) -> None:
    approver = ScriptedApprover("reject_once")
    approvals = Approvals(Rules(roots=(ground.inside,)), "default", approver)
    files = GatedFileSystem(fs, Gate(approvals, "c", CancelToken(), lambda _: None))
    with (ground.outside / "f").open("rb") as held, pytest.raises(Denied):
        files.open(Path(f"/dev/fd/{held.fileno()}"))
    assert [getattr(action, "path", None) for action in approver.asked] == [ground.outside / "f"]


@pytest.mark.parametrize("searched", ["", "d", "d/f"])
@pytest.mark.parametrize("engine", ["rg", "GNU"])
def test_what_a_search_shows_in_a_race_is_never_what_is_outside(
    ground: Ground, searched: str, engine: str, program_folder: Path
) -> None:
    by = by_rg if engine == "rg" else by_grep(engine, program_folder)
    found = 0
    with swapping(ground.folder, ground.link):
        ends = time.monotonic() + 0.2
        while time.monotonic() < ends or not found:
            with contextlib.suppress(FileAccessError, ToolError):
                result = by(SearchQuery("secret|0", ground.inside / searched))
                assert not [hit for hit in result.hits if "secret" in hit.text]
                found += result.total


def test_a_search_that_has_begun_stays_in_the_directory_that_was_meant(ground: Ground) -> None:
    rg = rg_program()
    assert rg is not None
    with held_for_search(ground.folder, is_file=False) as held:
        ground.swap()
        ends = held.popen(rg, ("--no-config", "", "./"), stdout=subprocess.PIPE)
        output, _ = ends.communicate(timeout=20)
    assert output == b"./f:0\n"
