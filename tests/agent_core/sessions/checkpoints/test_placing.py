"""Bringing a path to a state, if it still is what was seen there."""

from __future__ import annotations

import os

import pytest

from agent_core.sessions.checkpoints.file_states import LINK_MODE, NOTHING, UNKNOWN, FileState, look, sha256
from agent_core.sessions.checkpoints.restore import place
from tools.errors import FileChanged

MOST = 1000
WANTED = FileState(sha256(b"wanted"), 0o754)


def content(path):
    path.unlink(missing_ok=True)
    path.write_bytes(b"other")


def mode(path):
    path.chmod(0o600)


def link(path):
    path.unlink()
    path.symlink_to("elsewhere")


def gone(path):
    path.unlink()


@pytest.mark.parametrize("change", [content, mode, link, gone])
@pytest.mark.parametrize("wanted", [WANTED, NOTHING])
def test_what_changed_since_it_was_seen_is_left_alone(tmp_path, change, wanted):
    path = tmp_path / "file"
    path.write_bytes(b"seen")
    path.chmod(0o644)
    seen = look(path, MOST)
    change(path)
    changed = look(path, MOST)
    with pytest.raises(FileChanged):
        place(path, seen, wanted, b"wanted")
    assert look(path, MOST).state == changed.state
    assert len(list(tmp_path.iterdir())) == (0 if change is gone else 1)


def test_what_appeared_since_is_left_alone(tmp_path):
    path = tmp_path / "file"
    seen = look(path, MOST)
    path.write_bytes(b"other")
    with pytest.raises(FileChanged):
        place(path, seen, WANTED, b"wanted")
    assert path.read_bytes() == b"other"


@pytest.mark.parametrize("size", [10, 2000])
def test_a_file_is_replaced_with_its_mode(tmp_path, size):
    path = tmp_path / "file"
    path.write_bytes(b"x" * size)
    place(path, look(path, MOST), WANTED, b"wanted")
    assert look(path, MOST).state == WANTED
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_replaced_and_not_followed_and_a_file_becomes_a_link(tmp_path):
    path, other = tmp_path / "file", tmp_path / "other"
    other.write_bytes(b"other")
    path.symlink_to("other")
    place(path, look(path, MOST), WANTED, b"wanted")
    assert (path.read_bytes(), path.is_symlink(), other.read_bytes()) == (b"wanted", False, b"other")
    place(path, look(path, MOST), FileState(sha256(b"other"), LINK_MODE), b"other")
    assert path.readlink().name == "other"
    assert sorted(tmp_path.iterdir()) == [path, other]


def test_empty_directories_in_the_way_are_removed_and_missing_ones_made(tmp_path):
    path = tmp_path / "a" / "b"
    (path / "c" / "d").mkdir(parents=True)
    place(path, look(path, MOST), WANTED, b"wanted")
    assert look(path, MOST).state == WANTED
    deep = tmp_path / "x" / "y" / "z"
    place(deep, look(deep, MOST), FileState(WANTED.hash), b"wanted")
    assert deep.read_bytes() == b"wanted"


def test_a_directory_with_something_in_it_is_left_as_it_is(tmp_path):
    path = tmp_path / "a"
    (path / "c").mkdir(parents=True)
    (path / "c" / "mine").write_bytes(b"mine")
    with pytest.raises(OSError):
        place(path, look(path, MOST), WANTED, b"wanted")
    assert (path / "c" / "mine").read_bytes() == b"mine"


def test_a_link_is_never_the_same_as_a_file_with_the_text_that_it_points_to():
    text = sha256(b"target")
    assert not FileState(text, LINK_MODE).is_same(FileState(text, 0o644))
    assert not FileState(text, LINK_MODE).is_same(FileState(text))
    assert FileState(text, 0o755).is_same(FileState(text))
    assert not FileState(text, 0o755).is_same(FileState(text, 0o644))


def test_what_is_not_known_is_the_same_as_nothing_else():
    assert not FileState(UNKNOWN).is_same(FileState(UNKNOWN))


@pytest.mark.parametrize("name", ["missing", "file/below", "dir", "pipe"])
def test_a_look_at_what_is_no_file_does_not_fail(tmp_path, name):
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "dir").mkdir()
    os.mkfifo(tmp_path / "pipe")
    kinds = {"missing": "nothing", "file/below": "blocked", "dir": "directory", "pipe": "other"}
    found = look(tmp_path / name, MOST)
    assert (found.kind, found.state) == (kinds[name], NOTHING)


def test_a_large_file_is_compared_without_being_held(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"x" * 2000)
    found = look(path, MOST)
    assert (found.content, found.size, found.state.hash) == (None, 2000, sha256(b"x" * 2000))
