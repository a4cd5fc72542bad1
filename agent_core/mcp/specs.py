"""Which MCP servers there are to be, how each of them is doing, and what goes wrong with them. Light: no SDK."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from fnmatch import fnmatchcase
from typing import Literal
from urllib.parse import SplitResult, urlsplit

from tools.environments.program_finder import PROGRAMS
from tools.light_dataclass import dataclass
from tools.redaction import redact

# What goes wrong:
# McpFailure          `str(failure)` is for the person and the model: what happened and what to do, without secrets
# ├── McpCallFailed   one call failed; the server goes on
# │   └── McpServerFault  it failed for a reason that other calls will have too
# ├── McpSessionEnded the server does not know the session: a new one is begun
# └── McpHopeless     it will be the same the next time, until the person does something


class McpFailure(Exception):
    """A server could not be started or reached, or the connection to it is over."""


class McpCallFailed(McpFailure):
    """A server did not do what one call asked.

    Args:
        words: the server's own, as they came: they may hold secrets, be endless, and be anything.
    """

    def __init__(self, text: str, words: str = "") -> None:
        super().__init__(text)
        self.words = words


class McpServerFault(McpCallFailed):
    """A call failed because of the server, not because of what was asked: it must not be shown as ready."""


class McpSessionEnded(McpFailure):
    """The server refused a request because it does not know the session; it did nothing of it."""


class McpHopeless(McpFailure):
    """A server cannot be used until something is put right."""


# The servers and their limits, and how each is doing.

Transport = Literal["stdio", "http", "sse"]
State = Literal["connecting", "ready", "failed", "closed"]
Sampling = Literal["ask", "allow", "off"]

_SHORTEST_SECRET = 4


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """A client of the user's own at a server's sign-in; without a name one is registered by itself.

    Attributes:
        scope: what is asked for; '' for what the server names.
        port: of this machine, where the sign-in comes back; 0 for any.
    """

    id: str = ""
    secret: str = field(default="", repr=False)
    scope: str = ""
    port: int = 0


@dataclass(frozen=True, slots=True)
class Certificates:
    """How a server of the network and we know each other, beside what the machine trusts.

    Attributes:
        ca_file: certificates that are trusted, too; '' for none.
        client_cert, client_key: ours, for a server that wants one; the key may be in the same file.
    """

    ca_file: str = ""
    client_cert: str = ""
    client_key: str = ""


@dataclass(frozen=True, slots=True)
class ServerPolicy:
    """How a server is used.

    Attributes:
        call_seconds, connect_seconds: its own limits; None for those of all.
        include: patterns of the tools that are used; None for all.
        exclude: patterns of tools that are not, where there is no `include`.
        sampling: whether it may ask a model, and whether the person is asked first.
        sampling_tokens: of one answer, at most.
        sampling_per_minute: so many requests.
        asks: whether its questions reach the person.
        ping_every: seconds without a call after which one of the network is asked for a sign of life; 0: never.
    """

    call_seconds: float | None = None
    connect_seconds: float | None = None
    include: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()
    resources: bool = True
    prompts: bool = True
    sampling: Sampling = "ask"
    sampling_tokens: int = 4096
    sampling_per_minute: int = 10
    asks: bool = True
    ping_every: float = 180.0

    def uses(self, tool: str) -> bool:
        """Whether the tool of that name (as the server has it) is used."""
        if self.include is not None:
            return any(fnmatchcase(tool, pattern) for pattern in self.include)
        return not any(fnmatchcase(tool, pattern) for pattern in self.exclude)


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """One MCP server to connect to. What may hold a secret is not in its `repr`.

    Attributes:
        name: unique in its session.
        command, args, env: for stdio: the program, its arguments, and variables beside the filtered environment.
        cwd: for stdio: where it runs; '' for the session's directory.
        url, headers: for http (streamable) and sse.
        oauth: the user's own client at its sign-in.
        certificates: for http and sse: whom we trust, and who we are.
        problem: why it cannot even be tried, for the person; '' if it can.
    """

    name: str
    transport: Transport
    command: str = field(default="", repr=False)
    args: tuple[str, ...] = field(default=(), repr=False)
    env: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    url: str = field(default="", repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    cwd: str = field(default="", repr=False)
    policy: ServerPolicy = field(default_factory=ServerPolicy, repr=False)
    oauth: OAuthClient = field(default_factory=OAuthClient, repr=False)
    certificates: Certificates = field(default_factory=Certificates, repr=False)
    problem: str = field(default="", repr=False)

    def hide(self, text: str) -> str:
        """`text` without the values of the server's variables and headers, its address's query, and other secrets."""
        written = [value for _, value in (*self.env, *self.headers)]
        values = {value for value in (*written, self.oauth.secret) if len(value) >= _SHORTEST_SECRET}
        # «Bearer abc» is a secret in its parts, too.
        values |= {part for value in values for part in value.split() if len(part) > 2 * _SHORTEST_SECRET}
        if (parts := self._address()) is not None:
            values |= {part for part in (parts.query, parts.password or "") if len(part) >= _SHORTEST_SECRET}
        for value in sorted(values, key=len, reverse=True):
            text = text.replace(value, "***")
        return redact(text)

    def place(self) -> str:
        """Where the server is, for people: the program, or the address without what may be secret in it."""
        if self.transport == "stdio":
            return self.command
        parts = self._address()
        if parts is None:
            return "the server's address"
        host = parts.hostname or "?"
        try:
            port = f":{parts.port}" if parts.port else ""
        except ValueError:  # not a number
            port = ""
        return f"{parts.scheme}://{host}{port}{parts.path}"

    def program(self, path: str | None) -> Mapping[str, object]:
        """What the server is, without the values of its variables and headers: one that differs is another server.

        Args:
            path: where its program is looked for; None for the usual places.
        """
        if self.transport != "stdio":
            return {"url": self.url, "transport": self.transport, "headers": sorted(name for name, _ in self.headers)}
        return {
            "command": PROGRAMS.find(self.command, dict(self.env).get("PATH", path)) or self.command,
            "args": self.args,
            "cwd": self.cwd,
            "env": sorted(name for name, _ in self.env),
        }

    def _address(self) -> SplitResult | None:
        """The parts of the address; None where there is none, or it is malformed."""
        try:
            return urlsplit(self.url) if self.url else None
        except ValueError:  # brackets without an IPv6 address in them
            return None


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """How a server is doing.

    Attributes:
        error: what happened and what to do, for the person; '' unless it failed.
        tools: the names of its tools as the model has them.
        left_out: for each of its tools that cannot be used, why.
        retry: when it is tried again, in words; '' where it is not.
        prompts, resources: how many it has.
    """

    name: str
    state: State
    error: str = ""
    tools: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    retry: str = ""
    prompts: int = 0
    resources: int = 0


@dataclass(frozen=True, slots=True)
class McpLimits:
    """Limits for every server.

    Attributes:
        connect_seconds: from the start to the list of tools.
        call_seconds: for one call of a tool.
        close_seconds: that a server has to end by itself.
        most_tools: of one server.
        message_bytes: of one message.
        extras_seconds: for the lists of prompts and resources.
        retry_seconds: until one that went away is tried again; each time in a row it is twice as long.
        longest_pause: between two tries.
        stable_seconds: after so long a connection is not one of those in a row.
        most_attempts: in a row, to start a process.
        ping_seconds: for the answer to a question for a sign of life.
        sign_in_seconds: between two looks for a sign-in that somebody has made meanwhile.
    """

    connect_seconds: float = 30.0
    call_seconds: float = 300.0
    close_seconds: float = 1.0
    most_tools: int = 300
    message_bytes: int = 32 * 1024 * 1024
    extras_seconds: float = 5.0
    retry_seconds: float = 1.0
    longest_pause: float = 300.0
    stable_seconds: float = 60.0
    most_attempts: int = 8
    ping_seconds: float = 30.0
    sign_in_seconds: float = 2.0


# What the person is told of a session's MCP servers.

_SHOWN_TOOLS = 30


def waiting(servers: Iterable[ServerStatus]) -> str:
    """«Waiting for MCP servers: a, b …»; '' when none is still connecting."""
    names = [server.name for server in servers if server.state == "connecting"]
    return f"Waiting for {_servers(names)}: {', '.join(names)} …" if names else ""


def still_waiting(servers: Iterable[ServerStatus]) -> str:
    """What is said when the wait is over and some are still connecting; '' otherwise."""
    names = [server.name for server in servers if server.state == "connecting"]
    if not names:
        return ""
    return f"Not yet connected, going on without: {_servers(names)} {', '.join(names)}."


def told(servers: Iterable[ServerStatus], already: set[str]) -> list[str]:
    """What is new to say: a sentence for each failure, its end, and for tools that had to be left out.

    Args:
        already: keys of what was said before; those of what is said now are added.
    """
    notes = []
    for server in servers:
        failed = f"failed {server.name}"
        if server.state == "failed" and _once(failed, already):
            notes.append(f"MCP server {server.name} could not be used: {server.error} {server.retry}".rstrip())
        if server.state == "ready" and failed in already:
            already.remove(failed)
            notes.append(f"MCP server {server.name} is connected now.")
        if server.left_out and _once(f"left out {server.name}", already):
            notes.append(f"Tools of MCP server {server.name} that are not offered: {'; '.join(server.left_out)}.")
    return notes


def table(servers: Sequence[ServerStatus]) -> str:
    """All servers with their state and tools, as Markdown."""
    if not servers:
        return "This session has no MCP servers. Editors give them to a session when they open it."
    rows = ["| server | state | tools |", "|---|---|---|"]
    rows += [f"| {_cell(server.name)} | {server.state} | {_tools(server)} |" for server in servers]
    notes = [f"- {server.name}: {server.error}" for server in servers if server.error]
    notes += [f"- {server.name}, not offered: {reason}" for server in servers for reason in server.left_out]
    return "\n".join([*rows, *([""] if notes else []), *notes])


def _servers(names: Sequence[str]) -> str:
    return "MCP server" if len(names) == 1 else "MCP servers"


def _once(key: str, already: set[str]) -> bool:
    if key in already:
        return False
    already.add(key)
    return True


def _tools(server: ServerStatus) -> str:
    shown = [f"`{name}`" for name in server.tools[:_SHOWN_TOOLS]]
    more = len(server.tools) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "") or "–"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
