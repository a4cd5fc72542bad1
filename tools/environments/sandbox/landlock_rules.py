"""Landlock rulesets: what may be done with which files, as the kernel's bits."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from tools.environments.atomic_writes import open_resolved
from tools.environments.sandbox import kernel
from tools.environments.sandbox.places import DEVICES, SHARED_MEMORY
from tools.environments.sandbox.port import Confinement
from tools.light_dataclass import dataclass
from tools.os_compat import O_CLOEXEC, O_DIRECTORY, O_NOFOLLOW

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _REMOVE_DIR, _REMOVE_FILE = (1 << bit for bit in range(6))
_MAKE_CHAR, _MAKE_DIR, _MAKE_REG, _MAKE_SOCK, _MAKE_FIFO, _MAKE_BLOCK, _MAKE_SYM = (1 << bit for bit in range(6, 13))
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15

_READ = _EXECUTE | _READ_FILE | _READ_DIR
_CHANGE = _WRITE_FILE | _TRUNCATE
_ENTRIES = _REFER | _REMOVE_DIR | _REMOVE_FILE | _MAKE_DIR | _MAKE_REG | _MAKE_SOCK | _MAKE_FIFO | _MAKE_SYM
_EVERYTHING = _READ | _CHANGE | _ENTRIES | _MAKE_CHAR | _MAKE_BLOCK | _IOCTL_DEV
_USE = _READ_FILE | _CHANGE | _IOCTL_DEV
_SINCE = {_REFER: 2, _TRUNCATE: 3, _IOCTL_DEV: 5}
_NETWORK_SINCE, _SCOPES_SINCE = 4, 6

_CONNECT_TCP = 1 << 1
_ABSTRACT_SOCKETS, _SIGNALS = 1 << 0, 1 << 1

# Rules for files that Landlock only knows how to add: "all but these" becomes a rule for each that is spared.
# No symbolic link is followed: a command that can rename directories on
# the way must not have its next one's rules put somewhere else.

_OF_A_FILE = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
_NAME_ONLY = O_NOFOLLOW | O_CLOEXEC | getattr(os, "O_PATH", 0)
_LIST = os.O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
_Spared = dict[str, "_Spared | None"]
"""What gets no rule, by names one within the other: None is spared with all below it, a directory holds such."""

_WHOLE: _Spared = {}
"""Nothing of it is spared."""


@dataclass(frozen=True, slots=True)
class FileRules:
    """Adds rules to a ruleset. What is not there, or cannot be opened, gets none: nothing is allowed by mistake.

    Attributes:
        ruleset: its descriptor.
        handled: the rights that the ruleset knows.
    """

    ruleset: int
    handled: int

    def allow(self, place: Path, rights: int) -> None:
        """Allow `rights` on a file, or on a directory and all below it."""
        self.allow_but(place, rights, frozenset())

    def allow_but(self, place: Path, rights: int, without: frozenset[Path]) -> None:
        """Allow `rights` on all of `place` but what is in `without`.

        The directories on the way to one of `without` get nothing of their own: no rule could be for them alone.
        """
        if any(place.is_relative_to(each) for each in without):
            return
        spared = _tree(each.relative_to(place).parts for each in without if each.is_relative_to(place))
        with contextlib.suppress(OSError):
            descriptor = open_resolved(place, _NAME_ONLY)
            try:
                self._add(descriptor, rights, spared)
            finally:
                os.close(descriptor)

    def _add(self, descriptor: int, rights: int, spared: _Spared) -> None:
        if not spared:
            self.allow_opened(descriptor, rights)
            return
        for name in _names(descriptor, spared):
            inner = spared.get(name, _WHOLE)
            if inner is None:
                continue
            with contextlib.suppress(OSError):  # gone meanwhile, or not ours to look at
                child = os.open(name, _NAME_ONLY, dir_fd=descriptor)
                try:
                    self._add(child, rights, inner)
                finally:
                    os.close(child)

    def allow_opened(self, descriptor: int, rights: int) -> None:
        """Allow `rights` on what a descriptor names."""
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISLNK(mode):
            return  # what it leads to has a rule of its own, or none
        fitting = rights & self.handled & (-1 if stat.S_ISDIR(mode) else _OF_A_FILE)
        if fitting:
            kernel.allow_beneath(self.ruleset, fitting, descriptor)


def _tree(paths: Iterable[tuple[str, ...]]) -> _Spared:
    """Paths that begin at the same place, by their names one within the other."""
    top: _Spared = {}
    for *way, last in paths:
        here: _Spared | None = top
        for name in way:
            here = here.setdefault(name, {}) if here is not None else None
        if here is not None:
            here[last] = None
    return top


def _names(directory: int, known: Iterable[str]) -> Iterable[str]:
    """What is in a directory; of one that may be passed through and not be read, the names that are known."""
    try:
        listing = os.open(".", _LIST, dir_fd=directory)
    except PermissionError:
        return known
    try:
        return os.listdir(listing)  # noqa: PTH208 - by descriptor
    finally:
        os.close(listing)


def make_ruleset(
    confinement: Confinement, version: int, own: tuple[Path, ...] = (), terminal: Path | None = None
) -> int:
    """The ruleset that keeps a command to its confinement.

    Args:
        version: of Landlock, at least 1; what it does not know is not covered.
        own: the sandbox's own directories, which any command may change.
        terminal: the pseudo-terminal at which the command runs.

    Returns:
        its descriptor, which is the caller's.

    Raises:
        OSError: the kernel refuses it.
    """
    known = _known(version)
    handled = known & (_READ_FILE | _REFER) if confinement.level == "full" else known
    # Connections are made by the network's supervisor: from inside there is no port that may be reached.
    network = _CONNECT_TCP if version >= _NETWORK_SINCE and confinement.network != "on" else 0
    scopes = _ABSTRACT_SOCKETS | _SIGNALS if version >= _SCOPES_SINCE and confinement.level != "full" else 0
    descriptor = kernel.create_ruleset(handled, network, scopes, version)
    try:
        _allow(FileRules(descriptor, handled), confinement, own, terminal)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def make_domain(version: int) -> int:
    """A ruleset for what surrounds a session's commands: nothing in it looks into or signals anything outside.

    Args:
        version: of Landlock, at least 1; those before 6 do not know signals.

    Returns:
        its descriptor, which is the caller's.

    Raises:
        OSError: the kernel refuses it.
    """
    # Some kernels refuse whatever moves files between directories in a domain that does not speak of it.
    known = _REFER if version >= _SINCE[_REFER] else _MAKE_BLOCK
    descriptor = kernel.create_ruleset(known, 0, _SIGNALS if version >= _SCOPES_SINCE else 0, version)
    try:
        FileRules(descriptor, known).allow(Path("/"), known)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _allow(rules: FileRules, confinement: Confinement, own: tuple[Path, ...], terminal: Path | None) -> None:
    hidden = frozenset(confinement.hidden)
    if confinement.level == "full":
        rules.allow(Path("/"), _REFER)
        rules.allow_but(Path("/"), _READ_FILE, hidden)
        return
    # Names are no secret, and a rule for the names of one directory is one for all below it.
    rules.allow(Path("/"), _READ_DIR)
    # What holds something hidden takes a rule for each of its names, hundreds in /tmp: where it is writable, once.
    holding = frozenset(place for place in confinement.writable if any(each.is_relative_to(place) for each in hidden))
    rules.allow_but(Path("/"), _READ, hidden | holding | {Path("/dev")})
    for device in DEVICES:
        rules.allow(device, _USE)
    rules.allow(SHARED_MEMORY, _READ | _CHANGE | _ENTRIES)
    for place in own:
        rules.allow(place, _READ | _CHANGE | _ENTRIES)
    if terminal is not None:
        rules.allow(terminal, _USE)
    for place in confinement.writable:
        # A root may lie where reading is forbidden: in another user's home, in a hidden directory's neighbour.
        rights = _CHANGE | _ENTRIES | (_IOCTL_DEV if place.is_relative_to("/dev") else 0)
        protected = frozenset(each for each in confinement.protected if each.is_relative_to(place))
        if confinement.level != "workspace-write":
            rules.allow_but(place, _READ, hidden)
        elif protected:
            rules.allow_but(place, _READ, hidden)
            rules.allow_but(place, rights, hidden | protected)
        else:
            rules.allow_but(place, _READ | rights, hidden)


def _known(version: int) -> int:
    return _EVERYTHING & ~sum(right for right, since in _SINCE.items() if version < since)
