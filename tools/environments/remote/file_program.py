"""Runs on the other machine, by its own python3 (3.7 or later); knows nothing of this project.

It reads requests and answers them until its input ends: a length of four bytes, that many bytes of JSON, and the raw
bytes that `follows` in it announces. Paths come resolved, and no symbolic link in one is followed: one that was put
there after somebody said yes leads nowhere.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import itertools
import json
import os
import stat
import struct
import sys
from typing import Any

_HEAD = struct.Struct(">I")
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# A handle that only stands for a directory needs no right to list it.
_HANDLE = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
_MOST_MAGIC, _MOST_NAMES = 2, 1_000
_KEPT_ATTRIBUTES = ("user.", "system.posix_acl_access", "security.selinux")
_NOT_RENAMED_OVER = (errno.EACCES, errno.EPERM, errno.EBUSY, errno.EROFS, errno.EXDEV)


class Refused(Exception):
    """What was asked is not done. `word` says why: `changed`, `exists`, `kind` or `size`."""

    def __init__(self, word: str, text: str = "") -> None:
        """Make it; `text` is for people."""
        super().__init__(word)
        self.word = word
        self.text = text


def folder_of(path: str, *, make: bool = False) -> tuple[int, str]:
    """The open directory of a path, and the last part of its name."""
    parts = [part for part in path.split("/") if part]
    if not path.startswith("/") or ".." in parts or "." in parts:
        raise OSError(errno.EINVAL, "it is no absolute path without dots")
    here = os.open("/", _HANDLE)
    try:
        for part in parts[:-1]:
            here = _below(here, part, make=make)
    except BaseException:
        os.close(here)
        raise
    return here, (parts[-1] if parts else ".")


def _below(above: int, part: str, *, make: bool) -> int:
    try:
        there = os.open(part, _HANDLE, dir_fd=above)
    except OSError as problem:
        if isinstance(problem, FileNotFoundError) and make:
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, dir_fd=above)
            there = os.open(part, _HANDLE, dir_fd=above)
        elif problem.errno == errno.ENOTDIR and stat.S_ISLNK(_facts(part, above).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from problem
        else:
            raise
    os.close(above)
    return there


def _facts(name: str, folder: int) -> os.stat_result:
    return os.stat(name, dir_fd=folder, follow_symlinks=False)


def _all_of(descriptor: int) -> bytes:
    with os.fdopen(descriptor, "rb") as stream:
        return stream.read()


def _regular(name: str, folder: int, most: int | None = None) -> tuple[int, os.stat_result]:
    descriptor = os.open(name, _READ | os.O_NOFOLLOW, dir_fd=folder)
    return _checked(descriptor, most)


def _checked(descriptor: int, most: int | None) -> tuple[int, os.stat_result]:
    facts = os.fstat(descriptor)
    if not stat.S_ISREG(facts.st_mode):
        os.close(descriptor)
        raise Refused("kind", "directory" if stat.S_ISDIR(facts.st_mode) else "other")
    if most is not None and facts.st_size > most:
        os.close(descriptor)
        raise Refused("size", str(facts.st_size))
    return descriptor, facts


def _compare(descriptor: int, facts: os.stat_result, expected: bytes) -> None:
    if facts.st_size != len(expected):
        os.close(descriptor)
        raise Refused("changed")
    if _all_of(descriptor) != expected:
        raise Refused("changed")


def _unchanged(name: str, folder: int, facts: os.stat_result) -> None:
    """Writing the new content took a while."""
    now = _facts(name, folder)
    if (now.st_ino, now.st_size, now.st_mtime_ns) != (facts.st_ino, facts.st_size, facts.st_mtime_ns):
        raise Refused("changed")


def _put(descriptor: int, data: bytes) -> None:
    with os.fdopen(descriptor, "wb") as stream:
        stream.write(data)
        stream.flush()


def _temporary(folder: int, data: bytes, like: os.stat_result | None, instead: str = "") -> str:
    name = f".hermes-{os.urandom(6).hex()}.tmp"
    mode = 0o666 if like is None else stat.S_IMODE(like.st_mode)
    descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode & 0o777, dir_fd=folder)
    try:
        copy = os.dup(descriptor)
        try:
            _put(descriptor, data)
            if like is not None:
                mine = os.fstat(copy)
                if (mine.st_uid, mine.st_gid) != (like.st_uid, like.st_gid):
                    os.fchown(copy, like.st_uid, like.st_gid)
                os.fchmod(copy, mode)
                _copy_attributes(copy, instead, folder)
        finally:
            os.close(copy)
    except BaseException:
        os.unlink(name, dir_fd=folder)
        raise
    return name


def _copy_attributes(descriptor: int, name: str, folder: int) -> None:
    """The access list, labels and users' attributes of the old file, as far as that may be done."""
    if not hasattr(os, "listxattr"):
        return
    with contextlib.suppress(OSError):
        old, _ = _regular(name, folder)
        try:
            for each in os.listxattr(old):
                if each.startswith(_KEPT_ATTRIBUTES):
                    with contextlib.suppress(OSError):
                        os.setxattr(descriptor, each, os.getxattr(old, each))
        finally:
            os.close(old)


def _onto(source: str, source_folder: int, target: str, folder: int) -> None:
    """A hard link, unlike a rename, replaces nothing that has come there meanwhile."""
    try:
        os.link(source, target, src_dir_fd=source_folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError as problem:
        raise Refused("exists") from problem
    except OSError as problem:
        if problem.errno in (errno.ENOENT, errno.EXDEV, errno.EACCES):
            raise
        if _is_there(target, folder):
            raise Refused("exists") from problem
        os.rename(source, target, src_dir_fd=source_folder, dst_dir_fd=folder)
        return
    os.unlink(source, dir_fd=source_folder)


def _is_there(name: str, folder: int) -> bool:
    try:
        _facts(name, folder)
    except FileNotFoundError:
        return False
    return True


def do_stat(asked: dict[str, Any], _body: bytes) -> tuple[dict[str, Any], bytes]:
    """Facts of a path."""
    folder, name = folder_of(asked["path"])
    try:
        facts = _facts(name, folder)
    finally:
        os.close(folder)
    if stat.S_ISLNK(facts.st_mode):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    kind = "file" if stat.S_ISREG(facts.st_mode) else "directory" if stat.S_ISDIR(facts.st_mode) else "other"
    return {"kind": kind, "size": facts.st_size, "mtime": facts.st_mtime_ns, "mode": stat.S_IMODE(facts.st_mode)}, b""


def do_read(asked: dict[str, Any], _body: bytes) -> tuple[dict[str, Any], bytes]:
    """A regular file, of `most` bytes at most."""
    folder, name = folder_of(asked["path"])
    try:
        descriptor, _ = _regular(name, folder, asked["most"])
    finally:
        os.close(folder)
    with os.fdopen(descriptor, "rb") as stream:
        return {}, stream.read(asked.get("begin", -1))


def do_create(asked: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
    """A file where nothing is; its directories are made."""
    folder, name = folder_of(asked["path"], make=True)
    try:
        if _is_there(name, folder):
            raise Refused("exists")
        temporary = _temporary(folder, body, None)
        try:
            _onto(temporary, folder, name, folder)
        except BaseException:
            os.unlink(temporary, dir_fd=folder)
            raise
    finally:
        os.close(folder)
    return {}, b""


def do_write(asked: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
    """The body is what is expected, `expected` bytes of it, and then what is to be there."""
    expected, data = body[: asked["expected"]], body[asked["expected"] :]
    folder, name = folder_of(asked["path"])
    try:
        descriptor, facts = _regular(name, folder)
        _compare(descriptor, facts, expected)
        try:
            temporary = _temporary(folder, data, facts, name)
            try:
                _unchanged(name, folder, facts)
                os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                os.unlink(temporary, dir_fd=folder)
                raise
        except OSError as problem:
            if problem.errno not in _NOT_RENAMED_OVER:
                raise
            _overwrite(name, folder, data, expected)
    finally:
        os.close(folder)
    return {}, b""


def _overwrite(name: str, folder: int, data: bytes, expected: bytes) -> None:
    """For a file whose directory lets nothing be put into it."""
    descriptor = os.open(name, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    try:
        try:
            _put_over(descriptor, data)
        except OSError:
            _put_over(descriptor, expected)
            raise
    finally:
        os.close(descriptor)


def _put_over(descriptor: int, data: bytes) -> None:
    os.lseek(descriptor, 0, os.SEEK_SET)
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
    os.ftruncate(descriptor, len(data))


def do_list(asked: dict[str, Any], _body: bytes) -> tuple[dict[str, Any], bytes]:
    """The names in a directory."""
    folder, name = folder_of(asked["path"])
    try:
        descriptor = os.open(name, _FOLDER, dir_fd=folder)
    finally:
        os.close(folder)
    try:
        names = sorted(os.listdir(descriptor))  # noqa: PTH208 - by descriptor
    finally:
        os.close(descriptor)
    return {}, b"\0".join(os.fsencode(each) for each in names)


def do_remove(asked: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
    """A file that holds the body goes."""
    folder, name = folder_of(asked["path"])
    try:
        # A link is compared by what it leads to, and deleted itself.
        descriptor, facts = _checked(os.open(name, _READ, dir_fd=folder), None)
        _compare(descriptor, facts, body)
        os.unlink(name, dir_fd=folder)
    finally:
        os.close(folder)
    return {}, b""


def do_rename(asked: dict[str, Any], _body: bytes) -> tuple[dict[str, Any], bytes]:
    """A file moves to where nothing is."""
    folder, name = folder_of(asked["path"])
    try:
        facts = _facts(name, folder)
        target_folder, target = folder_of(asked["target"], make=True)
        try:
            goes = asked["path"].rpartition("/")[0] != asked["target"].rpartition("/")[0]
            if goes and stat.S_ISLNK(facts.st_mode) and not os.readlink(name, dir_fd=folder).startswith("/"):
                raise Refused("link")
            _onto(name, folder, target, target_folder)
        finally:
            os.close(target_folder)
    finally:
        os.close(folder)
    return {}, b""


def do_mode(asked: dict[str, Any], _body: bytes) -> tuple[dict[str, Any], bytes]:
    """The permission bits of a regular file."""
    folder, name = folder_of(asked["path"])
    try:
        descriptor, _ = _regular(name, folder)
    finally:
        os.close(folder)
    try:
        os.fchmod(descriptor, asked["mode"])
    finally:
        os.close(descriptor)
    return {}, b""


def do_resolve(asked: dict[str, Any], _body: bytes) -> tuple[dict[str, Any], bytes]:
    """Where a path leads, its links resolved."""
    return {}, os.fsencode(os.path.realpath(asked["path"]))


def do_leads(_asked: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
    """Where what fits each of several patterns leads."""
    found: set[bytes] = set()
    for pattern in body.split(b"\0"):
        # Patterns in many of its parts may take long.
        if sum(1 for part in pattern.split(b"/") if glob.has_magic(part)) <= _MOST_MAGIC:
            fitting = [pattern] if os.path.lexists(pattern) else glob.iglob(pattern)  # noqa: PTH207 - bytes
            found.update(os.path.realpath(name) for name in itertools.islice(fitting, _MOST_NAMES))
    return {}, b"\0".join(sorted(found))


def do_times(_asked: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
    """When each of several paths has changed, in nanoseconds; 0 where nothing is."""
    found = []
    for path in body.split(b"\0"):
        try:
            found.append(os.stat(path).st_mtime_ns)  # noqa: PTH116 - bytes
        except OSError:
            found.append(0)
    return {"times": found}, b""


def _answer(asked: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
    try:
        told, data = globals()["do_" + asked["do"]](asked, body)
    except Refused as problem:
        return {"refused": problem.word, "text": problem.text}, b""
    except OSError as problem:
        return {"errno": errno.errorcode.get(problem.errno or 0, ""), "text": problem.strerror or str(problem)}, b""
    except (ValueError, MemoryError) as problem:
        return {"errno": "EINVAL", "text": str(problem)}, b""
    return told, data


def main() -> None:
    """Answer until the input ends."""
    ours, theirs = sys.stdin.buffer, sys.stdout.buffer
    theirs.write(b"hermes-files\n")
    theirs.flush()
    while True:
        head = ours.read(_HEAD.size)
        if len(head) < _HEAD.size:
            return
        asked = json.loads(ours.read(_HEAD.unpack(head)[0]).decode("ascii"))
        body = ours.read(asked.get("follows", 0))
        if len(body) < asked.get("follows", 0):
            return  # the connection broke off: half of a text is none that anybody meant
        told, data = _answer(asked, body)
        told["follows"] = len(data)
        line = json.dumps(told).encode("ascii")
        theirs.write(_HEAD.pack(len(line)) + line + data)
        theirs.flush()


if __name__ == "__main__":
    main()
