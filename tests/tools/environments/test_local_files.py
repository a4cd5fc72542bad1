"""The local file system: atomic, compares before it writes, never waits for what is not a file."""

from __future__ import annotations

import errno
import os
import socket
import struct
from pathlib import Path

import pytest

from tests.support.limits import size_limit
from tools.environments import atomic_writes
from tools.environments.atomic_writes import holding
from tools.environments.local_files import LocalFileSystem
from tools.errors import FileAccessError, FileChanged, FileMissing, FileRefused
from tools.ports import SearchQuery

fs = LocalFileSystem()


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_stat_of_nothing_is_none_even_below_a_file(tmp_path: Path):
    (tmp_path / "f").touch()
    assert fs.stat(tmp_path / "no") is None
    assert fs.stat(tmp_path / "f" / "below") is None


def test_open_reads_a_file(tmp_path: Path):
    (tmp_path / "f").write_bytes(b"content")
    with fs.open(tmp_path / "f") as stream:
        assert stream.read() == b"content"
        assert not os.get_inheritable(stream.fileno())


def test_only_regular_files_are_opened(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        here = Path.cwd()
        os.chdir(tmp_path)  # the name of a socket has to be short
        try:
            listener.bind("socket")
        finally:
            os.chdir(here)
        for path in (tmp_path, tmp_path / "pipe", tmp_path / "link"):
            with pytest.raises(FileRefused):
                fs.open(path)
        with pytest.raises(FileAccessError):
            fs.open(tmp_path / "socket")


@pytest.mark.parametrize("path", ["/dev/zero", "/proc/self/environ", "/sys/kernel", "/dev/null"])
def test_devices_and_what_the_kernel_makes_up_are_refused(path: str):
    with pytest.raises(FileRefused):
        fs.open(Path(path))


def test_a_new_file_gets_the_usual_mode_and_its_directories(tmp_path: Path):
    fs.write(tmp_path / "a" / "b" / "f", b"x", expected=None)
    (tmp_path / "usual").touch()
    assert (tmp_path / "a/b/f").read_bytes() == b"x"
    assert (tmp_path / "a/b/f").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_a_file_that_should_not_be_there_is_not_overwritten(tmp_path: Path):
    (tmp_path / "f").write_bytes(b"theirs")
    (tmp_path / "dangling").symlink_to("nowhere")
    for name in ("f", "dangling"):
        with pytest.raises(FileChanged):
            fs.write(tmp_path / name, b"mine", expected=None)
    assert (tmp_path / "f").read_bytes() == b"theirs"
    assert names(tmp_path) == ["dangling", "f"]


def test_a_file_that_appears_at_the_last_moment_is_not_overwritten(tmp_path: Path):
    (tmp_path / "f").write_bytes(b"theirs")
    with pytest.raises(FileChanged), atomic_writes.holding(tmp_path / "f") as spot:
        atomic_writes.create_at(spot, b"mine")
    assert (tmp_path / "f").read_bytes() == b"theirs"
    assert names(tmp_path) == ["f"]


def test_a_file_is_replaced_as_a_whole_and_keeps_its_mode(tmp_path: Path):
    file = tmp_path / "f"
    file.write_bytes(b"old")
    file.chmod(0o4751)
    before = file.stat()
    fs.write(file, b"new", expected=b"old")
    assert file.read_bytes() == b"new"
    assert file.stat().st_mode == before.st_mode
    assert file.stat().st_ino != before.st_ino
    assert names(tmp_path) == ["f"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_file_of_another_owner_keeps_its_owner(tmp_path: Path):
    (tmp_path / "f").write_bytes(b"old")
    os.chown(tmp_path / "f", 12345, 54321)
    fs.write(tmp_path / "f", b"new", expected=b"old")
    facts = (tmp_path / "f").stat()
    assert (facts.st_uid, facts.st_gid) == (12345, 54321)


def test_a_file_keeps_its_users_attributes(tmp_path: Path):
    path = tmp_path / "f"
    path.write_bytes(b"old")
    try:
        os.setxattr(path, "user.origin", b"elsewhere")
    except (AttributeError, OSError) as problem:
        pytest.skip(f"this file system keeps no attributes: {problem}")
    fs.write(path, b"new", expected=b"old")
    assert (path.read_bytes(), os.getxattr(path, "user.origin")) == (b"new", b"elsewhere")


def test_a_file_keeps_its_access_list_and_gets_none_that_it_did_not_have(tmp_path: Path):
    # A list in the kernel's form: its version, then (tag, permissions, id) of owner, a user, group, mask, others.
    nobody = 0xFFFFFFFF
    entries = ((1, 6, nobody), (2, 4, 12345), (4, 4, nobody), (16, 4, nobody), (32, 0, nobody))
    acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)
    for name in ("with", "without"):
        (tmp_path / name).write_bytes(b"old")
        (tmp_path / name).chmod(0o600)
    try:
        os.setxattr(tmp_path / "with", "system.posix_acl_access", acl)
        os.setxattr(tmp_path, "system.posix_acl_default", acl)
    except (AttributeError, OSError) as problem:
        pytest.skip(f"this file system keeps no access lists: {problem}")
    for name in ("with", "without"):
        fs.write(tmp_path / name, b"new", expected=b"old")
    assert os.getxattr(tmp_path / "with", "system.posix_acl_access") == acl
    assert "system.posix_acl_access" not in os.listxattr(tmp_path / "without")
    assert (tmp_path / "without").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("path", ["/proc", "/proc/self/fd", "/dev", "/sys/kernel"])
def test_what_the_kernel_makes_up_is_not_listed(path: str):
    with pytest.raises(FileRefused, match="not looked at"):
        fs.list(Path(path))


@pytest.mark.parametrize("content", [b"theirs", b"OLD", b"older"])
def test_a_file_that_is_not_as_expected_is_left_alone(tmp_path: Path, content: bytes):
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(FileChanged, match="Read it again"):
        fs.write(tmp_path / "f", b"new", expected=b"old")
    with pytest.raises(FileChanged):
        fs.remove(tmp_path / "f", expected=b"old")
    assert (tmp_path / "f").read_bytes() == content


def test_a_link_put_in_a_files_place_is_not_written_through(tmp_path: Path):
    (tmp_path / "target").write_bytes(b"old")
    (tmp_path / "f").symlink_to("target")
    with pytest.raises(FileRefused):
        fs.write(tmp_path / "f", b"new", expected=b"old")
    assert (tmp_path / "target").read_bytes() == b"old"


@pytest.fixture
def no_renames(monkeypatch: pytest.MonkeyPatch):
    """Renaming fails as it does over a mount point."""

    def refuse(*_args: object, **_kwargs: object) -> None:
        raise OSError(errno.EBUSY, "Device or resource busy")

    monkeypatch.setattr(os, "replace", refuse)


@pytest.mark.usefixtures("no_renames")
@pytest.mark.parametrize("new", [b"n", b"much longer than before", b""])
def test_a_file_that_cannot_be_renamed_over_is_written_in_place(tmp_path: Path, new: bytes):
    file = tmp_path / "f"
    file.write_bytes(b"old content")
    inode = file.stat().st_ino
    fs.write(file, new, expected=b"old content")
    assert file.read_bytes() == new
    assert file.stat().st_ino == inode
    assert names(tmp_path) == ["f"]


@pytest.mark.usefixtures("no_renames")
def test_a_write_in_place_that_fails_half_way_puts_the_old_content_back(tmp_path: Path):
    file = tmp_path / "f"
    file.write_bytes(b"old")
    with pytest.raises(OSError, match="too large"), size_limit(1 << 16), holding(file) as spot:
        atomic_writes.overwrite(spot, b"n" * (1 << 17), b"old")
    assert file.read_bytes() == b"old"


def test_a_write_that_fails_leaves_the_file_and_no_temporary_one(tmp_path: Path):
    file = tmp_path / "f"
    file.write_bytes(b"old")
    with pytest.raises(FileAccessError, match="too large"), size_limit(1 << 16):
        fs.write(file, b"n" * (1 << 17), expected=b"old")
    with pytest.raises(FileAccessError, match="too large"), size_limit(1 << 16):
        fs.write(tmp_path / "g", b"n" * (1 << 17), expected=None)
    assert file.read_bytes() == b"old"
    assert names(tmp_path) == ["f"]


def test_list_is_sorted_and_says_what_is_wrong(tmp_path: Path):
    for name in ("b", "a", ".c"):
        (tmp_path / name).touch()
    assert fs.list(tmp_path) == [".c", "a", "b"]
    with pytest.raises(FileMissing):
        fs.list(tmp_path / "no")
    with pytest.raises(FileAccessError, match="part of the path is a file"):
        fs.list(tmp_path / "a")


def test_rename_moves_directories_too(tmp_path: Path):
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "f").touch()
    (tmp_path / "taken").mkdir()
    with pytest.raises(FileChanged):
        fs.rename(tmp_path / "d", tmp_path / "taken")
    fs.rename(tmp_path / "d", tmp_path / "e")
    assert names(tmp_path / "e") == ["f"]


def test_rename_of_nothing_is_missing(tmp_path: Path):
    with pytest.raises(FileMissing):
        fs.rename(tmp_path / "no", tmp_path / "g")


def test_search_refuses_what_is_neither_file_nor_directory(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/proc/self")):
        with pytest.raises(FileRefused):
            fs.search(SearchQuery("x", path))
    with pytest.raises(FileMissing):
        fs.search(SearchQuery("x", tmp_path / "no"))
