"""How far an answer reaches: this once, this same thing again, all commands or files like it, a whole server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

from tools.approval.actions import (
    Action,
    CallMcpTool,
    LeavePlan,
    ProcessInput,
    ReachHost,
    ReadPath,
    RunCommand,
    SearchWeb,
    WritePath,
)
from tools.approval.command_prefix import CommandPrefix, prefix_of

Scope = Literal["once", "session", "prefix", "directory", "server", "web"]
"""`session` is the same thing for the rest of the session; the wider ones last as long."""

# `/`, the top of the file system and a home are no place of their own.
_LEAST_PARTS = 4


@dataclass(frozen=True, slots=True)
class SameThing:
    """The same file for reading, editing or deleting; the same command in its directory; the same MCP tool;
    the same host, if it is where it was; the same search service.
    """

    scope: ClassVar[Scope] = "session"
    kind: Literal["read", "write", "delete", "run", "type", "mcp", "fetch", "search"]
    what: tuple[str, ...]

    def covers(self, action: Action, *, is_risky: bool) -> bool:  # noqa: ARG002 - all grants are asked alike
        """Whether it is the same thing."""
        return same_thing(action) == self


@dataclass(frozen=True, slots=True)
class CommandsLike:
    """Commands with the same first words."""

    scope: ClassVar[Scope] = "prefix"
    prefix: CommandPrefix

    def covers(self, action: Action, *, is_risky: bool) -> bool:  # noqa: ARG002 - the prefix knows what is dangerous
        """Whether the command is one of them."""
        return isinstance(action, RunCommand) and self.prefix.covers(action.command, action.cwd)


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
    """Every tool of one MCP server."""

    scope: ClassVar[Scope] = "server"
    server: str

    def covers(self, action: Action, *, is_risky: bool) -> bool:  # noqa: ARG002 - all grants are asked alike
        """Whether the tool is one of them."""
        return isinstance(action, CallMcpTool) and action.server == self.server


@dataclass(frozen=True, slots=True)
class PublicWeb:
    """Pages of every host on the public internet."""

    scope: ClassVar[Scope] = "web"

    def covers(self, action: Action, *, is_risky: bool) -> bool:
        """Whether it is such a page."""
        return isinstance(action, ReachHost) and not action.inside and not is_risky


Grant = SameThing | CommandsLike | FilesBelow | OfServer | PublicWeb


def same_thing(action: Action) -> SameThing | None:
    """The narrowest scope of an answer; None for what is asked anew each time."""
    match action:
        case ReadPath(path=path):
            return SameThing("read", (str(path),))
        case WritePath(path=path, after=None):
            return SameThing("delete", (str(path),))
        case WritePath(path=path):
            return SameThing("write", (str(path),))
        case RunCommand(command=command, cwd=cwd):
            return SameThing("run", (str(cwd), command))
        case ProcessInput(command=command, cwd=cwd):
            return SameThing("type", (str(cwd), command))
        case CallMcpTool(server=server, tool=tool):
            return SameThing("mcp", (server, tool))
        case ReachHost(place=place, inside=inside):
            return SameThing("fetch", (place, inside))
        case SearchWeb(service=service):
            return SameThing("search", (service,))
        case LeavePlan():
            return None


def reaches(action: Action, roots: tuple[Path, ...], *, is_risky: bool) -> tuple[Grant, ...]:
    """What a yes to `action` may be wider than once, the narrowest first.

    Args:
        roots: the session's directories with symbolic links resolved.
        is_risky: the path is sensitive, or the command dangerous.
    """
    same = same_thing(action)
    return () if same is None else (same, *_wider(action, roots, is_risky=is_risky))


def _wider(action: Action, roots: tuple[Path, ...], *, is_risky: bool) -> Iterator[Grant]:
    match action:
        case ReadPath(path=path) if not is_risky and _is_a_place(path.parent, roots):
            yield FilesBelow("read", path.parent, _shown(path.parent, roots))
        case WritePath(path=path, after=bytes()) if not is_risky and _root_of(path.parent, roots) is not None:
            yield FilesBelow("write", path.parent, _shown(path.parent, roots))
        case RunCommand(command=command, cwd=cwd):
            prefix = prefix_of(command, cwd)
            if prefix is not None:
                yield CommandsLike(prefix)
        case CallMcpTool(server=server):
            yield OfServer(server)
        case ReachHost(inside=""):
            yield PublicWeb()


def _root_of(directory: Path, roots: tuple[Path, ...]) -> Path | None:
    return next((root for root in roots if directory == root or root in directory.parents), None)


def _is_a_place(directory: Path, roots: tuple[Path, ...]) -> bool:
    """True when a yes for all below would not be one for about everything."""
    return len(directory.parts) >= _LEAST_PARTS and not any(directory in root.parents for root in roots)


def _shown(directory: Path, roots: tuple[Path, ...]) -> str:
    root = _root_of(directory, roots)
    shown = str(directory if root is None else directory.relative_to(root.parent))
    return f"{shown.rstrip('/')}/"
