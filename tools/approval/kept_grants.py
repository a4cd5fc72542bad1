"""What the person has allowed for good: `permissions.yaml`, shared by every session and process of theirs."""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from tools.approval.grant_records import GrantRecord, grant_of, record_of, refusal_of
from tools.approval.kept_file import (
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
from tools.approval.scopes import Grant, SameThing
from tools.light_dataclass import dataclass

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

    def of(self, roots: tuple[Path, ...]) -> Iterator[tuple[Grant, frozenset[str]]]:
        """The grants that count in a session, each with the dangers that it was given for.

        Args:
            roots: its directories with symbolic links resolved, its own first.
        """
        return self._of(roots, refusals=False)

    def refused(self, roots: tuple[Path, ...]) -> Iterator[Grant]:
        """What was refused permanently in a session with these directories, as in `of`."""
        return (grant for grant, _ in self._of(roots, refusals=True))

    def add(self, grant: Grant, workspace: Path, risks: Collection[str] = ()) -> None:
        """Keep a grant.

        Args:
            risks: the dangers that it was given for.
            workspace: the session's own directory, resolved.

        Raises:
            KeptGrantsError: it could not be stored; the file is as it was.
        """
        record = record_of(grant, workspace, _now(), risks)
        if record is None:
            raise KeptGrantsError("A yes as wide as this is not kept for later sessions.")
        self._add(record)

    def add_refusal(self, refused: SameThing) -> None:
        """Keep a no.

        Raises:
            KeptGrantsError: it could not be stored; the file is as it was.
        """
        record = refusal_of(refused, _now())
        if record is None:
            raise KeptGrantsError("A no to this is not kept for later sessions.")
        self._add(record)

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

    def _of(self, roots: tuple[Path, ...], *, refusals: bool) -> Iterator[tuple[Grant, frozenset[str]]]:
        for kept in self.all():
            if kept.grant is not None and kept.record.is_refusal == refusals and kept.record.applies_in(roots):
                yield kept.grant, kept.record.risks

    def _add(self, record: GrantRecord) -> None:
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
