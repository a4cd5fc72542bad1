"""The gate in front of every effect: one per tool call, asked by the ports that the call holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.approval.actions import Action, ReadPath, WritePath
from tools.approval.approvals import Approvals
from tools.approval.policy import ALLOW, Decision
from tools.approval.questions import Answer, Approver, NobodyToAsk, Question
from tools.approval.refusals import denied, said_no
from tools.approval.scopes import reaches
from tools.context import Interrupt
from tools.errors import Denied, ToolInterrupted

__all__ = ["Answer", "Approvals", "Approver", "Gate", "NobodyToAsk", "Question"]


class Gate:
    """Lets one tool call's effects through, or not. `call_id` is the call's."""

    def __init__(
        self, approvals: Approvals, tool_call_id: str, interrupt: Interrupt, on_allowed: Callable[[Action], None]
    ) -> None:
        self.call_id = tool_call_id
        self._approvals = approvals
        self._interrupt = interrupt
        self._on_allowed = on_allowed
        self._readable: set[Path] = set()
        self._held: list[Action] | None = None

    @property
    def is_planning(self) -> bool:
        """Whether the session is in plan mode, in which only what surely changes nothing may happen."""
        return self._approvals.mode == "plan"

    def authorize(self, action: Action) -> None:
        """Return when `action` may happen.

        Raises:
            Denied: it may not; the message says why and what the model should do.
            ToolInterrupted: the turn is over.
        """
        self._check_turn()
        # A yes to reading a path is a yes for the whole call, however many times it has to look.
        if isinstance(action, ReadPath) and action.path in self._readable:
            return
        decision = self._decided(action)
        if decision.verdict == "deny":
            raise Denied(denied(action, decision))
        self._check_turn()
        if isinstance(action, ReadPath):
            self._readable.add(action.path)
        if self._held is None:
            self._on_allowed(action)
        else:
            self._held.append(action)

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

    def _decided(self, action: Action) -> Decision:
        """The decision, once nobody has to be asked any more."""
        approvals = self._approvals
        while True:
            seen = approvals.changes
            decision = approvals.decide(action)
            if decision.verdict != "ask":
                return decision
            question = self._question(action, decision)
            answer = approvals.put(question, self._interrupt, seen, lambda: approvals.decide(action).verdict != "ask")
            if answer is None:
                continue
            if not answer.allowed:
                raise Denied(said_no(action, answer))
            # Meanwhile the mode may have become one in which a yes does not help.
            now = approvals.decide(action)
            return now if now.verdict == "deny" else ALLOW

    def _question(self, action: Action, decision: Decision) -> Question:
        # Where every edit is to be shown, none may be allowed beforehand.
        is_shown_always = isinstance(action, WritePath) and self._approvals.edits == "ask"
        wider = reaches(action, self._approvals.rules.roots, is_risky=decision.is_risky)
        return Question(
            self.call_id,
            action,
            decision.reason,
            is_risky=decision.is_risky,
            reaches=() if is_shown_always else wider,
            no_lasts=True,
            no_explains=True,
        )

    def _check_turn(self) -> None:
        if self._interrupt.is_set():
            raise ToolInterrupted
