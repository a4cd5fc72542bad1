"""What was answered permanently, in the form in which it is stored and read by people.

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
from tools.os_compat import same_directory

RecordKind = Literal[
    "run",
    "run outside",
    "run like",
    "read",
    "read below",
    "secret files",
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
    "secrets": "secret files",
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
_COMMAND_KINDS = frozenset({"run", "run outside", "run like"})
PLACED_KINDS = _COMMAND_KINDS | {"secret files"}
"""They count where a session has the directory of the command, or the project; the others in the session's own."""
_READABLE, _HIDDEN = "read by commands", "kept from commands"
"""What the user has said of a project's secret files: yes, or no."""


@dataclass(frozen=True, slots=True)
class GrantRecord:
    """One grant for good.

    Attributes:
        what: the command, its first words, the path, the tool, the host or the search service; of secret files what
            was answered.
        where: the directory of a command; the project that secret files are of; else the session's own directory, in
            which alone it counts.
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

    @property
    def is_refusal(self) -> bool:
        """Whether it is a no."""
        return self.kind == "secret files" and self.what == _HIDDEN

    def is_about(self, other: GrantRecord) -> bool:
        """Whether it answers the same for the same place, whenever that was and whatever an MCP tool was then."""
        mine, theirs = ((one.kind, one.what, one.server, os.path.realpath(one.where)) for one in (self, other))
        return mine == theirs

    def applies_in(self, roots: tuple[Path, ...]) -> bool:
        """Whether it counts in a session with these directories, the session's own first."""
        if not roots:
            return False
        if self.kind == "secret files":
            return any(same_directory(self.where, root) for root in roots)
        if self.kind in _COMMAND_KINDS:
            where = Path(os.path.realpath(self.where))
            return any(where == root or root in where.parents for root in roots)
        return same_directory(self.where, roots[0])


def record_of(grant: Grant, workspace: Path, when: str, risks: Collection[str] = ()) -> GrantRecord | None:
    """The record of a grant that was given for `risks`; None for what is never kept."""
    record = _record_of(grant, workspace, when)
    return replace(record, why=_BETWEEN.join(risks)) if record is not None else None


def _record_of(grant: Grant, workspace: Path, when: str) -> GrantRecord | None:
    match grant:
        case SameThing(kind="run" | "outside" as kind, what=(cwd, command), variables=()):
            return GrantRecord(_KINDS[kind], command, cwd, when)
        case SameThing(kind="secrets", what=(project,)):
            return GrantRecord("secret files", _READABLE, project, when)
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


def refusal_of(refused: SameThing, when: str) -> GrantRecord | None:
    """The record of a no; None for one that is never kept."""
    return GrantRecord("secret files", _HIDDEN, refused.what[0], when) if refused.kind == "secrets" else None


def grant_of(record: GrantRecord) -> Grant | None:
    """What a record allows, or refuses where it is a no; None where it would not be offered today."""
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
        case "secret files":
            is_known = what in {_READABLE, _HIDDEN}
            return SameThing("secrets", (os.path.realpath(record.where),)) if is_known else None
        case "mcp":
            pin = ToolPin.from_text(record.pin)
            return None if pin is None else SameThing("mcp", (record.server, what), pin=pin)
        case "host" | "connect":
            return SameThing("fetch" if record.kind == "host" else "connect", (what, ""))
        case "read" | "edit":
            return SameThing("read" if record.kind == "read" else "write", (what,))
        case "tool" | "search":
            return SameThing("own" if record.kind == "tool" else "search", (what,))
