"""A session whose person says yes for as long as a card offers, to see what a yes covers and what asks again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agent_core.cancel import CancelToken
from tools.approval.actions import Action, RunCommand
from tools.approval.approvals import Approvals
from tools.approval.gate import Gate
from tools.approval.grants import Grants, KeptGrants
from tools.approval.policy import Confines, Rules
from tools.approval.questions import Answer, Question
from tools.approval.scopes import Scope
from tools.errors import Denied
from tools.ports import Interrupt


class AlwaysSession:
    """Commands of a session in which everything asks, in a sandbox.

    Args:
        root: its directory.
        scope: which yes is given; None gives the widest that the card has.
        kept: answers of earlier sessions; with it a yes is kept for later ones where the card has such.
        roots: more directories.
    """

    def __init__(
        self,
        root: Path,
        scope: Scope | None = None,
        *,
        kept: KeptGrants | None = None,
        roots: Sequence[Path] = (),
        asks_all: bool = True,
    ) -> None:
        self.root = root
        self.asked: list[Question] = []
        self._scope = scope
        self._keeps = kept is not None
        self._says_yes = True
        self._token = CancelToken()
        rules = Rules((root, *roots), confines=Confines(lambda: ""), asks_all=asks_all)
        self.grants = Grants(kept, (root, *roots))
        self.approvals = Approvals(rules, approver=self, grants=self.grants)

    def ask(self, question: Question, interrupt: Interrupt) -> Answer:
        """Answer as the person does."""
        self.asked.append(question)
        if not self._says_yes:
            return Answer(allowed=False)
        offered = question.keeps if self._keeps else question.reaches
        scopes = [grant.scope for grant in offered if self._scope in {None, grant.scope}]
        return Answer(allowed=True, scope=scopes[-1], always=self._keeps) if scopes else Answer(allowed=True)

    def always(self, command: str, cwd: Path | None = None) -> Question:
        """Run a command for which the person says yes for longer than once; the question."""
        return self.always_do(RunCommand(command, cwd or self.root))

    def always_do(self, action: Action) -> Question:
        """As `always`, of any action."""
        before = len(self.asked)
        self.approvals.begin_answer()
        self._gate().authorize(action)
        assert len(self.asked) == before + 1, f"not asked about: {action}"
        return self.asked[-1]

    def asks(self, command: str, cwd: Path | None = None) -> bool:
        """Whether a command is asked about, or refused outright; nothing is answered for longer."""
        return self.asks_to(RunCommand(command, cwd or self.root))

    def asks_to(self, action: Action) -> bool:
        """As `asks`, of any action."""
        self.approvals.begin_answer()
        self._says_yes = False
        try:
            self._gate().authorize(action)
        except Denied:
            return True
        finally:
            self._says_yes = True
        return False

    def _gate(self) -> Gate:
        return Gate(self.approvals, "call", self._token, lambda _: None)
