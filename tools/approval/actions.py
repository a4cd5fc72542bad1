"""The effects that a tool can have on the world, as typed values that the policy decides about."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any, Literal, Self, get_args

from tools.light_dataclass import dataclass

# What an MCP tool was when the person allowed it: digests of what its server says of it, and of the server itself.
# A server may describe a tool harmlessly until it is allowed, and otherwise afterwards; and another program may have
# the same server name tomorrow. So an answer that lasts is for the tool as it was, and for no other.

Part = Literal["program", "description", "schema", "annotations"]
_PARTS: tuple[Part, ...] = get_args(Part)
_KEYS: Mapping[Part, tuple[str, ...]] = {
    "description": ("name", "title", "description"),
    "schema": ("inputSchema", "outputSchema"),
    "annotations": ("annotations",),
}
_WORDS: Mapping[Part, str] = {
    "program": "the program or address of its server",
    "description": "its description",
    "schema": "its schema",
    "annotations": "its annotations",
}
_DIGITS = 40  # 160 bits: who makes both of two texts finds no two with the same digest
_TEXT = re.compile(" ".join(f"{part}:([0-9a-f]{{{_DIGITS}}})" for part in _PARTS))


@dataclass(frozen=True, slots=True)
class ToolPin:
    """The digests of one tool. Two tools with equal pins are the same tool of the same server.

    Attributes:
        program: of what the server is: its command with arguments, directory and names of variables, or its address.
        description, schema, annotations: of what it says of the tool.
    """

    program: str
    description: str
    schema: str
    annotations: str

    def as_text(self) -> str:
        """As it is kept: `program:… description:… schema:… annotations:…`."""
        return " ".join(f"{part}:{getattr(self, part)}" for part in _PARTS)

    @classmethod
    def from_text(cls, text: str) -> Self | None:
        """The pin that was kept; None for a text that is none."""
        found = _TEXT.fullmatch(text)
        return None if found is None else cls(*found.groups())

    def changes_since(self, earlier: ToolPin) -> tuple[str, ...]:
        """What is not as it was, in words."""
        return tuple(_WORDS[part] for part in _PARTS if getattr(self, part) != getattr(earlier, part))


def pin_of(program: Mapping[str, Any], tool: Mapping[str, Any]) -> ToolPin:
    """The pin of a tool.

    Args:
        program: what the server is.
        tool: all that the server says of the tool, as it came; empty for what is no tool of its list.
    """
    digests = {part: _digest({key: tool.get(key) for key in keys}) for part, keys in _KEYS.items()}
    return ToolPin(program=_digest(program), **digests)


def closest(now: ToolPin, earlier: Sequence[ToolPin]) -> tuple[str, ...]:
    """What has changed since the most similar of the earlier pins, in words; () without any."""
    return min((now.changes_since(each) for each in earlier), key=len, default=())


def _digest(value: object) -> str:
    """Of the canonical JSON: the order of keys says nothing."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


_WEB_PORTS = frozenset({80, 443})


@dataclass(frozen=True, slots=True)
class ReadPath:
    """Look at a path's content or names. `path` is absolute with symbolic links resolved.

    Attributes:
        shown: the path as the tool named it, where a link of that name leads to `path`.
    """

    path: Path
    shown: Path | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class ReadSecretFiles:
    """Let commands read the files of a project that hold credentials, such as `.env`.

    Attributes:
        project: its directory, resolved.
        paths: those that no rule and no answer has decided about; resolved.
        command: the one that is to run, for the person.
        can_hide: the sandbox can hide them, so that commands run without them after a no.
    """

    project: Path
    paths: tuple[Path, ...]
    command: str = field(default="", compare=False)
    can_hide: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class WritePath:
    """Make, change, move or delete a file. `path` is absolute with symbolic links resolved.

    Attributes:
        before, after: the file's bytes; None for an absent file.
        shown: the path as the tool named it, for the person to read.
        runs_later: why it is asked about whatever its name, in words that follow "it"; '' for an ordinary file.
        is_read_only: nobody may write to the file that is there. To put another in its place, or to delete it, needs
            the directory's permission alone.
    """

    path: Path
    before: bytes | None
    after: bytes | None
    shown: Path
    runs_later: str = field(default="", compare=False)
    is_read_only: bool = field(default=False, compare=False)

    @property
    def verb(self) -> Literal["create", "edit", "delete"]:
        """What happens to the file."""
        if self.after is None:
            return "delete"
        return "create" if self.before is None else "edit"


@dataclass(frozen=True, slots=True)
class RunCommand:
    """Run a shell command in `cwd`.

    Attributes:
        outside: run it without the sandbox.
        uncontained: why no sandbox contains it where it would run, in words that follow «is not contained: »; '' if
            that is where the session's commands run.
        refused: what the sandbox has refused it, in words that follow «it was kept from »; '' where it has not run.
        runs_along: what a program that only looks would run all the same, with no sandbox around it; '' for nothing.
        reveals: secrets of the workspace that it may print, as no sandbox hides them from it; '' for none.
        exposes: secrets of the workspace that it could read although the user has said no to that, as the sandbox
            cannot hide them, or what git has of them; '' for none.
        variables: what earlier commands of the session, which nobody was asked about, have left in its shell, as
            `NAME=value` or `NAME taken away`: with another PATH the same words run other programs.
        changes: what it would leave in places that others run later and that nobody has agreed to yet, as far as that
            can be foreseen.
        unkept: what of the files that it takes could not be brought back; '' for nothing.
    """

    command: str
    cwd: Path
    outside: bool = False
    uncontained: str = ""
    refused: str = ""
    runs_along: str = ""
    reveals: str = ""
    exposes: str = ""
    variables: tuple[str, ...] = ()
    changes: tuple[WritePath, ...] = ()
    unkept: str = ""


@dataclass(frozen=True, slots=True)
class ProcessInput:
    """Type `data` into the running program that `command` has started in `cwd`."""

    command: str
    data: str
    cwd: Path


@dataclass(frozen=True, slots=True)
class CallMcpTool:
    """Call a tool of an MCP server, or let the server do something that is named like one.

    Attributes:
        arguments: JSON text, for the person to read.
        each: it is asked about each time; no earlier answer and no rule is a yes to it.
        only_reads: it is for a resource of the server's.
        pin: what the tool is now; an answer that lasts is for this one. None where that is not known.
        offered: every tool of the server as it is now.
    """

    server: str
    tool: str
    arguments: str
    each: bool = False
    only_reads: bool = field(default=False, compare=False)
    pin: ToolPin | None = field(default=None, compare=False, repr=False)
    offered: frozenset[tuple[str, ToolPin]] = field(default=frozenset(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class CallOwnTool:
    """Call a tool that the user has put into their home."""

    name: str


@dataclass(frozen=True, slots=True)
class UseBrowser:
    """Do something on a page: click, type, press a key, evaluate.

    Attributes:
        place: the page's host, with the port where it is not the usual one.
        act: in words that follow «to»: «click @e12».
    """

    place: str
    act: str


@dataclass(frozen=True, slots=True)
class ReachHost:
    """Send a request for a page to a host.

    Attributes:
        url: the whole of it, for the person to read: it may carry anything out.
        place: the host, with the port where it is not the usual one.
        inside: what the host is where it is not on the public internet, in words that follow «it is».
    """

    url: str
    place: str
    inside: str = ""


@dataclass(frozen=True, slots=True)
class ConnectHost:
    """A command that runs in the sandbox wants to reach a host.

    Attributes:
        inside: what the host is where it is not on the public internet, in words that follow «it is».
        command: the one that is running, for the person.
    """

    host: str
    port: int
    inside: str = ""
    command: str = ""

    @property
    def place(self) -> str:
        """The host, with the port where it is not a usual one of the web."""
        return self.host if self.port in _WEB_PORTS else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class SearchWeb:
    """Ask a search service. `service` is its name, as the person knows it."""

    service: str
    query: str


@dataclass(frozen=True, slots=True)
class WriteMemory:
    """Change what is remembered over sessions.

    Attributes:
        target: which of the files: «memory» or «user».
        path: the file, for the person.
        before, after: its text; '' for a missing one.
    """

    target: str
    path: Path
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class LeavePlan:
    """Begin with the work that was planned. `plan` is Markdown."""

    plan: str


Action = (
    ReadPath
    | ReadSecretFiles
    | WritePath
    | RunCommand
    | ProcessInput
    | CallMcpTool
    | CallOwnTool
    | UseBrowser
    | ReachHost
    | ConnectHost
    | SearchWeb
    | WriteMemory
    | LeavePlan
)


def describe(action: Action) -> str:  # noqa: C901, PLR0911, PLR0912 - one for each kind
    """The action as a short phrase: «edit /a/b.py», «run: make test»."""
    match action:
        case ReadPath(path=path):
            return f"read {path}"
        case ReadSecretFiles(paths=paths):
            return f"let commands read {', '.join(map(str, paths))}"
        case WritePath(path=path, shown=shown):
            return f"{action.verb} {shown}" if path == shown else f"{action.verb} {shown}, which is {path}"
        case RunCommand(command=command, outside=True):
            return f"run without the sandbox: {command}"
        case RunCommand(command=command):
            return f"run: {command}"
        case ProcessInput(command=command, data=data):
            return f"type {data!r} into: {command}"
        case CallMcpTool(server=server, each=True):
            return f"let the MCP server {server} ask a model"
        case CallMcpTool(server=server, tool=tool):
            return f"call {tool} of the MCP server {server}"
        case CallOwnTool(name=name):
            return f"call the user's own tool {name}"
        case UseBrowser(place=place, act=act):
            return f"{act} on the page of {place}"
        case ReachHost(url=url):
            return f"fetch {url}"
        case ConnectHost(host=host, port=port):
            return f"connect to {host}:{port}"
        case SearchWeb(service=service, query=query):
            return f"search {service} for: {query}"
        case WriteMemory(path=path):
            return f"change what is remembered in {path.name}"
        case LeavePlan():
            return "leave plan mode"
