"""How far an answer reaches: this once, this same thing again, all commands or files like it, a whole server."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar, Literal

from tools.approval.actions import (
    Action,
    CallMcpTool,
    CallOwnTool,
    ConnectHost,
    LeavePlan,
    ProcessInput,
    ReachHost,
    ReadPath,
    ReadSecretFiles,
    RunCommand,
    SearchWeb,
    ToolPin,
    UseBrowser,
    WriteMemory,
    WritePath,
)
from tools.approval.commands.prefix import CommandPrefix, prefix_of
from tools.light_dataclass import dataclass

Scope = Literal["once", "session", "prefix", "directory", "server", "web"]
"""`session` is the same thing for the rest of the session; the wider ones last as long."""

SameKind = Literal[
    "read",
    "secrets",
    "write",
    "delete",
    "run",
    "outside",
    "type",
    "mcp",
    "own",
    "browse",
    "fetch",
    "connect",
    "search",
    "memory",
]

# `/`, the top of the file system and a home are no place of their own.
_LEAST_PARTS = 4


@dataclass(frozen=True, slots=True)
class SameThing:
    """The same file for reading, editing or deleting; commands' reading of a project's secret files; the same
    command in its directory, in the sandbox or without one; the same tool; the same host, if it is where it was; the
    same search service; the browser's use of a host.

    Attributes:
        variables: of a command what earlier ones have left in the shell: with others it is asked about again.
        pin: of a tool of an MCP server what it was: changed, it is asked about again.
    """

    scope: ClassVar[Scope] = "session"
    kind: SameKind
    what: tuple[str, ...]
    variables: tuple[str, ...] = ()
    pin: ToolPin | None = None

    def covers(self, action: Action, *, is_risky: bool) -> bool:  # noqa: ARG002 - all grants are asked alike
        """Whether it is the same thing."""
        return same_thing(action) == self


@dataclass(frozen=True, slots=True)
class CommandsLike:
    """Commands with the same first words."""

    scope: ClassVar[Scope] = "prefix"
    prefix: CommandPrefix
    variables: tuple[str, ...] = ()

    def covers(self, action: Action, *, is_risky: bool) -> bool:  # noqa: ARG002 - the prefix knows what is dangerous
        """Whether the command is one of them."""
        if not isinstance(action, RunCommand) or action.outside or action.variables != self.variables:
            return False
        return self.prefix.covers(action.command, action.cwd)


@dataclass(frozen=True, slots=True)
class FilesBelow:
    """Files below a directory, but none that is sensitive. Writing is making and changing, not deleting.

    Attributes:
        directory: symbolic links resolved.
        shown: for the person: `project/src/`.
    """

    scope: ClassVar[Scope] = "directory"
    kind: Literal["read", "write"]
    directory: Path
    shown: str

    def covers(self, action: Action, *, is_risky: bool) -> bool:
        """Whether the file is one of them."""
        match action:
            case ReadPath(path=path):
                kind = "read"
            case WritePath(path=path, after=bytes()):
                kind = "write"
            case _:
                return False
        return kind == self.kind and not is_risky and (path == self.directory or self.directory in path.parents)


@dataclass(frozen=True, slots=True)
class OfServer:
    """Every tool of one MCP server that it had, as it was."""

    scope: ClassVar[Scope] = "server"
    server: str
    tools: frozenset[tuple[str, ToolPin]] = frozenset()

    def covers(self, action: Action, *, is_risky: bool) -> bool:  # noqa: ARG002 - all grants are asked alike
        """Whether the tool is one of them."""
        if not isinstance(action, CallMcpTool) or action.server != self.server or action.each:
            return False
        return (action.tool, action.pin) in self.tools


@dataclass(frozen=True, slots=True)
class PublicWeb:
    """Pages of every host on the public internet."""

    scope: ClassVar[Scope] = "web"

    def covers(self, action: Action, *, is_risky: bool) -> bool:
        """Whether it is such a page."""
        return isinstance(action, ReachHost) and not action.inside and not is_risky


Grant = SameThing | CommandsLike | FilesBelow | OfServer | PublicWeb


def same_thing(action: Action) -> SameThing | None:  # noqa: C901 - one for each kind of action
    """The narrowest scope of an answer; None for what is asked anew each time."""
    variables: tuple[str, ...] = ()
    pin: ToolPin | None = None
    match action:
        case ReadPath(path=path):
            kind: SameKind = "read"
            what: tuple[str, ...] = (str(path),)
        case ReadSecretFiles(project=project):
            kind, what = "secrets", (str(project),)
        case WritePath(path=path):
            kind, what = "delete" if action.after is None else "write", (str(path),)
        case RunCommand(command=command, cwd=cwd, variables=variables):
            kind, what = "outside" if action.outside else "run", (_real(cwd), command)
        case ProcessInput(command=command, cwd=cwd):
            kind, what = "type", (_real(cwd), command)
        case CallMcpTool(server=server, tool=tool, each=False, pin=pin):
            kind, what = "mcp", (server, tool)
        case CallOwnTool(name=name):
            kind, what = "own", (name,)
        case UseBrowser(place=place):
            kind, what = "browse", (place,)
        case ReachHost(place=place, inside=inside):
            kind, what = "fetch", (place, inside)
        case ConnectHost(inside=inside):
            kind, what = "connect", (action.place, inside)
        case SearchWeb(service=service):
            kind, what = "search", (service,)
        case WriteMemory(target=target):
            kind, what = "memory", (target,)
        case LeavePlan() | CallMcpTool():
            return None
    return SameThing(kind, what, variables, pin)


def reaches(action: Action, roots: tuple[Path, ...], *, is_risky: bool) -> tuple[Grant, ...]:
    """What a yes to `action` may be wider than once, the narrowest first.

    Args:
        roots: the session's directories with symbolic links resolved.
        is_risky: the path is sensitive, or the command dangerous.
    """
    same = same_thing(action)
    return () if same is None else (same, *_wider(action, roots, is_risky=is_risky))


def lasting(action: Action, reached: tuple[Grant, ...], *, is_risky: bool) -> tuple[Grant, ...]:
    """Which of what a yes may reach can be kept for later sessions; at most one, so that a card stays short.

    Args:
        reached: as `reaches` has it.
        is_risky: then only a command can be kept, and this one alone.
    """
    narrowest = reached[:1]
    wide = tuple(grant for grant in reached if isinstance(grant, FilesBelow | CommandsLike))
    match action:
        case RunCommand(variables=variables) if variables:
            return ()
        case RunCommand():
            likes = tuple(grant for grant in wide if isinstance(grant, CommandsLike) and not grant.prefix.copies)
            return narrowest if is_risky else likes[:1] or narrowest
        case ReadPath() | WritePath(after=bytes()) if not is_risky:
            return wide[:1] or narrowest
        case CallMcpTool(pin=None):
            return ()
        case ReadSecretFiles():
            return narrowest
        case CallMcpTool() | CallOwnTool() | SearchWeb() | ReachHost(inside="") | ConnectHost(inside=""):
            return () if is_risky else narrowest
    return ()


def _wider(action: Action, roots: tuple[Path, ...], *, is_risky: bool) -> Iterator[Grant]:
    match action:
        case ReadPath(path=path) if not is_risky and _is_a_place(path.parent, roots):
            yield FilesBelow("read", path.parent, _shown(path.parent, roots))
        case WritePath(path=path, after=bytes()) if not is_risky and _root_of(path.parent, roots) is not None:
            yield FilesBelow("write", path.parent, _shown(path.parent, roots))
        case RunCommand(command=command, cwd=cwd, outside=False):
            prefix = prefix_of(command, cwd)
            if prefix is not None:
                yield CommandsLike(prefix, action.variables)
        case CallMcpTool(server=server, offered=offered) if offered:
            yield OfServer(server, offered)
        case ReachHost(inside=""):
            yield PublicWeb()


def _real(directory: Path) -> str:
    """Where it is: a link in its place may lead elsewhere by the next time."""
    return os.path.realpath(directory)


def _root_of(directory: Path, roots: tuple[Path, ...]) -> Path | None:
    return next((root for root in roots if directory == root or root in directory.parents), None)


def _is_a_place(directory: Path, roots: tuple[Path, ...]) -> bool:
    """True when a yes for all below would not be one for about everything."""
    return len(directory.parts) >= _LEAST_PARTS and not any(directory in root.parents for root in roots)


def _shown(directory: Path, roots: tuple[Path, ...]) -> str:
    root = _root_of(directory, roots)
    shown = str(directory if root is None else directory.relative_to(root.parent))
    return f"{shown.rstrip('/')}/"


# Grants and refusals as a person reads them in a list.

_WORDS: Mapping[SameKind, str] = {
    "read": "read {0}",
    "secrets": "let commands read the secret files of {0}",
    "write": "edit {0}",
    "delete": "delete {0}",
    "run": "run `{1}` in {0}",
    "outside": "run `{1}` in {0} without the sandbox",
    "type": "type into `{1}`, started in {0}",
    "mcp": "call {1} of the MCP server {0}",
    "own": "call your tool {0}",
    "browse": "use pages of {0}",
    "fetch": "fetch pages of {0}",
    "connect": "let commands reach {0}",
    "search": "search with {0}",
    "memory": "change what is remembered ({0})",
}


def words_of(grant: Grant) -> str:
    """What it is about, on one line: «run `make test` in /srv/project»."""
    match grant:
        case SameThing(kind=kind, what=what):
            words = _WORDS[kind].format(*what)
        case CommandsLike(prefix=prefix):
            words = f"run `{prefix.shown}` in {prefix.cwd}"
        case FilesBelow(kind=kind, directory=directory):
            words = f"{'read' if kind == 'read' else 'edit files'} below {directory}"
        case OfServer(server=server):
            words = f"call every tool of the MCP server {server}"
        case PublicWeb():
            words = "fetch every public web page"
    return " ".join(words.split())
