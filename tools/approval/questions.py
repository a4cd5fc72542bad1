"""What the person is asked about an action, and what they answer."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from tools.approval.actions import Action, WritePath
from tools.approval.policy import Mode
from tools.approval.scopes import Grant, Scope
from tools.light_dataclass import dataclass
from tools.ports import Interrupt


@dataclass(frozen=True, slots=True)
class Question:
    """What the person is asked: may this action of this tool call happen?

    Attributes:
        reason: why it is asked, in words that follow «because it …»; '' where that needs none.
        others: files to which the same is to happen; one answer is for all.
        also: further changes that the same answer is for, to be shown like the first.
        is_risky: whoever does not look should rather say no.
        reaches: how much wider than once a yes may be.
        keeps: of these, what may be kept for later sessions.
        no_lasts: a no may be for the rest of the session.
        no_keeps: a no may be kept for later sessions.
        no_explains: there is somebody to hear why not.
        shows_edits: each edit is shown first, whatever the mode.
        risks: the dangers among the reasons, each by itself: a yes that lasts is given for these.
        asker: who asks, for the person; '' for the session's own agent.
    """

    tool_call_id: str
    action: Action
    reason: str
    others: tuple[Path, ...] = ()
    also: tuple[WritePath, ...] = ()
    is_risky: bool = False
    reaches: tuple[Grant, ...] = ()
    keeps: tuple[Grant, ...] = ()
    no_lasts: bool = False
    no_keeps: bool = False
    no_explains: bool = False
    shows_edits: bool = False
    risks: tuple[str, ...] = ()
    asker: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a question.

    Attributes:
        scope: how far the yes or the no reaches; a no is for once or for the session.
        always: it is kept for later sessions.
        note: why the answer is no although nobody said so (time-out, disconnect).
        words: what the person said with their no.
        mode: for `LeavePlan`, the mode to go on in.
    """

    allowed: bool
    scope: Scope = "once"
    always: bool = False
    note: str = ""
    words: str = ""
    mode: Mode | None = None


class Approver(Protocol):
    """Whoever can put a question to the person."""

    def ask(self, question: Question, interrupt: Interrupt) -> Answer:
        """Block until there is an answer; anything but a clear yes is a no.

        Raises:
            ToolInterrupted: `interrupt` was set: the turn is over, or the question became needless.
        """
        ...


class NobodyToAsk:
    """The approver of a session without a person: what would have to be asked is refused."""

    def ask(self, question: Question, interrupt: Interrupt) -> Answer:  # noqa: ARG002 - the port's signature
        """Refuse."""
        return Answer(allowed=False, note="there is nobody to ask")
