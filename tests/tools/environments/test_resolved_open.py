"""Opening paths in which no symbolic link may be."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
from pathlib import Path

import pytest

from tests.support.each import each
from tools.environments.atomic_writes import holding, open_resolved


def content(path: Path) -> bytes:
    with open(open_resolved(path, os.O_RDONLY), "rb") as file:  # noqa: PTH123 - by descriptor
        return file.read()


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "a/b").mkdir(parents=True)
    (tmp_path / "a/b/f").write_bytes(b"content")
    (tmp_path / "to_a").symlink_to("a")
    (tmp_path / "a/to_b").symlink_to(tmp_path / "a/b")
    (tmp_path / "a/b/to_f").symlink_to("f")
    (tmp_path / "loop").symlink_to("loop")
    return tmp_path


def test_a_path_without_links_is_opened(tree: Path) -> None:
    assert content(tree / "a/b/f") == b"content"


@pytest.mark.parametrize("name", ["to_a/b/f", "a/to_b/f", "a/b/to_f", "loop", "loop/f", "to_a", "a/to_b"])
@pytest.mark.parametrize(
    "flags",
    [os.O_RDONLY, os.O_RDONLY | os.O_DIRECTORY, getattr(os, "O_PATH", os.O_RDONLY)],
    ids=["file", "directory", "name"],
)
def test_a_link_anywhere_in_a_path_is_told_from_everything_else(tree: Path, name: str, flags: int) -> None:
    with pytest.raises(OSError) as caught:
        open_resolved(tree / name, flags)
    assert caught.value.errno == errno.ELOOP


@pytest.mark.parametrize("path", ["/proc/self/root/etc", "/proc/self/cwd", "/dev/fd/0", "/proc/thread-self/exe"])
@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's own links are Linux's")
def test_links_that_the_kernel_makes_up_are_not_followed(path: str) -> None:
    with pytest.raises(OSError) as caught:
        open_resolved(Path(path), os.O_RDONLY)
    assert caught.value.errno == errno.ELOOP


@pytest.mark.parametrize(
    ("name", "number"), [("a/no", errno.ENOENT), ("no/f", errno.ENOENT), ("a/b/f/g", errno.ENOTDIR)]
)
def test_what_else_is_wrong_is_told_as_ever(tree: Path, name: str, number: int) -> None:
    with pytest.raises(OSError) as caught:
        open_resolved(tree / name, os.O_RDONLY)
    assert (caught.value.errno, Path(caught.value.filename).name) == (number, caught.value.filename.split("/")[-1])


@each("path", ["a/b/f", "/a/../b", "..", "/etc/hostname\0/x", "/.."])
def test_a_path_that_was_not_resolved_is_refused(path: str) -> None:
    with pytest.raises(OSError, match="no absolute path") as caught:
        open_resolved(Path(path), os.O_RDONLY)
    assert caught.value.errno == errno.EINVAL


@pytest.mark.parametrize(
    "name", ["with\nnewline", "trailing. ", "...", " ", "*", "-rf", os.fsdecode(b"\xff\xfe"), "ä"]
)
def test_strange_names_are_names(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / name).write_bytes(name.encode(errors="surrogateescape"))
    assert content(tmp_path / name / name) == name.encode(errors="surrogateescape")


def test_the_root_is_a_path_too() -> None:
    for path in (Path("/"), Path("//")):
        descriptor = open_resolved(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            assert os.path.samestat(os.fstat(descriptor), Path("/").stat())
        finally:
            os.close(descriptor)
    with holding(Path("/")) as spot:
        facts = spot.facts()
    assert facts is not None
    assert os.path.samestat(facts, Path("/").stat())


def test_no_descriptor_is_inherited_and_none_is_left_open(tree: Path) -> None:
    before = os.dup(0)
    os.close(before)
    with holding(tree / "a/b/new/er/f", make=True) as spot:
        assert not os.get_inheritable(spot.folder)
        descriptor = spot.open(os.O_WRONLY | os.O_CREAT)
        assert not os.get_inheritable(descriptor)
        os.close(descriptor)
    for name in ("to_a/b/f", "a/no/no", "a/b/f/g"):
        with pytest.raises(OSError), holding(tree / name):
            pass
    after = os.dup(0)  # the lowest number that is free
    os.close(after)
    assert after == before


def test_missing_directories_are_made_but_not_through_a_link(tree: Path) -> None:
    with holding(tree / "a/x/y/f", make=True):
        assert (tree / "a/x/y").is_dir()
    for name in ("to_a/new/f", "a/to_b/new/deep/f"):
        with pytest.raises(OSError) as caught, holding(tree / name, make=True):
            pass
        assert caught.value.errno == errno.ELOOP
    assert sorted(entry.name for entry in (tree / "a/b").iterdir()) == ["f", "to_f"]
    assert sorted(entry.name for entry in (tree / "a").iterdir()) == ["b", "to_b", "x"]


def test_a_directory_that_is_held_is_the_one_that_was_opened(tree: Path) -> None:
    with holding(tree / "a/b/f") as spot:
        (tree / "a").rename(tree / "moved")
        (tree / "outside/b").mkdir(parents=True)
        (tree / "outside/b/f").write_bytes(b"secret")
        (tree / "a").symlink_to("outside")
        with open(spot.open(os.O_RDONLY), "rb") as file:  # noqa: PTH123
            assert file.read() == b"content"
        spot.unlink()
        assert spot.facts() is None
    assert (tree / "outside/b/f").read_bytes() == b"secret"
    assert not (tree / "moved/b/f").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.skipif(not hasattr(os, "O_PATH"), reason="here a directory must be readable to be held")
def test_a_directory_that_may_be_entered_but_not_listed_is_entered() -> None:
    # Not in pytest's own directory, which nobody else may enter.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(os.path.realpath(name))
        folder.chmod(0o711)
        (folder / "f").write_bytes(b"content")
        os.seteuid(65534)
        try:
            with pytest.raises(PermissionError):
                folder.iterdir().__next__()
            with holding(folder / "f") as spot:
                assert spot.facts() is not None
            assert content(folder / "f") == b"content"
        finally:
            os.seteuid(0)
