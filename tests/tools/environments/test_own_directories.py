"""Temporary directories: gone with their owner, or with the next one if it was killed."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tools.environments.temp_directories import OwnDirectory, own_directory

PREFIX = "hermes-test-"


@pytest.fixture(autouse=True)
def _temporary(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_it_is_gone_with_what_is_in_it():
    own = OwnDirectory(PREFIX)
    (own.path / "some").mkdir()
    own.close()
    assert not own.path.exists()
    own.close()


def test_one_is_lent_for_a_block_that_may_fail(tmp_path):
    with pytest.raises(FileNotFoundError), own_directory(PREFIX) as path:
        (path / "missing" / "some").mkdir()
    assert not list(tmp_path.iterdir())


def test_one_elsewhere_is_looked_for_there(tmp_path):
    within = tmp_path / "elsewhere"
    within.mkdir()
    here, left = Path(tempfile.mkdtemp(prefix=PREFIX)), Path(tempfile.mkdtemp(prefix=PREFIX, dir=within))
    own = OwnDirectory(PREFIX, str(within))
    assert own.path.parent == within
    assert not left.exists()
    assert here.is_dir()
    own.close()


def test_what_a_killed_process_has_left_is_removed_and_what_is_in_use_is_not(tmp_path):
    left = Path(tempfile.mkdtemp(prefix=PREFIX))
    (left / "file").write_text("left")
    other = tmp_path / "another-directory"
    other.mkdir()
    first, second = OwnDirectory(PREFIX), OwnDirectory(PREFIX)
    assert not left.exists()
    assert other.is_dir()
    assert first.path.is_dir()
    second.close()
    third = OwnDirectory(PREFIX)
    assert first.path.is_dir()
    first.close()
    third.close()


def test_a_link_of_that_name_is_not_followed(tmp_path):
    aim = tmp_path / "aim"
    aim.mkdir()
    (tmp_path / f"{PREFIX}link").symlink_to(aim)
    OwnDirectory(PREFIX).close()
    assert aim.is_dir()
