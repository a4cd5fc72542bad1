"""What reading and writing files on another machine leaves as it was: whose they are, what is elsewhere."""

import contextlib
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.support.local_machine import LocalMachine
from tests.support.swapping import swapping
from tools.environments.guardian import Guardian
from tools.environments.remote.session import FarSide
from tools.errors import FileAccessError

_NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sh")


@pytest.fixture
def files_by():
    guardian, made = Guardian(), []

    def make(shell=("sh",)):
        made.append(FarSide(LocalMachine(shell), guardian))
        return made[-1].files()

    yield make
    for side in made:
        side.close()
    guardian.kill_all()


def test_a_private_file_is_nobody_elses_while_its_new_content_comes(files_by, tmp_path, monkeypatch):
    seen, path = tmp_path / "seen", tmp_path / "bin"
    path.mkdir()
    (path / "cat").write_text(f'#!/bin/sh\nstat -Lc %a "/proc/$$/fd/1" >>{seen}\nexec {shutil.which("cat")} "$@"\n')
    (path / "cat").chmod(0o755)
    monkeypatch.setenv("PATH", f"{path}:{os.environ['PATH']}")
    private = tmp_path / "private.txt"
    private.write_text("a")
    private.chmod(0o600)
    files_by().write(private, b"b", expected=b"a")
    assert private.read_text() == "b"
    assert private.stat().st_mode & 0o777 == 0o600
    assert [mode for mode in seen.read_text().split() if mode != "600"] == []


def test_a_file_below_a_directory_that_may_only_be_passed_is_reached(files_by):
    # As /home is on many shared hosts.
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        top = Path(folder)
        mine = top / "mine"
        mine.mkdir()
        shell = ("sh",)
        if os.getuid() == 0:
            os.chown(mine, 65534, 65534)
            shell = _NOBODY
        top.chmod(0o311)
        try:
            files = files_by(shell)
            files.write(mine / "a" / "b.txt", b"one", expected=None)
            files.write(mine / "a" / "b.txt", b"two", expected=b"one")
            with files.open(mine / "a" / "b.txt") as stream:
                assert stream.read() == b"two"
            assert files.list(mine) == ["a"]
        finally:
            top.chmod(0o700)


def test_a_file_keeps_its_owner_where_it_may_not_be_given_away(files_by):
    if os.getuid():
        pytest.skip("Only root can make a file that is somebody else's")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chown(folder, 65534, 65534)
        path = Path(folder, "a.txt")
        path.write_text("one and more")
        os.chown(path, 0, 65534)
        path.chmod(0o664)
        files_by(_NOBODY).write(path, b"two", expected=b"one and more")
        assert path.read_text() == "two"
        assert (path.stat().st_uid, path.stat().st_gid) == (0, 65534)
        assert [each.name for each in Path(folder).iterdir()] == ["a.txt"]


def test_a_file_is_replaced_in_a_directory_that_takes_no_new_one(files_by):
    if os.getuid():
        pytest.skip("Only root can have a directory that is closed to somebody else")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        path = Path(folder, "a.txt")
        path.write_text("one and more")
        os.chown(path, 65534, 65534)
        files_by(_NOBODY).write(path, b"two", expected=b"one and more")
        assert path.read_text() == "two"


def test_a_new_file_is_whose_and_for_whom_the_machine_makes_files(files_by, tmp_path):
    files_by(("sh", "-c", 'umask 027; exec sh "$@"', "sh")).write(tmp_path / "a" / "b.txt", b"x", expected=None)
    assert (tmp_path / "a" / "b.txt").stat().st_mode & 0o777 == 0o640


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux swaps names in one step")
def test_no_link_that_comes_meanwhile_is_followed(files_by, tmp_path):
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for place in (inside / "d", outside):
        place.mkdir(parents=True)
    (outside / "f").write_bytes(b"secret")
    (inside / "d" / "f").write_bytes(b"0")
    (inside / "link").symlink_to(outside)
    (inside / "f").write_bytes(b"0")
    (inside / "file-link").symlink_to(outside / "f")
    files, done = files_by(), 0
    for path, swapped, link in (
        (inside / "d" / "f", inside / "d", inside / "link"),
        (inside / "f", inside / "f", inside / "file-link"),
    ):
        with swapping(swapped, link):
            ends = time.monotonic() + 0.5
            while time.monotonic() < ends:
                with contextlib.suppress(FileAccessError), files.open(path) as stream:
                    assert stream.read() == b"0"
                    done += 1
                with contextlib.suppress(FileAccessError):
                    files.write(path, b"0", expected=b"0")
                with contextlib.suppress(FileAccessError):
                    files.write(path.with_name("new"), b"n", expected=None)
        assert [(each.name, each.read_bytes()) for each in outside.iterdir()] == [("f", b"secret")]
    assert done


def test_a_file_keeps_its_attributes(files_by, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("one")
    try:
        os.setxattr(path, "user.mine", b"1")
    except (OSError, AttributeError):
        pytest.skip("The file system of the tests knows no attributes")
    files_by().write(path, b"two", expected=b"one")
    assert os.getxattr(path, "user.mine") == b"1"


def test_where_names_lead_is_told_by_the_machine_that_has_them(files_by, tmp_path):
    (tmp_path / "it's [a]").mkdir()
    (tmp_path / "it's [a]" / "x y").write_text("")
    (tmp_path / "link").symlink_to("it's [a]/x y")
    found = files_by().leads([f"{tmp_path}/li*", f"{tmp_path}/none", f"{tmp_path}/$(touch {tmp_path}/gone-wrong)"])
    assert [path.name for path in found] == ["x y"]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["it's [a]", "link"]
