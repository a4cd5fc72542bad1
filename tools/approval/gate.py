"""The gate in front of every effect: one per tool call, asked by the ports that the call holds."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from tools.approval.actions import Action, ReadPath, describe
from tools.approval.grants import Grants
from tools.approval.policy import Decision, Mode, Rules, decide
from tools.context import Interrupt
from tools.errors import Denied, ToolInterrupted

Choice = Literal["allow_once", "allow_session", "reject_once"]


@dataclass(frozen=True, slots=True)
class Question:
    """What the person is asked: may this action of this tool call happen?

    Attributes:
        others: files to which the same is to happen; one answer is for all.
    """

    tool_call_id: str
    action: Action
    reason: str
    others: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """The person's choice; `note` says why a question was refused without a choice (time-out, disconnect)."""

    choice: Choice
    note: str = ""


class Approver(Protocol):
    """Whoever can put a question to the person."""

    def ask(self, question: Question, interrupt: Interrupt) -> Answer:
        """Block until there is an answer; anything but a clear yes is `reject_once`."""
        ...


class NobodyToAsk:
    """The approver of a session without a person: what would have to be asked is refused."""

    def ask(self, question: Question, interrupt: Interrupt) -> Answer:  # noqa: ARG002
        """Refuse."""
        return Answer("reject_once", "there is nobody to ask")


@dataclass(slots=True)
class Approvals:
    """A session's permissions: its mode, the user's rules, the grants so far, and who is asked."""

    rules: Rules
    mode: Mode = "default"
    approver: Approver = field(default_factory=NobodyToAsk)
    grants: Grants = field(default_factory=Grants)
    # Parallel calls ask one after the other, so that the first answer («always») can spare the next question.
    asking: threading.Lock = field(default_factory=threading.Lock)


class Gate:
    """Lets one tool call's effects through, or not."""

    def __init__(
        self, approvals: Approvals, tool_call_id: str, interrupt: Interrupt, on_allowed: Callable[[Action], None]
    ) -> None:
        self._approvals = approvals
        self._tool_call_id = tool_call_id
        self._interrupt = interrupt
        self._on_allowed = on_allowed
        self._readable: set[Path] = set()

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
        decision = self._decide(action)
        if decision.verdict == "ask":
            with self._approvals.asking:
                self._check_turn()
                decision = self._decide(action)
                if decision.verdict == "ask":
                    self._ask(action, decision.reason)
        if decision.verdict == "deny":
            raise Denied(
                f"Refused: «{describe(action)}» {decision.reason}. No mode allows it; do not try another way."
            )
        self._check_turn()
        if isinstance(action, ReadPath):
            self._readable.add(action.path)
        self._on_allowed(action)

    def _decide(self, action: Action) -> Decision:
        return decide(action, self._approvals.mode, self._approvals.rules, self._approvals.grants)

    def _ask(self, action: Action, reason: str) -> None:
        answer = self._approvals.approver.ask(Question(self._tool_call_id, action, reason), self._interrupt)
        self._check_turn()
        if answer.choice == "reject_once":
            cause = answer.note or "the user said no"
            raise Denied(
                f"Denied: «{describe(action)}» was not allowed ({cause}). Nothing was changed. "
                "Do not try to get the same effect another way; ask the user or go on without it."
            )
        if answer.choice == "allow_session":
            self._approvals.grants.add(action)

    def _check_turn(self) -> None:
        if self._interrupt.is_set():
            raise ToolInterrupted
