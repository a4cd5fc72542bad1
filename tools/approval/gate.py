"""The gate in front of every effect: one per tool call, asked by the ports that the call holds."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tools.approval.actions import (
    Action,
    CallOwnTool,
    ReadPath,
    ReadSecretFiles,
    RunCommand,
    WriteMemory,
    WritePath,
)
from tools.approval.approvals import Approvals
from tools.approval.policy import ALLOW, Decision, brings_others_words, denied_by
from tools.approval.questions import Answer, Approver, NobodyToAsk, Question, denied, said_no
from tools.approval.scopes import lasting, reaches
from tools.errors import Denied, ToolInterrupted
from tools.ports import FileHistory, Interrupt, NoHistory

__all__ = ["Answer", "Approvals", "Approver", "Gate", "NobodyToAsk", "Question"]

_REFUSED_BY_SOMEBODY = frozenset({"person", "rule", "rule-unclear", "floor"})
_TOLD_WITH_REASON = frozenset({"others", "refused"})


class Gate:
    """Lets one tool call's effects through, or not.

    `call_id` is the call's, `interrupt` ends it; `approvals` are its session's.
    """

    def __init__(
        self,
        approvals: Approvals,
        tool_call_id: str,
        interrupt: Interrupt,
        on_allowed: Callable[[Action], None],
        on_note: Callable[[str], None] = lambda _: None,
        *,
        parent: str = "",
        history: Callable[[], FileHistory] = NoHistory,
    ) -> None:
        """Make it.

        Args:
            parent: the call that makes this one, '' for the model itself.
            on_allowed: told of each action that may happen.
            on_note: told, for the call's card, who has allowed one in the person's place.
            history: makes what keeps what the call changes, once something is to be changed.
        """
        self.call_id = tool_call_id
        self.approvals = approvals
        self._parent = parent
        self.interrupt = interrupt
        self._on_allowed = on_allowed
        self._on_note = on_note
        self._make_history = history
        self._readable: set[tuple[Path, Path | None]] = set()
        self._held: list[Action] | None = None

    @property
    def is_planning(self) -> bool:
        """Whether the session is in plan mode, in which only what surely changes nothing may happen."""
        return self.approvals.mode == "plan"

    @property
    def asks_nobody(self) -> bool:
        """Whether the session is in the mode in which nobody is shown what runs."""
        return self.approvals.mode == "dont_ask"

    @functools.cached_property
    def history(self) -> FileHistory:
        """Keeps what files were before the call changes them."""
        return self._make_history()

    def within(self, interrupt: Interrupt) -> Gate:
        """The same gate for work that `interrupt` ends."""
        return Gate(self.approvals, self.call_id, interrupt, self._on_allowed, self._on_note, parent=self._parent)

    def hides(self, path: Path) -> bool:
        """Whether a rule of the user's denies reading `path` (absolute, resolved), so that it is not even named."""
        rules = self.approvals.rules
        return bool(rules.deny) and denied_by(ReadPath(path), rules.deny, rules.roots) is not None

    def authorize(self, action: Action) -> Decision:
        """Return when `action` may happen.

        Returns:
            the yes; of a command also whether it runs without the sandbox.

        Raises:
            Denied: it may not; the message says why and what the model should do.
            ToolInterrupted: the turn is over.
        """
        self._check_turn()
        # A yes to reading a path is a yes for the whole call, however many times it has to look.
        if isinstance(action, ReadPath) and (action.path, action.shown) in self._readable:
            return ALLOW
        return self._passed(action, self._decided(action))

    def authorize_together(self, changes: Sequence[WritePath]) -> None:
        """Return when all of these changes may happen: the person is asked once, and sees each.

        Raises:
            Denied: one of them may not, so none does. ToolInterrupted: the turn is over.
        """
        self._check_turn()
        asked = self.undecided(changes)
        if asked:
            first, *others = asked
            self._passed(first, self._decided(first, tuple(others)))
        for change in changes:
            if not asked or change is not asked[0]:
                self._on_allowed(change)

    def undecided(self, changes: Sequence[WritePath]) -> tuple[WritePath, ...]:
        """Those of these changes that the person has to be asked about.

        Raises:
            Denied: one of them may not be made.
        """
        asked: list[WritePath] = []
        for change in changes:
            decision = self.approvals.decide(change)
            if decision.verdict == "deny":
                raise self._denied(change, decision)
            if decision.verdict == "ask":
                asked.append(change)
        return tuple(asked)

    def _passed(self, action: Action, decision: Decision) -> Decision:
        if decision.verdict == "deny":
            raise self._denied(action, decision)
        self._check_turn()
        if isinstance(action, ReadPath):
            self._readable.add((action.path, action.shown))
        if not self.approvals.has_read_others and brings_others_words(action, self.approvals.rules):
            self.approvals.note_others()
        if self._held is None:
            self._on_allowed(action)
        else:
            self._held.append(action)
        if decision.note:
            self._on_note(decision.note)
        return decision

    def _denied(self, action: Action, decision: Decision) -> Denied:
        if decision.cause in _REFUSED_BY_SOMEBODY:
            self.approvals.note_refusal((action,))
        return denied(action, decision)

    def authorize_command(self, action: RunCommand) -> tuple[Decision, bool]:
        """As `authorize`; with whether it may only look, since the session is in plan mode by now.

        What was allowed in the one is decided again in the other: in plan mode a command that was to change something
        would do half of it, and what may run there only because it can change nothing may need a question elsewhere.
        """
        was_planning = self.is_planning
        decision = self.authorize(action)
        is_planning = self.is_planning
        return (self.authorize(action) if is_planning != was_planning else decision), is_planning

    def note(self, words: str) -> None:
        """Tell the person something about what was not asked, on the call's card."""
        self._on_note(words)

    def confirm(self, tool: str, why: str) -> None:
        """Ask the person whether this call of `tool` may go on, whatever the mode and their earlier answers say.

        Args:
            why: follows «because it …» or stands for itself.

        Raises:
            Denied: they say no, or nobody says yes. ToolInterrupted: the turn is over.
        """
        action, approvals = CallOwnTool(tool), self.approvals
        question = Question(self.call_id, action, why, no_explains=True)
        answer: Answer | None = None
        while answer is None:
            self._check_turn()
            # What is asked about is the call: that of this tool was refused before says nothing.
            answer = approvals.put(
                question, self.interrupt, approvals.changes, lambda: False, parent=self._parent, counts=False
            )
        if not answer.allowed:
            raise said_no(action, answer)

    @contextmanager
    def as_one(self) -> Iterator[None]:
        """What is authorized within counts as allowed once all of it is: nothing of it begins before."""
        held: list[Action] = []
        self._held = held
        try:
            yield
        finally:
            self._held = None
        for action in held:
            self._on_allowed(action)

    def _decided(self, action: Action, also: tuple[WritePath, ...] = ()) -> Decision:
        """The decision, once nobody has to be asked any more.

        Args:
            also: changes that the same answer is for.
        """
        approvals = self.approvals
        also = action.changes if isinstance(action, RunCommand) else also
        judged: str | None = None
        while True:
            seen = approvals.changes
            decision = approvals.decide(action)
            if decision.verdict != "ask":
                return decision
            if judged is None:
                judged = approvals.judged(action, decision, self.interrupt)
                if judged and approvals.changes != seen:
                    continue  # the judgement took time; what it was asked about may be decided by now
            if judged and decision.undoable:
                return Decision("allow", outside=decision.outside, note=judged)
            question = self._question(action, decision)
            if also:
                # No earlier yes and none that lasts: together they are another thing each time.
                question = replace(question, also=also, reaches=(), keeps=(), no_lasts=False)
            answer = approvals.put(
                question,
                self.interrupt,
                seen,
                lambda: approvals.decide(action).verdict != "ask",
                parent=self._parent,
            )
            if answer is None:
                continue
            if not answer.allowed:
                approvals.note_refusal((action, *also))
                raise said_no(action, answer, decision.reason if decision.cause in _TOLD_WITH_REASON else "")
            # Meanwhile the mode may have become one in which a yes does not help.
            now = approvals.decide(action)
            return now if now.verdict == "deny" else Decision("allow", outside=decision.outside)

    def _question(self, action: Action, decision: Decision) -> Question:
        # Where every edit is to be shown, none may be allowed beforehand.
        is_edit = isinstance(action, WritePath | WriteMemory)
        is_shown_always = decision.cause == "others" or (is_edit and self.approvals.edits == "ask")
        wider = () if is_shown_always else reaches(action, self.approvals.rules.roots, is_risky=decision.is_risky)
        if isinstance(action, RunCommand) and self.approvals.rules.is_elsewhere:
            wider = wider[:1]  # where the names in others like it lead would be looked up on this machine
        # What may come under a rule of the user's is theirs to decide each day anew.
        is_kept = self.approvals.grants.keeps and decision.cause != "rule-unclear"
        return Question(
            self.call_id,
            action,
            decision.reason,
            is_risky=decision.is_risky,
            reaches=wider,
            keeps=lasting(action, wider, is_risky=decision.is_risky) if is_kept else (),
            no_lasts=True,
            no_keeps=is_kept and isinstance(action, ReadSecretFiles),
            no_explains=True,
            risks=decision.risks,
        )

    def _check_turn(self) -> None:
        if self.interrupt.is_set():
            raise ToolInterrupted
