"""What the person has answered for longer than once: exactly as far as the answer said, nothing wider."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from tools.approval.actions import Action, CallMcpTool
from tools.approval.grant_records import PLACED_KINDS, GrantRecord
from tools.approval.grant_words import words_of
from tools.approval.kept_file import KeptGrantsError
from tools.approval.kept_grants import KeptGrant, KeptGrants
from tools.approval.mcp_pins import ToolPin, closest
from tools.approval.scopes import Grant, OfServer, SameThing, same_thing
from tools.light_dataclass import dataclass


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


class PastAnswers(Protocol):
    """Where answers are kept that reach beyond once; safe to use from several threads."""

    @property
    def keeps(self) -> bool:
        """Whether a yes can be kept for later sessions."""
        ...

    @property
    def problem(self) -> str:
        """What is wrong with those that are kept, for the person; '' if nothing is."""
        ...

    def allow(self, grant: Grant, risks: Collection[str] = (), *, always: bool = False) -> str:
        """From now on `grant` is allowed, with `always` in later sessions too.

        Args:
            risks: the dangers that the person was shown; it allows nothing that has another one.

        Returns:
            why it holds for this session only, though it was to be kept; '' where all is as wanted.
        """
        ...

    def refuse(self, action: Action, *, always: bool = False) -> str:
        """From now on the same thing as `action` is refused, with `always` in later sessions too.

        Returns:
            as `allow`.
        """
        ...

    def allows(self, action: Action, risks: Collection[str] = ()) -> bool:
        """True when an earlier yes reaches this, and was given for everything that is dangerous in it."""
        ...

    def why_outdated(self, action: CallMcpTool) -> str:
        """Why an earlier yes to a tool of that name is not one to what the tool is now, in words that follow "because
        it"; '' where there was no such yes.
        """
        ...

    def refuses(self, action: Action) -> bool:
        """True when an earlier no was for this same thing."""
        ...

    def listed(self) -> Sequence[PastAnswer]:
        """Every answer that counts, this session's first, each kind in the order they were given."""
        ...

    def revoke(self, answer: PastAnswer) -> None:
        """Take one of `listed` back.

        Raises:
            KeptGrantsError: it is not there any more, or could not be taken back.
        """
        ...

    def forget_refusals(self) -> int:
        """Take back every no; how many there were."""
        ...


class Grants:
    """The answers of one session, in memory, and those that are kept for good. Implements `PastAnswers`.

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
        """As in `PastAnswers`."""
        return self.kept is not None

    @property
    def problem(self) -> str:
        """As in `PastAnswers`."""
        return "" if self.kept is None else self.kept.problem

    def allow(self, grant: Grant, risks: Collection[str] = (), *, always: bool = False) -> str:
        """As in `PastAnswers`."""
        why = self._not_kept("yes", lambda kept: kept.add(grant, self._roots[0], risks)) if always else ""
        if not always or why:
            with self._lock:
                self._allowed[grant] = self._allowed.get(grant, frozenset()).union(risks)
        return why

    def refuse(self, action: Action, *, always: bool = False) -> str:
        """As in `PastAnswers`; what is asked anew each time is not refused for ever."""
        same = _refusable(action)
        if same is None:
            return ""
        why = self._not_kept("no", lambda kept: kept.add_refusal(same)) if always else ""
        if not always or why:
            with self._lock:
                self._refused[same] = None
        return why

    def allows(self, action: Action, risks: Collection[str] = ()) -> bool:
        """As in `PastAnswers`."""
        with self._lock:
            allowed = tuple(self._allowed.items())
        kept = () if self.kept is None else self.kept.of(self._roots)
        return any(
            given.issuperset(risks) and grant.covers(action, is_risky=bool(risks))
            for grant, given in itertools.chain(allowed, kept)
        )

    def why_outdated(self, action: CallMcpTool) -> str:
        """As in `PastAnswers`."""
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
        """As in `PastAnswers`."""
        same = _refusable(action)
        with self._lock:
            if same in self._refused:
                return True
        return self.kept is not None and any(same == refused for refused in self.kept.refused(self._roots))

    def listed(self) -> Sequence[PastAnswer]:
        """As in `PastAnswers`."""
        with self._lock:
            allowed, refused = tuple(self._allowed), tuple(self._refused)
        kept = () if self.kept is None else self.kept.all()
        return (
            *(PastAnswer(words_of(grant), allowed=True, grant=grant) for grant in allowed),
            *(PastAnswer(words_of(same), allowed=False, grant=same) for same in refused),
            *(listed_grant(one) for one in kept if one.record.applies_in(self._roots)),
        )

    def revoke(self, answer: PastAnswer) -> None:
        """As in `PastAnswers`."""
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
        """As in `PastAnswers`."""
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
