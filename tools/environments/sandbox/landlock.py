"""Landlock rulesets: what may be done with which files, as the kernel's bits."""

from __future__ import annotations

import os
from pathlib import Path

from tools.environments.sandbox import kernel
from tools.environments.sandbox.file_rules import FileRules, Witness
from tools.environments.sandbox.places import DEVICES, SHARED_MEMORY
from tools.environments.sandbox.port import Confinement
from tools.light_dataclass import dataclass

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


@dataclass(frozen=True, slots=True)
class Ruleset:
    """A ruleset of the kernel's; whoever has it closes its descriptor.

    Attributes:
        witnesses: what it was made from; when one of them has changed, it is to be made anew.
    """

    descriptor: int
    witnesses: tuple[Witness, ...]

    def is_current(self) -> bool:
        """Whether nothing has changed that it was made from."""
        return all(witness.holds() for witness in self.witnesses)

    def close(self) -> None:
        """Give the descriptor back."""
        os.close(self.descriptor)


def make_ruleset(
    confinement: Confinement, version: int, own: tuple[Path, ...] = (), terminal: Path | None = None
) -> Ruleset:
    """The ruleset that keeps a command to its confinement.

    Args:
        version: of Landlock, at least 1; what it does not know is not covered.
        own: the sandbox's own directories, which any command may change.
        terminal: the pseudo-terminal at which the command runs.

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
        with FileRules(descriptor, handled) as rules:
            _allow(rules, confinement, own, terminal)
    except BaseException:
        os.close(descriptor)
        raise
    return Ruleset(descriptor, rules.witnesses())


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
        with FileRules(descriptor, known) as rules:
            rules.allow(Path("/"), known)
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
