"""Keeps a search to what was asked about: it starts in a directory that is held open, and can read nothing outside.

A name that becomes a link after the look at it would lead the program elsewhere. So its start does not go by names,
and where the kernel has Landlock, the program's reading ends at that directory (and at system files, for itself).
"""

from __future__ import annotations

import functools
import os
import stat
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tools.environments.ignore_files import ignore_files
from tools.environments.own_directories import own_directory
from tools.environments.resolved_open import open_resolved
from tools.light_dataclass import dataclass
from tools.os_compat import O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK

_NAME_ONLY = getattr(os, "O_PATH", os.O_RDONLY | O_NONBLOCK)
_OURS = Path(__file__).parents[2]
_SYSTEM = ("/usr", "/lib", "/lib64", "/lib32", "/etc/ld.so.cache", "/dev/null", "/sys/fs/cgroup", "/nix/store")
_ELF = b"\x7fELF"
_READ_FILE, _READ_DIR, _TCP = 1 << 2, 1 << 3, (1 << 0) | (1 << 1)
_NETWORK_SINCE = 4
_PROBE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class SearchGround:
    """Where a search runs.

    Attributes:
        path: of the directory that it starts in.
        folder: descriptor of the directory that it starts in.
        target: descriptor of what it may read: that directory, or one file in it.
    """

    path: Path
    folder: int
    target: int

    def popen(self, command: Sequence[str], arguments: Sequence[str], **popen: Any) -> subprocess.Popen[bytes]:
        """As `subprocess.Popen([*command, *arguments], **popen)`, in the held directory.

        Args:
            command: what searches, without what it searches for.

        Raises:
            OSError, ValueError: it could not be started.
        """
        if not _can_confine(tuple(command)):
            return subprocess.Popen([*command, *arguments], cwd=_start_of(self), **popen)
        return _confined(self, command, arguments, **popen)


@contextmanager
def held_for_search(path: Path, *, is_file: bool) -> Iterator[SearchGround]:
    """Hold what is searched open, so that no link that comes later can take its place.

    Args:
        path: absolute, with no symbolic link in it.

    Raises:
        OSError: as in `open_resolved`.
    """
    kind = 0 if is_file else O_DIRECTORY
    target = open_resolved(path, _NAME_ONLY | O_NOFOLLOW | kind)
    try:
        if not is_file:
            yield SearchGround(path, target, target)
            return
        folder = open_resolved(path.parent, _NAME_ONLY | O_DIRECTORY)
        try:
            yield SearchGround(path.parent, folder, target)
        finally:
            os.close(folder)
    finally:
        os.close(target)


def _start_of(ground: SearchGround) -> str:
    """On Linux a name that leads to the open directory: the new process has the descriptor when it goes there."""
    return f"/proc/self/fd/{ground.folder}" if sys.platform == "linux" else str(ground.path)


def _confined(
    ground: SearchGround, command: Sequence[str], arguments: Sequence[str], **popen: Any
) -> subprocess.Popen[bytes]:
    from tools.environments.sandbox import kernel  # noqa: PLC0415 - with the first search
    from tools.environments.sandbox.thread_start import start_confined  # noqa: PLC0415

    ruleset = _ruleset(ground, command)

    def confine() -> int:
        kernel.give_up_privileges()
        kernel.restrict_thread(ruleset)
        return -1

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen([*command, *arguments], cwd=_start_of(ground), **popen)

    try:
        return start_confined(confine, start)[0]
    finally:
        os.close(ruleset)


def _ruleset(ground: SearchGround, command: Sequence[str]) -> int:
    from tools.environments.sandbox import kernel  # noqa: PLC0415 - as above

    version = kernel.landlock_version()
    ruleset = kernel.create_ruleset(_READ_FILE | _READ_DIR, _TCP if version >= _NETWORK_SINCE else 0, 0, version)
    try:
        # The names in the one directory on the way to a file are not read, so they need no rule.
        kernel.allow_beneath(ruleset, _rights(ground.target), ground.target)
        for place in (*_own_places(tuple(command)), *ignore_files(ground.path)):
            _allow(ruleset, place)
        if len(command) > 1:  # Python lists where it looks for modules; what stands in those files stays closed
            _allow(ruleset, _OURS, _READ_DIR)
    except BaseException:
        os.close(ruleset)
        raise
    return ruleset


def _allow(ruleset: int, place: Path, rights: int | None = None) -> None:
    """Allow what is at `place`, if something is; a link in a workspace must not make anything readable."""
    from tools.environments.sandbox import kernel  # noqa: PLC0415 - as above

    try:
        handle = open_resolved(place, _NAME_ONLY)
    except OSError:
        return  # not every system has each of them
    try:
        kernel.allow_beneath(ruleset, rights or _rights(handle), handle)
    finally:
        os.close(handle)


def _rights(handle: int) -> int:
    return _READ_FILE | _READ_DIR if stat.S_ISDIR(os.stat(handle).st_mode) else _READ_FILE


@functools.lru_cache(maxsize=8)
def _own_places(command: tuple[str, ...]) -> tuple[Path, ...]:
    """What the program needs for itself."""
    places = [*_SYSTEM, command[0]]
    if len(command) > 1:  # the substitute is Python, with code of ours
        places += [sysconfig.get_path("stdlib"), os.path.join(sys.base_prefix, "lib"), str(_OURS / "tools")]  # noqa: PTH118
    return tuple(dict.fromkeys(Path(os.path.realpath(place)) for place in places))


@functools.lru_cache(maxsize=8)
def _can_confine(command: tuple[str, ...]) -> bool:
    """Whether the program works so, found out by use. A script may read whatever it likes, and is only held."""
    if sys.platform != "linux":
        return False
    from tools.environments.sandbox import kernel  # noqa: PLC0415 - as above

    program = os.path.realpath(command[0])
    try:
        with open(program, "rb") as start:  # noqa: PTH123 - plain and quick
            if start.read(len(_ELF)) != _ELF or not kernel.landlock_version():
                return False
        with (
            own_directory("hermes-search-") as empty,
            held_for_search(empty, is_file=False) as ground,
            _confined(
                ground,
                command,
                ("--no-config", "--no-ignore", "--files", "--null", "--", "./"),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            ) as tried,
        ):
            complaint = tried.communicate(timeout=_PROBE_SECONDS)[1]
    except (OSError, subprocess.SubprocessError):
        return False
    # 1: it went well, and there was nothing.
    return tried.returncode in {0, 1} and not complaint
