"""A directory that programs have filled is removed, whatever is in it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from tools.environments.temp_directories import remove_tree

_NOBODY = 65534


def test_it_is_removed_with_all_that_is_in_it_and_links_lead_nowhere(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x")
    place = tmp_path / "place"
    for name in ("a/b/c", "a/moved-0", "moved-0/moved-0", "moved-1/deep/er"):
        (place / name).mkdir(parents=True)
        (place / name / "file").write_text("x")
    (place / "link").symlink_to(outside)
    (place / "a" / "link").symlink_to(outside)
    os.mkfifo(place / "a" / "pipe")
    remove_tree(place)
    assert not place.exists()
    assert (outside / "kept").read_text() == "x"


def test_however_deep_it_is(tmp_path):
    place, name = tmp_path / "place", "d" * 50
    place.mkdir()
    here = os.open(place, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir(name, dir_fd=here)
        below = os.open(name, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    remove_tree(place)
    assert not place.exists()


def test_what_is_no_directory_any_more_goes_as_well(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.mkdir()
    (target / "kept").write_text("x")
    link.symlink_to(target)
    remove_tree(link)
    assert not link.is_symlink()
    assert (target / "kept").exists()
    remove_tree(tmp_path / "none")


def test_what_cannot_be_removed_is_left_and_the_rest_goes(tmp_path, monkeypatch):
    (tmp_path / "place" / "held").mkdir(parents=True)
    (tmp_path / "place" / "file").write_text("x")
    rmdir = os.rmdir

    def refuse(path, **options):
        if path == "held":
            raise PermissionError(path)
        rmdir(path, **options)

    monkeypatch.setattr(os, "rmdir", refuse)
    remove_tree(tmp_path / "place")
    assert [each.name for each in (tmp_path / "place").iterdir()] == ["held"]


def test_what_nobody_may_write_in_or_look_into_goes_as_well():
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        top = Path(folder)
        top.chmod(0o755)
        place = top / "owned" / "place"
        (place / "module" / "deep").mkdir(parents=True)
        (place / "module" / "deep" / "file").write_text("x")
        closed = {f"{above}{mode:o}": mode for above in ("", "module/") for mode in (0, 0o300, 0o600)}
        for name in closed:
            (place / name / "file").mkdir(parents=True)
        is_root = os.getuid() == 0
        if is_root:  # who may do anything anyhow
            for path in (top / "owned", place, *place.rglob("*")):
                os.chown(path, _NOBODY, _NOBODY)
        for name, mode in closed.items():
            (place / name).chmod(mode)
        for directory in (place / "module" / "deep", place / "module", place):
            directory.chmod(0o555)
        if is_root:
            os.seteuid(_NOBODY)
        try:
            remove_tree(place)
        finally:
            if is_root:
                os.seteuid(0)
        assert not place.exists()
