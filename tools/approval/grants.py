"""What the person has allowed: for the session, and permanently."""

from __future__ import annotations

import itertools
import logging
import os
import shlex
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Literal, get_args

from tools.approval.actions import Action, CallMcpTool, ToolPin, closest
from tools.approval.commands.prefix import prefix_of
from tools.approval.permissions_file import (
    KeptGrantsError,
    entries_of,
    locked,
    read_text,
    readable_entries,
    replace_text,
    stamp_of,
    with_entry,
    without_entry,
)
from tools.approval.scopes import CommandsLike, FilesBelow, Grant, OfServer, SameKind, SameThing, same_thing, words_of
from tools.light_dataclass import dataclass
from tools.os_compat import same_directory

# Records: what was answered permanently, as it is stored and read by people. Only these kinds are ever kept; a record
# of another kind, or one that would not be offered today, allows nothing.

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


def record_of(
    grant: Grant, workspace: Path, when: str, risks: Collection[str] = (), *, is_refusal: bool = False
) -> GrantRecord | None:
    """The record of a grant that was given for `risks`, or of a no to it; None for what is never kept."""
    record = _record_of(grant, workspace, when)
    if record is None or (is_refusal and record.kind != "secret files"):
        return None
    return replace(record, what=_HIDDEN) if is_refusal else replace(record, why=_BETWEEN.join(risks))


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


# The permanent ones: `permissions.yaml`, shared by every session and process of the person's.

log = logging.getLogger(__name__)

FILE_NAME = "permissions.yaml"


@dataclass(frozen=True, slots=True)
class KeptGrant:
    """An entry that this program understands.

    Attributes:
        grant: what it allows, or refuses where the record is a no; None where it means nothing any more.
    """

    record: GrantRecord
    grant: Grant | None


class KeptGrants:
    """The grants in the file at `path`; safe for threads and processes, and read again whenever the file changes.

    What cannot be understood allows nothing and stays as it is. Nothing is remembered of a file that has become
    unreadable.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._stamp: tuple[int, ...] | None = None
        self._kept: tuple[KeptGrant, ...] = ()
        self._problem = ""

    @property
    def problem(self) -> str:
        """What is wrong with the file, for the person; '' if nothing is."""
        self.all()
        return self._problem

    def all(self) -> tuple[KeptGrant, ...]:
        """Every entry that is understood, in the file's order."""
        with self._lock:
            stamp = stamp_of(self.path)
            if stamp is None or stamp != self._stamp:
                self._kept, self._problem = self._load()
                self._stamp = stamp
            return self._kept

    def of(self, roots: tuple[Path, ...], *, refusals: bool = False) -> Iterator[tuple[Grant, frozenset[str]]]:
        """The grants that count in a session, each with the dangers that it was given for; or what was refused there.

        Args:
            roots: its directories with symbolic links resolved, its own first.
        """
        for kept in self.all():
            if kept.grant is not None and kept.record.is_refusal == refusals and kept.record.applies_in(roots):
                yield kept.grant, kept.record.risks

    def add(self, grant: Grant, workspace: Path, risks: Collection[str] = (), *, is_refusal: bool = False) -> None:
        """Keep a grant, or a no to it.

        Args:
            risks: the dangers that it was given for.
            workspace: the session's own directory, resolved.

        Raises:
            KeptGrantsError: it could not be stored; the file is as it was.
        """
        record = record_of(grant, workspace, _now(), risks, is_refusal=is_refusal)
        if record is None:
            what = "A no to this" if is_refusal else "A yes as wide as this"
            raise KeptGrantsError(f"{what} is not kept for later sessions.")
        with locked(self.path) as target:
            text = read_text(target)
            entries = entries_of(text, target)
            about = {at: one for at, entry in enumerate(entries) if (one := _about(record, entry)) is not None}
            if any(one.pin == record.pin and one.risks >= record.risks for one in about.values()):
                return
            # What an MCP tool was before it changed is allowed no more; what holds for fewer dangers is needless.
            for at in sorted(about, reverse=True):
                if about[at].pin != record.pin or about[at].risks <= record.risks:
                    text = without_entry(text, at, target)
            replace_text(target, with_entry(text, record.as_entry(), target))
        self._forget()

    def remove(self, record: GrantRecord) -> None:
        """Take a grant back.

        Raises:
            KeptGrantsError: there is none such any more, or the file could not be changed.
        """
        with locked(self.path) as target:
            text = read_text(target)
            entries = entries_of(text, target)
            places = [at for at, entry in enumerate(entries) if GrantRecord.from_entry(entry) == record]
            if not places:
                raise KeptGrantsError(f"{self.path} does not hold that entry any more; nothing was changed.")
            replace_text(target, without_entry(text, places[0], target))
        self._forget()

    def _forget(self) -> None:
        with self._lock:
            self._stamp = None

    def _load(self) -> tuple[tuple[KeptGrant, ...], str]:
        try:
            entries, damaged = readable_entries(read_text(self.path), self.path)
        except KeptGrantsError as problem:
            return (), str(problem)
        kept = tuple(_understood(entries))
        for one in kept:
            if one.grant is None:
                what = f"`{one.record.kind}: {one.record.what}`"
                log.warning("%s: the entry %s is wider than a yes is today; it allows nothing", self.path, what)
        strange = len(entries) - len(kept)
        problems = [f"{_counted(strange)} not understood and allow nothing."] if strange else []
        if damaged:
            where = ", ".join(map(str, damaged))
            problems.append(
                f"{_counted(len(damaged))} damaged (line {where}) and allow nothing. Until that is mended, or "
                "deleted, no other can be added or taken back."
            )
        return kept, f"{self.path}: {' '.join(problems)}" if problems else ""


def _about(record: GrantRecord, entry: object) -> GrantRecord | None:
    found = GrantRecord.from_entry(entry)
    return found if found is not None and found.is_about(record) else None


def _understood(entries: Sequence[object]) -> Iterator[KeptGrant]:
    for entry in entries:
        record = GrantRecord.from_entry(entry)
        if record is not None:
            yield KeptGrant(record, grant_of(record))


def _now() -> str:
    return datetime.now().astimezone().strftime("%Y-%m-%d %H:%M")


def _counted(number: int) -> str:
    return "1 entry is" if number == 1 else f"{number} entries are"


# All that was answered for longer than once: exactly as far as the answer said, nothing wider.


@dataclass(frozen=True, slots=True)
class PastAnswer:
    """An answer as a person reads it in a list.

    Attributes:
        words: what it is about, on one line.
        allowed: a yes; else a no.
        grant: of a yes or a no of this session.
        record: of an answer that is kept permanently; None for what ends with the session.
        note: what is to be known of it; '' for nothing.
    """

    words: str
    allowed: bool
    grant: Grant | None = None
    record: GrantRecord | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class WiderAnswer:
    """A wider yes that a question could have had, for whoever could not be offered it there.

    Attributes:
        grant: how far it reaches.
        always: it is kept for later sessions.
        risks: the dangers that the person was shown.
    """

    grant: Grant
    always: bool
    risks: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """What it is about, on one line."""
        return words_of(self.grant)


def listed_grant(kept: KeptGrant) -> PastAnswer:
    """An answer that is kept permanently, as a person reads it."""
    record = kept.record
    place = "" if record.kind in PLACED_KINDS else f" in sessions of {record.where}"
    words = f"{words_of(kept.grant)}{place}" if kept.grant is not None else f"{record.kind}: {record.what}"
    note = record.when
    if kept.grant is None and record.kind == "mcp":
        note = "it allows nothing any more: it does not say what the tool was when you allowed it"
    elif kept.grant is None:
        note = "it allows nothing any more: it would not be offered today"
    return PastAnswer(words, allowed=not record.is_refusal, grant=kept.grant, record=record, note=note)


def _refusable(action: Action) -> SameThing | None:
    """What a no is to: whatever variables a command comes with, whatever a tool of that name has become."""
    same = same_thing(action)
    return None if same is None else replace(same, variables=(), pin=None)


class Grants:
    """The answers of one session, in memory, and those that are kept for good; safe to use from several threads.

    Args:
        kept: the answers for good; None where none are kept.
        roots: the session's directories with symbolic links resolved, its own first: where kept ones count.
    """

    def __init__(self, kept: KeptGrants | None = None, roots: tuple[Path, ...] = ()) -> None:
        self.kept = kept if roots else None
        self._roots = roots
        self._allowed: dict[Grant, frozenset[str]] = {}
        self._refused: dict[SameThing, None] = {}
        self._lock = threading.Lock()

    @property
    def keeps(self) -> bool:
        """Whether a yes can be kept for later sessions."""
        return self.kept is not None

    @property
    def problem(self) -> str:
        """What is wrong with those that are kept, for the person; '' if nothing is."""
        return "" if self.kept is None else self.kept.problem

    def allow(self, grant: Grant, risks: Collection[str] = (), *, always: bool = False) -> str:
        """From now on `grant` is allowed, with `always` in later sessions too.

        Args:
            risks: the dangers that the person was shown; it allows nothing that has another one.

        Returns:
            why it holds for this session only, though it was to be kept; '' where all is as wanted.
        """
        why = self._not_kept("yes", lambda kept: kept.add(grant, self._roots[0], risks)) if always else ""
        if not always or why:
            with self._lock:
                self._allowed[grant] = self._allowed.get(grant, frozenset()).union(risks)
        return why

    def refuse(self, action: Action, *, always: bool = False) -> str:
        """From now on the same thing as `action` is refused, with `always` in later sessions too.

        Returns:
            as `allow`.
        """
        same = _refusable(action)
        if same is None:
            return ""
        why = self._not_kept("no", lambda kept: kept.add(same, self._roots[0], is_refusal=True)) if always else ""
        if not always or why:
            with self._lock:
                self._refused[same] = None
        return why

    def allows(self, action: Action, risks: Collection[str] = ()) -> bool:
        """True when an earlier yes reaches this, and was given for everything that is dangerous in it."""
        with self._lock:
            allowed = tuple(self._allowed.items())
        kept = () if self.kept is None else self.kept.of(self._roots)
        return any(
            given.issuperset(risks) and grant.covers(action, is_risky=bool(risks))
            for grant, given in itertools.chain(allowed, kept)
        )

    def why_outdated(self, action: CallMcpTool) -> str:
        """Why an earlier yes to a tool of that name is not one to what the tool is now, in words that follow "because
        it"; '' where there was no such yes.
        """
        if action.pin is None or action.each:
            return ""
        with self._lock:
            allowed = tuple(self._allowed)
        name = (action.server, action.tool)
        whole = [each.tools for each in allowed if isinstance(each, OfServer) and each.server == action.server]
        pins = [pin for tools in whole for tool, pin in tools if tool == action.tool]
        pins += [each.pin for each in allowed if isinstance(each, SameThing) and each.what == name and each.pin]
        kept = () if self.kept is None else self.kept.all()
        texts = [
            each.record.pin
            for each in kept
            if each.record.kind == "mcp"
            and (each.record.server, each.record.what) == name
            and each.record.applies_in(self._roots)
        ]
        pins += [pin for pin in map(ToolPin.from_text, texts) if pin is not None]
        if pins:
            return f"has changed since you allowed it: {' and '.join(closest(action.pin, pins))}"
        if texts:
            return "was allowed before, but that yes does not say what the tool was then"
        return "was not there when you allowed every tool of the server" if whole else ""

    def refuses(self, action: Action) -> bool:
        """True when an earlier no was for this same thing."""
        same = _refusable(action)
        with self._lock:
            if same in self._refused:
                return True
        return self.kept is not None and any(
            same == refused for refused, _ in self.kept.of(self._roots, refusals=True)
        )

    def listed(self) -> Sequence[PastAnswer]:
        """Every answer that counts, this session's first, each kind in the order they were given."""
        with self._lock:
            allowed, refused = tuple(self._allowed), tuple(self._refused)
        kept = () if self.kept is None else self.kept.all()
        return (
            *(PastAnswer(words_of(grant), allowed=True, grant=grant) for grant in allowed),
            *(PastAnswer(words_of(same), allowed=False, grant=same) for same in refused),
            *(listed_grant(one) for one in kept if one.record.applies_in(self._roots)),
        )

    def revoke(self, answer: PastAnswer) -> None:
        """Take one of `listed` back.

        Raises:
            KeptGrantsError: it is not there any more, or could not be taken back.
        """
        if answer.record is not None and self.kept is not None:
            self.kept.remove(answer.record)
            return
        answers: dict[Grant, frozenset[str]] | dict[SameThing, None]
        answers = self._allowed if answer.allowed else self._refused
        with self._lock:
            if answer.grant not in answers:
                raise KeptGrantsError("That answer does not count any more; nothing was changed.")
            answers.pop(answer.grant)  # type: ignore[arg-type]  # it was found in there

    def forget_refusals(self) -> int:
        """Take back every no; how many there were."""
        with self._lock:
            number = len(self._refused)
            self._refused.clear()
        return number

    def _not_kept(self, answer: str, keep: Callable[[KeptGrants], None]) -> str:
        """Why an answer that was to be kept holds for this session only; '' once it is kept."""
        if self.kept is None:
            return f"Your {answer} holds for this session only: nothing is kept for longer here."
        try:
            keep(self.kept)
        except KeptGrantsError as problem:
            return f"Your {answer} holds for this session only: it could not be kept. {problem}"
        return ""
