"""The cache of outlines: it may be lost, damaged or shared at any time."""

from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tools.outline import parsing as module
from tools.outline.parsing import FILE_NAME, Definition, Outline, OutlineCache, Stamp

ROOT = Path("/srv/tree")
FILE = ROOT / "a.py"
STAMP = Stamp(1, 2)
OUTLINE = Outline((Definition("f", "function", 1, -1, "def f()"),), {"g": 2}, {"h": 1})

WRITER = """
import sys
from pathlib import Path
from tools.outline.parsing import OutlineCache, Stamp
from tools.outline.parsing import Outline
for number in range(20):
    path = Path(f"/srv/tree/{sys.argv[2]}_{number}.py")
    OutlineCache(Path(sys.argv[1])).store({path: (Stamp(1, 2), Outline())}, [])
"""


def known(folder: Path | None, stamp: Stamp = STAMP) -> dict[Path, Outline]:
    return OutlineCache(folder).load(ROOT, {FILE: stamp})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "new" / "cache"
    OutlineCache(place).store({FILE: (STAMP, OUTLINE)}, [])
    return place


def test_what_was_stored_is_found_again(folder: Path):
    assert known(folder) == {FILE: OUTLINE}


def test_a_file_of_another_time_or_size_is_not_found(folder: Path):
    assert known(folder, Stamp(2, 2)) == {}
    assert known(folder, Stamp(1, 3)) == {}
    OutlineCache(folder).store({FILE: (Stamp(2, 2), Outline())}, [])
    assert known(folder, Stamp(2, 2)) == {FILE: Outline()}


def test_only_files_below_the_root_are_found(folder: Path):
    assert OutlineCache(folder).load(Path("/srv/tr"), {FILE: STAMP}) == {}
    assert OutlineCache(folder).load(FILE, {FILE: STAMP}) == {FILE: OUTLINE}


def test_names_that_are_no_text_are_kept(tmp_path: Path):
    odd = ROOT / "a\udcff.py"
    OutlineCache(tmp_path).store({odd: (STAMP, OUTLINE)}, [])
    assert OutlineCache(tmp_path).load(ROOT, {odd: STAMP}) == {odd: OUTLINE}


def test_without_a_folder_nothing_is_kept():
    OutlineCache(None).store({FILE: (STAMP, OUTLINE)}, [])
    assert known(None) == {}


@pytest.mark.parametrize("damage", [b"no database at all" * 100, b"SQLite format 3\0" + b"\xff" * 4096])
def test_a_damaged_file_is_made_anew(folder: Path, damage: bytes):
    (folder / FILE_NAME).write_bytes(damage)
    assert known(folder) == {}
    OutlineCache(folder).store({FILE: (STAMP, OUTLINE)}, [])
    assert known(folder) == {FILE: OUTLINE}


def test_a_damaged_entry_is_as_if_it_were_not_there(folder: Path):
    with closing(sqlite3.connect(folder / FILE_NAME)) as connection, connection:
        connection.execute("UPDATE outlines SET body = x'00'")
    assert known(folder) == {}


def test_a_file_of_another_version_is_made_anew(folder: Path):
    with closing(sqlite3.connect(folder / FILE_NAME)) as connection, connection:
        connection.execute("PRAGMA user_version = 999")
    assert known(folder) == {}


def test_a_folder_that_cannot_be_made_costs_nothing_but_time(tmp_path: Path):
    (tmp_path / "file").touch()
    OutlineCache(tmp_path / "file").store({FILE: (STAMP, OUTLINE)}, [])
    assert known(tmp_path / "file") == {}
    assert (tmp_path / "file").is_file()


def test_a_file_that_another_process_holds_is_left_alone(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "LOCK_SECONDS", 0.01)
    with closing(sqlite3.connect(folder / FILE_NAME, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert known(folder) == {}
        OutlineCache(folder).store({FILE: (Stamp(9, 9), OUTLINE)}, [])
        other.execute("ROLLBACK")
    assert known(folder) == {FILE: OUTLINE}


def test_several_processes_may_store_at_once(tmp_path: Path):
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), name]) for name in ("a", "b")]
    assert [writer.wait(30) for writer in writers] == [0, 0]
    paths = {ROOT / f"{name}_{number}.py": STAMP for name in ("a", "b") for number in range(20)}
    assert set(OutlineCache(tmp_path).load(ROOT, paths)) == set(paths)


def test_the_oldest_go_when_there_are_too_many_and_what_is_used_stays(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MAX_ROWS", 2)
    with closing(sqlite3.connect(folder / FILE_NAME)) as connection, connection:
        connection.execute("UPDATE outlines SET used = used - 5")
    others = {ROOT / f"{number}.py": STAMP for number in range(2)}
    OutlineCache(folder).store(dict.fromkeys(others, (STAMP, OUTLINE)), [FILE])
    left = OutlineCache(folder).load(ROOT, {FILE: STAMP, **others})
    assert len(left) == 2
    with closing(sqlite3.connect(folder / FILE_NAME)) as connection, connection:
        connection.execute("UPDATE outlines SET used = used - 40")
    OutlineCache(folder).store({ROOT / "new.py": (STAMP, OUTLINE)}, [])
    assert set(OutlineCache(folder).load(ROOT, {**others, ROOT / "new.py": STAMP})) == {ROOT / "new.py"}


def test_only_the_user_can_read_it(folder: Path):
    assert stat.S_IMODE((folder / FILE_NAME).stat().st_mode) == 0o600
