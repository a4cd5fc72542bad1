"""Which hosts are reached without a question, which never, and who is asked about the others."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import Literal, Protocol

from tools.light_dataclass import dataclass
from tools.ports import Interrupt


@dataclass(frozen=True, slots=True)
class NetworkRules:
    """What the user's settings say about hosts.

    Each entry is `HOST`, `*.DOMAIN` (all below it, not itself), either of them with `:PORT` (without one the ports 80
    and 443 are meant, and in `deny` every port), or an IP address. `deny` wins.

    Attributes:
        allow: may be reached without a question, private addresses too.
        deny: are never reached.
        registries: whether the package registries in this file may be reached without a question.
    """

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    registries: bool = True


class HostGate(Protocol):
    """Asks the policy, and through it the person."""

    def may_connect(self, host: str, port: int, interrupt: Interrupt, inside: str = "") -> bool:
        """Whether a confined command may connect there. It may wait for the person; any doubt is a no.

        It is called on a thread of its own, once for each command, host and port; several calls may run at a time.

        Args:
            host: a name or an IP address; "localhost" for a service of this machine.
            interrupt: is set when nobody waits for the answer any more, as the program has ended.
            inside: what the host is where it is not on the public internet, in words that follow "it is".
        """
        ...

    def reached(self) -> None:
        """A confined command connects to a host that nobody is asked about: it may print what others wrote."""
        ...


# Package registries: what builds fetch from. They are reached without a question, on the ports 80 and 443.
# A host is here if it hands out packages, and if what a command sends there is read by the registry alone. None of
# them is a drop box for anybody, but a command that has an account's token can publish there, and whoever runs the
# host sees what is asked for. So hosts on which anybody's files or programs live (object stores, code forges, content
# networks for all comers) are not here, nor are those that take uploads under a name of their own (upload.pypi.org).


@dataclass(frozen=True, slots=True)
class Registry:
    """A host. `sends` is what a command could send there that others may come to see; '' for nothing known."""

    host: str
    serves: str
    sends: str = ""


_PUBLISHES = "packages, with an account's token"

REGISTRIES = (
    Registry("pypi.org", "the index of Python packages"),
    Registry("files.pythonhosted.org", "files of Python packages"),
    Registry("registry.npmjs.org", "npm packages", _PUBLISHES),
    Registry("registry.yarnpkg.com", "npm packages under yarn's name", _PUBLISHES),
    Registry("nodejs.org", "Node itself, and its headers for building add-ons"),
    Registry("crates.io", "the crates' API", _PUBLISHES),
    Registry("index.crates.io", "the index of crates"),
    Registry("static.crates.io", "files of crates"),
    Registry("static.rust-lang.org", "Rust itself, for rustup"),
    Registry(
        "proxy.golang.org",
        "Go modules",
        "a module's path, which the proxy asks the host for that stands in that path",
    ),
    Registry("sum.golang.org", "checksums of Go modules"),
    Registry("repo.maven.apache.org", "Maven Central"),
    Registry("repo1.maven.org", "Maven Central"),
    Registry("plugins.gradle.org", "Gradle plugins", _PUBLISHES),
    Registry("plugins-artifacts.gradle.org", "files of Gradle plugins"),
    Registry("services.gradle.org", "Gradle itself, for its wrapper"),
    Registry("rubygems.org", "Ruby gems", _PUBLISHES),
    Registry("index.rubygems.org", "the index of Ruby gems"),
    Registry("packagist.org", "the index of PHP packages"),
    Registry("repo.packagist.org", "the index of PHP packages"),
    Registry("api.nuget.org", "NuGet packages"),
    Registry("repo.hex.pm", "Elixir and Erlang packages"),
    Registry("builds.hex.pm", "what Elixir's mix installs itself with"),
    Registry("hackage.haskell.org", "Haskell packages", _PUBLISHES),
    Registry("pub.dev", "Dart packages", _PUBLISHES),
    Registry("cpan.metacpan.org", "Perl modules"),
    Registry("deb.debian.org", "Debian packages"),
    Registry("security.debian.org", "Debian's security updates"),
    Registry("archive.ubuntu.com", "Ubuntu packages"),
    Registry("security.ubuntu.com", "Ubuntu's security updates"),
    Registry("ports.ubuntu.com", "Ubuntu packages for other processors"),
    Registry("dl-cdn.alpinelinux.org", "Alpine packages"),
)


# What the user's settings say of hosts.

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
