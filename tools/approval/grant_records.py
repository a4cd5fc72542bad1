"""What was allowed for good, in the form in which it is stored and read by people.

Only these kinds are ever kept; a record of another kind, or one that would not be offered today, allows nothing.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal, get_args

from tools.approval.command_prefix import prefix_of
from tools.approval.mcp_pins import ToolPin
from tools.approval.scopes import CommandsLike, FilesBelow, Grant, SameKind, SameThing
from tools.light_dataclass import dataclass

RecordKind = Literal[
    "run",
    "run outside",
    "run like",
    "read",
    "read below",
    "edit",
    "edit below",
    "mcp",
    "tool",
    "host",
    "connect",
    "search",
]
_FURTHER = ("server", "why", "pin", "when")
_KEYS = ("kind", "what", "where", *_FURTHER)
_KINDS: Mapping[SameKind, RecordKind] = {
    "read": "read",
    "write": "edit",
    "run": "run",
    "outside": "run outside",
    "mcp": "mcp",
    "own": "tool",
    "fetch": "host",
    "connect": "connect",
    "search": "search",
}
_BETWEEN = "; "
COMMAND_KINDS = frozenset({"run", "run outside", "run like"})
"""They count in the directory of the command, the others in the session's."""


@dataclass(frozen=True, slots=True)
class GrantRecord:
    """One grant for good.

    Attributes:
        what: the command, its first words, the path, the tool, the host or the search service.
        where: the directory of a command; else the session's own directory, in which alone it counts.
        when: the day it was given, for the person.
        server: the MCP server of a tool.
        why: the dangers that it was given for, as they were shown; with another one it allows nothing.
        pin: what that tool was, as text; '' in entries of earlier versions, which allow nothing any more.
    """

    kind: RecordKind
    what: str
    where: str
    when: str = ""
    server: str = ""
    why: str = ""
    pin: str = ""

    @property
    def risks(self) -> frozenset[str]:
        """Each of the dangers."""
        return frozenset(self.why.split(_BETWEEN)) if self.why else frozenset()

    def as_entry(self) -> dict[str, str]:
        """As it stands in the file."""
        entry = {key: getattr(self, key) for key in _KEYS}
        return {key: value for key, value in entry.items() if value}

    @classmethod
    def from_entry(cls, entry: object) -> GrantRecord | None:
        """The record that stands in the file; None for what this program does not understand."""
        if not isinstance(entry, Mapping) or not all(isinstance(value, str) for value in entry.values()):
            return None
        if not {"kind", "what", "where"} <= entry.keys() <= set(_KEYS):
            return None
        kind: RecordKind | None = next((known for known in get_args(RecordKind) if known == entry["kind"]), None)
        if kind is None or not entry["what"] or not Path(entry["where"]).is_absolute():
            return None
        if (kind == "mcp") != bool(entry.get("server")) or (kind != "mcp" and "pin" in entry):
            return None
        return cls(kind, entry["what"], entry["where"], **{key: entry.get(key, "") for key in _FURTHER})

    def is_about(self, other: GrantRecord) -> bool:
        """Whether `other` is a yes to what has the same name: the same yes, or one to what an MCP tool was before."""
        return (self.kind, self.what, self.where, self.server) == (other.kind, other.what, other.where, other.server)

    def applies_in(self, roots: tuple[Path, ...]) -> bool:
        """Whether it counts in a session with these directories, the session's own first."""
        if not roots:
            return False
        where = Path(os.path.realpath(self.where))
        if self.kind in COMMAND_KINDS:
            return any(where == root or root in where.parents for root in roots)
        return where == roots[0]


def record_of(grant: Grant, workspace: Path, when: str, risks: Collection[str] = ()) -> GrantRecord | None:
    """The record of a grant that was given for `risks`; None for what is never kept."""
    record = _record_of(grant, workspace, when)
    return replace(record, why=_BETWEEN.join(risks)) if record is not None else None


def _record_of(grant: Grant, workspace: Path, when: str) -> GrantRecord | None:
    match grant:
        case SameThing(kind="run" | "outside" as kind, what=(cwd, command), variables=()):
            return GrantRecord(_KINDS[kind], command, cwd, when)
        case SameThing(kind="mcp", what=(server, tool), pin=ToolPin() as pin):
            return GrantRecord("mcp", tool, str(workspace), when, server, pin=pin.as_text())
        case SameThing(kind="fetch" | "connect" as kind, what=(place, "")):
            return GrantRecord(_KINDS[kind], place, str(workspace), when)
        case SameThing(kind="read" | "write" | "own" | "search" as kind, what=(what,)):
            return GrantRecord(_KINDS[kind], what, str(workspace), when)
        case CommandsLike(prefix=prefix, variables=()):
            return GrantRecord("run like", shlex.join(prefix.words), str(prefix.cwd), when)
        case FilesBelow(kind=kind, directory=directory):
            return GrantRecord("read below" if kind == "read" else "edit below", str(directory), str(workspace), when)
    return None


def grant_of(record: GrantRecord) -> Grant | None:
    """The grant that a record stands for; None where it would not be offered today."""
    what = record.what
    match record.kind:
        case "run" | "run outside":
            where = os.path.realpath(record.where)
            return SameThing("run" if record.kind == "run" else "outside", (where, what))
        case "run like":
            prefix = prefix_of(what, Path(record.where))
            is_same = prefix is not None and shlex.join(prefix.words) == what
            return CommandsLike(prefix) if prefix is not None and is_same else None
        case "read below" | "edit below":
            directory = Path(what)
            if not directory.is_absolute() or not directory.parts[1:]:
                return None
            return FilesBelow("read" if record.kind == "read below" else "write", directory, f"{what.rstrip('/')}/")
        case "mcp":
            pin = ToolPin.from_text(record.pin)
            return None if pin is None else SameThing("mcp", (record.server, what), pin=pin)
        case "host" | "connect":
            return SameThing("fetch" if record.kind == "host" else "connect", (what, ""))
        case "read" | "edit":
            return SameThing("read" if record.kind == "read" else "write", (what,))
        case "tool" | "search":
            return SameThing("own" if record.kind == "tool" else "search", (what,))
