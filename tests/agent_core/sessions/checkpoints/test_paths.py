"""Paths as text."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from agent_core.sessions.checkpoints.file_states import missing_folders, path_from, settled, shown_path, stored_path
from tests.support.each import each

NAMES = [b"/srv/a", "/srv/ä 🐍\n%41".encode(), b"/srv/caf\xe9", b"/srv/\xff%/bytes:x", b"/srv/bytes:a"]


@each("name", NAMES)
def test_every_path_comes_back_through_sqlite(name):
    path = Path(os.fsdecode(name))
    with sqlite3.connect(":memory:") as connection:
        (stored,) = connection.execute("SELECT ?", (stored_path(path),)).fetchone()
    connection.close()
    assert path_from(stored) == path
    assert os.fsencode(path_from(stored)) == name


def test_a_path_that_is_text_stands_as_it_is():
    assert stored_path(Path("/srv/ä")) == "/srv/ä"


def test_different_paths_are_different_texts():
    assert len({stored_path(Path(os.fsdecode(name))) for name in NAMES}) == len(NAMES)


def test_a_shown_path_is_one_line_of_text():
    assert shown_path(Path(os.fsdecode(b"/srv/caf\xe9\nx"))) == "/srv/caf\ufffd\\nx"


def test_a_settled_path_resolves_its_directories_and_not_itself(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "real" / "file").symlink_to("elsewhere")
    assert settled(tmp_path / "link" / "file") == tmp_path / "real" / "file"


def test_missing_folders_are_told_outermost_first(tmp_path):
    assert [one.path for one in missing_folders(tmp_path / "a" / "b" / "c")] == [tmp_path / "a", tmp_path / "a" / "b"]
    assert missing_folders(tmp_path / "c") == []
