"""Which hosts are reached without a question, and which never."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import Literal, Self

from tools.environments.sandbox_network.port import NetworkRules
from tools.environments.sandbox_network.registries import REGISTRIES
from tools.light_dataclass import dataclass

Allowance = Literal["user", "listed", "no"]
"""Who says yes: the user's settings, our own lists (for public addresses), nobody."""

_WEB = frozenset({80, 443})
_LAST_PORT = 65_535
_NAME = re.compile(r"[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*", re.ASCII)
_LONGEST = 253


@dataclass(frozen=True, slots=True)
class _Entry:
    name: str
    is_below: bool
    port: int | None

    @property
    def told(self) -> str:
        """The entry as it is written."""
        return f"{'*.' if self.is_below else ''}{self.name}{'' if self.port is None else f':{self.port}'}"

    def covers(self, host: str) -> bool:
        return host.endswith(f".{self.name}") if self.is_below else host == self.name


def host_name(text: str) -> str:
    """A host as it is compared: lower case, no dot at its end, an IP address in its usual form and without brackets.

    Raises:
        ValueError: no host can be called so.
    """
    name = text.lower().removesuffix(".")
    bare = name.removeprefix("[").removesuffix("]")
    try:
        return str(ipaddress.ip_address(bare))
    except ValueError:
        if len(name) > _LONGEST or not _NAME.fullmatch(name):
            raise ValueError(f"{text[:100]!r} is not the name of a host") from None
        return name


class HostRules:
    """The user's settings, the registries and the workspace's remotes as one answer.

    Args:
        remotes: hosts of the workspace's git remotes: https, port 443.

    Raises:
        ValueError: an entry of the settings cannot be read.
    """

    def __init__(self, rules: NetworkRules, remotes: Iterable[str] = ()) -> None:
        self._allow = tuple(_read(entry) for entry in rules.allow)
        self._deny = tuple(_read(entry) for entry in rules.deny)
        self._registries = frozenset(registry.host for registry in REGISTRIES) if rules.registries else frozenset()
        self._remotes = frozenset(remotes)

    @classmethod
    def none(cls) -> Self:
        """No host at all without a question."""
        return cls(NetworkRules(registries=False))

    def told(self, most: int = 6) -> tuple[str, ...]:
        """What is reached without a question, in words; of hosts with names `most`."""
        hosts = [*(e.told for e in self._allow if not self.denies(e.name, e.port or 443)), *sorted(self._remotes)]
        more = (f"{len(hosts) - most} more",) if len(hosts) > most else ()
        return (*(("package registries",) if self._registries else ()), *hosts[:most], *more)

    def denies(self, host: str, port: int) -> bool:
        """Whether the user's settings refuse it. A name in `deny` counts for what is below it, too."""
        below = (entry for entry in self._deny if entry.port in {None, port})
        return any(entry.covers(host) or host.endswith(f".{entry.name}") for entry in below)

    def allowance(self, host: str, port: int) -> Allowance:
        """Who allows it; `denies` goes before."""
        if any(entry.covers(host) and _is_meant(entry, port) for entry in self._allow):
            return "user"
        if (port in _WEB and host in self._registries) or (port == 443 and host in self._remotes):  # noqa: PLR2004
            return "listed"
        return "no"


def _is_meant(entry: _Entry, port: int) -> bool:
    return port in _WEB if entry.port is None else port == entry.port


def _read(entry: str) -> _Entry:
    text = entry.strip()
    name, colon, digits = text.rpartition(":")
    if not colon or "]" in digits or (":" in name and not name.startswith("[")):
        name, colon, digits = text, "", ""
    port = int(digits) if digits.isdecimal() else None
    is_below = name.startswith("*.")
    is_port = not colon or (port is not None and 0 < port <= _LAST_PORT)
    try:
        return _Entry(host_name(name.removeprefix("*.") if is_port else entry), is_below, port)
    except ValueError as problem:
        raise ValueError(
            f"The entry {entry!r} of sandbox.network cannot be read: {problem}. "
            "Write HOST, *.DOMAIN, HOST:PORT or an IP address."
        ) from problem
