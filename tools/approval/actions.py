"""The effects that a tool can have on the world, as typed values that the policy decides about."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal


@dataclass(frozen=True, slots=True)
class ReadPath:
    """Look at a path's content or names. `path` is absolute with symbolic links resolved."""

    path: Path


@dataclass(frozen=True, slots=True)
class WritePath:
    """Make, change, move or delete a file. `path` is absolute with symbolic links resolved.

    Attributes:
        before, after: the file's bytes; None for an absent file.
        shown: the path as the tool named it, for the person to read.
    """

    path: Path
    before: bytes | None
    after: bytes | None
    shown: Path

    @property
    def verb(self) -> Literal["create", "edit", "delete"]:
        """What happens to the file."""
        if self.after is None:
            return "delete"
        return "create" if self.before is None else "edit"


@dataclass(frozen=True, slots=True)
class RunCommand:
    """Run a shell command in `cwd`."""

    command: str
    cwd: Path


@dataclass(frozen=True, slots=True)
class ProcessInput:
    """Type `data` into the running program that `command` has started in `cwd`."""

    command: str
    data: str
    cwd: Path


@dataclass(frozen=True, slots=True)
class CallMcpTool:
    """Call a tool of an MCP server. `arguments` is JSON text, for the person to read."""

    server: str
    tool: str
    arguments: str


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
class SearchWeb:
    """Ask a search service. `service` is its name, as the person knows it."""

    service: str
    query: str


@dataclass(frozen=True, slots=True)
class LeavePlan:
    """Begin with the work that was planned. `plan` is Markdown."""

    plan: str


Action = ReadPath | WritePath | RunCommand | ProcessInput | CallMcpTool | ReachHost | SearchWeb | LeavePlan


def describe(action: Action) -> str:
    """The action as a short phrase: «edit /a/b.py», «run: make test»."""
    match action:
        case ReadPath(path=path):
            return f"read {path}"
        case WritePath(path=path, shown=shown):
            return f"{action.verb} {shown}" if path == shown else f"{action.verb} {shown}, which is {path}"
        case RunCommand(command=command):
            return f"run: {command}"
        case ProcessInput(command=command, data=data):
            return f"type {data!r} into: {command}"
        case CallMcpTool(server=server, tool=tool):
            return f"call {tool} of the MCP server {server}"
        case ReachHost(url=url):
            return f"fetch {url}"
        case SearchWeb(service=service, query=query):
            return f"search {service} for: {query}"
        case LeavePlan():
            return "leave plan mode"
