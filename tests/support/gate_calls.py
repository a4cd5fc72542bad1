"""A session's approvals for tests of the gate: calls that ask, side by side or not, and a person who takes time."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path

from agent_core.cancel import CancelToken
from tools.approval.actions import Action, RunCommand, WritePath
from tools.approval.approvals import Approvals
from tools.approval.gate import Gate
from tools.approval.policy import Mode, Rules
from tools.approval.questions import Answer, Approver, Question
from tools.errors import Denied, ToolInterrupted
from tools.ports import Interrupt

ROOT = Path("/srv/project")
EDIT = WritePath(ROOT / "a.py", b"1", b"2", shown=ROOT / "a.py")
DANGEROUS = RunCommand("rm a.py", ROOT)
YES, NO = Answer(allowed=True), Answer(allowed=False)


class Case:
    """The approvals of one session and the token of one turn, with a gate for each call."""

    def __init__(
        self, approver: Approver | None = None, mode: Mode = "default", approvals: Approvals | None = None
    ) -> None:
        self.token = CancelToken()
        self.allowed = 0
        self.approvals = approvals or Approvals(Rules(roots=(ROOT,)), mode, approver)

    def gate(self, call: str = "call-1") -> Gate:
        return Gate(self.approvals, call, self.token, on_allowed=self._count)

    def _count(self, action: Action) -> None:
        self.allowed += 1


@dataclass
class SlowApprover:
    """Holds every question until `answer` is set; leaves one that was withdrawn as the editor's approver does."""

    answer: Answer | None = None
    asked: list[Question] = field(default_factory=list)

    def ask(self, question: Question, interrupt: Interrupt) -> Answer:
        self.asked.append(question)
        if not interrupt.wait_for(lambda: self.answer is not None, 10):
            assert interrupt.is_set(), "nobody answered in time"
            raise ToolInterrupted
        assert self.answer is not None
        return self.answer


class Calls:
    """Calls of one turn that ask side by side; the first has the id `call-{first}`."""

    def __init__(self, case: Case, *actions: Action, first: int = 0) -> None:
        self._first = first
        self.outcomes = [""] * len(actions)
        self._threads = [
            threading.Thread(target=self._work, args=(case, number, action)) for number, action in enumerate(actions)
        ]
        for thread in self._threads:
            thread.start()

    def _work(self, case: Case, number: int, action: Action) -> None:
        call = f"call-{self._first + number}"
        try:
            case.gate(call).authorize(action)
            self.outcomes[number] = "allowed"
        except (Denied, ToolInterrupted) as problem:
            self.outcomes[number] = type(problem).__name__
        finally:
            case.approvals.queue.leave(call)

    def end(self) -> list[str]:
        """Wait for all; «allowed» or the exception's name of each."""
        for thread in self._threads:
            thread.join(10)
        return self.outcomes
