"""What writing files on another machine leaves as it was: who may read them, whose they are, their attributes."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from tests.support.local_machine import LocalMachine
from tools.environments.guardian import Guardian
from tools.environments.remote.session import FarSide

_NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "sh")


@pytest.fixture
def files_by():
    guardian, made = Guardian(), []

    def make(kind, shell=("sh",)):
        made.append(FarSide(LocalMachine(shell), guardian, files_by=kind))
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
    files_by("sh").write(private, b"b", expected=b"a")
    assert private.read_text() == "b"
    assert private.stat().st_mode & 0o777 == 0o600
    assert [mode for mode in seen.read_text().split() if mode != "600"] == []


@pytest.mark.parametrize("kind", ["python", "sh"])
def test_a_file_below_a_directory_that_may_only_be_passed_is_reached(files_by, kind):
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
            files = files_by(kind, shell)
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
        for kind in ("python", "sh"):
            path.write_text("one")
            os.chown(path, 0, 65534)
            path.chmod(0o664)
            files_by(kind, _NOBODY).write(path, b"two", expected=b"one")
            assert path.read_text() == "two"
            assert (path.stat().st_uid, path.stat().st_gid) == (0, 65534)
            assert [each.name for each in Path(folder).iterdir()] == ["a.txt"]


def test_a_file_keeps_its_attributes(files_by, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("one")
    try:
        os.setxattr(path, "user.mine", b"1")
    except (OSError, AttributeError):
        pytest.skip("The file system of the tests knows no attributes")
    files_by("python").write(path, b"two", expected=b"one")
    assert os.getxattr(path, "user.mine") == b"1"


@pytest.mark.parametrize("kind", ["python", "sh"])
def test_where_names_lead_is_told_by_the_machine_that_has_them(files_by, kind, tmp_path):
    (tmp_path / "it's [a]").mkdir()
    (tmp_path / "it's [a]" / "x y").write_text("")
    (tmp_path / "link").symlink_to("it's [a]/x y")
    found = files_by(kind).leads(
        [f"{tmp_path}/li*", f"{tmp_path}/none", f"{tmp_path}/$(touch {tmp_path}/gone-wrong)"]
    )
    assert [path.name for path in found] == ["x y"]
    assert sorted(each.name for each in tmp_path.iterdir()) == ["it's [a]", "link"]
