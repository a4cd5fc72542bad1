"""A session's permissions: where its person, or a model in their place, is asked; and the end of a plan."""

from __future__ import annotations

import copy
import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Literal

from tools.approval.actions import Action, LeavePlan, RunCommand, describe
from tools.approval.grants import Grants, PastAnswer, WiderAnswer
from tools.approval.policy import Decision, EditPolicy, Mode, Rules, decide
from tools.approval.questions import (
    Answer,
    Approver,
    AskedTime,
    NobodyToAsk,
    OpenQuestion,
    Question,
    QuestionQueue,
    Watch,
)
from tools.approval.scopes import Grant
from tools.errors import ToolInterrupted
from tools.light_dataclass import dataclass
from tools.ports import Interrupt

# Who may say yes in the person's place.


Judge = Callable[[RunCommand, str, Interrupt], str]
"""Judges commands whose every danger comes back by itself, inside the session's directories, and nothing else: why
one need not be asked about, in a few words; '' if it must be, or nobody can tell. It is told what the command would
be asked about for, in words that follow «because it …», and may raise `ToolInterrupted`.
"""


# The session's permissions.

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Now:
    """What everybody who works for a session shares: how things stand, whether anybody of them has read what others
    wrote, and how much wider a yes of this session could have been.
    """

    chosen: tuple[Mode, EditPolicy]
    changes: int = 0
    has_read_others: bool = False
    wider: dict[Grant, tuple[WiderAnswer, ...]] = field(default_factory=dict)


@dataclass(slots=True)
class _Refused:
    """What was refused to the calls of the model's last answer, each with the paths that it named.

    Attributes:
        above: of a sub-agent, the same of whose answer it works for.
    """

    actions: list[tuple[Action, frozenset[Path]]] = field(default_factory=list)
    above: _Refused | None = None


class Approvals:
    """Mode, edit policy, rules and answers of one session; safe to use from several threads.

    Whoever changes the mode, the edit policy or the answers makes waiting questions be decided again.

    Attributes:
        approver: who is asked.
        grants: what was answered for longer than once.
        judge: who may say yes in the person's place to what comes back by itself; None: nobody.
        advice: is asked before the person is: their answer, given beforehand, or None where they are to be asked.
        on_note: is told what the person should know of their answers, and of the judge's.
        asked: what the person was asked on behalf of a call that makes others.
        asker: who asks, for the person; '' for the session's own agent.
        refused_now: what was refused to the calls of the model's last answer.
        queue: where parallel calls wait to ask, so that the first answer («always») can spare the next; it is
            told their order, and of each that asks no more.
    """

    def __init__(
        self,
        rules: Rules,
        mode: Mode = "default",
        approver: Approver | None = None,
        *,
        edits: EditPolicy = "mode",
        grants: Grants | None = None,
        judge: Judge | None = None,
        warnings: tuple[str, ...] = (),
    ) -> None:
        self.rules = rules
        self.approver = approver or NobodyToAsk()
        self.grants = grants or Grants()
        self.judge = judge
        self._warnings = warnings
        self.advice: Callable[[Question, Interrupt], Answer | None] | None = None
        self.on_note: Callable[[str], None] = log.warning
        self.asker = ""
        self._now = _Now((mode, edits))
        self._lock = threading.Lock()
        self._listeners: list[Callable[[], None]] = []
        self.queue = QuestionQueue()
        self.asked = AskedTime()
        self.refused_now = _Refused()

    def for_another(self, asker: str, *, rules: Rules | None = None, approver: Approver | None = None) -> Approvals:
        """The same mode, answers and place to ask in, at every moment, for somebody who works for this session.

        Args:
            asker: who that is, for the person.
            rules: in place of these: where it works.
            approver: who is asked, in place of the person.
        """
        other = copy.copy(self)
        other.asker = asker
        other.rules = rules or self.rules
        other.approver = approver or self.approver
        other.refused_now = _Refused(above=self.refused_now)
        return other

    @property
    def changes(self) -> int:
        """How often something changed."""
        return self._now.changes

    @property
    def mode(self) -> Mode:
        """The permission mode."""
        return self._now.chosen[0]

    @mode.setter
    def mode(self, mode: Mode) -> None:
        self.choose(mode=mode)

    @property
    def edits(self) -> EditPolicy:
        """Whether edits are asked about as the mode says, or always."""
        return self._now.chosen[1]

    @edits.setter
    def edits(self, edits: EditPolicy) -> None:
        self.choose(edits=edits)

    def choose(
        self, mode: Mode | None = None, edits: EditPolicy | None = None, *, before: Mode | None = None
    ) -> bool:
        """Change what is given, both at once, so that nothing is decided by the one without the other.

        Args:
            before: the mode that it must be until now, or nothing is changed.

        Returns:
            False where it was another one than `before`.
        """
        with self._lock:
            if before not in {None, self.mode}:
                return False
            chosen = mode or self.mode, edits or self.edits
            is_new, self._now.chosen = chosen != self._now.chosen, chosen
        if is_new:
            self._changed()
        return True

    def decide(self, action: Action) -> Decision:
        """Whether `action` may happen as things are now."""
        mode, edits = self._now.chosen
        return decide(
            action,
            mode,
            self.rules,
            self.grants,
            edits,
            has_read_others=self._now.has_read_others,
            refused_before=self._refused_before(action),
        )

    def begin_answer(self) -> None:
        """The model has read what was refused to the calls of its last answer."""
        self.refused_now.actions = []

    def note_refusal(self, actions: Sequence[Action]) -> None:
        """A call was refused this: what it named, no other call of the same answer changes unasked."""
        from tools.approval.commands.command_rules import paths_of  # noqa: PLC0415 - most answers are refused nothing

        self.refused_now.actions += [(action, paths_of(action, self._cwd)) for action in actions]

    @property
    def _cwd(self) -> Path:
        return self.rules.roots[0] if self.rules.roots else Path("/")

    def _refused_before(self, action: Action) -> str:
        """What of the same answer was refused that `action` may change, '' for nothing."""
        refused: _Refused | None = self.refused_now
        while refused is not None:
            if refused.actions:
                from tools.approval.commands.command_rules import changes_any  # noqa: PLC0415 - as above

                for each, paths in list(refused.actions):
                    if changes_any(action, paths, self._cwd):
                        return describe(each)
            refused = refused.above
        return ""

    @property
    def has_read_others(self) -> bool:
        """Whether the session, or somebody who works for it, has read what others wrote."""
        return self._now.has_read_others

    def note_others(self) -> None:
        """What others wrote is read, or is in the history."""
        self._now.has_read_others = True

    def forget_others(self) -> None:
        """The session's history holds nothing of that any more."""
        self._now.has_read_others = False

    def take_warnings(self) -> tuple[str, ...]:
        """What the person should know before anything is decided: once, whoever asks first."""
        with self._lock:
            warnings, self._warnings = self._warnings, ()
        return warnings

    def judged(self, action: Action, decision: Decision, turn: Interrupt) -> str:
        """Why `action` need not be asked about, as the judge sees it and the person reads it; '' if it must be.

        Raises:
            ToolInterrupted: the turn is over.
        """
        if self.judge is None or not decision.undoable or not isinstance(action, RunCommand):
            return ""
        why = self.judge(action, decision.reason, turn)
        if not why:
            return ""
        note = f"Allowed by the model's judgement: {why}"
        self.on_note(f"{note} ({describe(action)})")
        return note

    def revoke(self, answer: PastAnswer) -> None:
        """Take back an answer of `grants.listed`.

        Raises:
            KeptGrantsError: it is not there any more, or could not be taken back.
        """
        self.grants.revoke(answer)
        self._changed()

    def wider(self, answer: PastAnswer) -> tuple[WiderAnswer, ...]:
        """How much wider a yes of `grants.listed` could have been, as its question has it, the narrowest first."""
        if answer.grant is None or not answer.allowed or answer.record is not None:
            return ()
        with self._lock:
            return self._now.wider.get(answer.grant, ())

    def widen(self, answer: PastAnswer, wider: WiderAnswer) -> None:
        """Let a yes reach as far as one of its `wider` does."""
        if why := self.grants.allow(wider.grant, wider.risks, always=wider.always):
            self.on_note(why)
        with self._lock:
            if answer.grant is not None:
                left = (each for each in self._now.wider.get(answer.grant, ()) if each != wider)
                self._now.wider[answer.grant] = tuple(left)
        self._changed()

    def forget_refusals(self) -> int:
        """Take back every no of the session; how many there were."""
        number = self.grants.forget_refusals()
        if number:
            self._changed()
        return number

    def on_change(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` after each change, on the thread that made it; it must be short and must not raise.

        Returns:
            a function that forgets the listener.
        """
        with self._lock:
            self._listeners.append(listener)
        return lambda: self._forget(listener)

    def put(
        self,
        question: Question,
        turn: Interrupt,
        seen: int,
        is_needless: Callable[[], bool],
        *,
        parent: str = "",
        counts: bool = True,
    ) -> Answer | None:
        """Ask the person once it is this call's turn and nobody else is asked; what lasts of the answer is kept.

        Args:
            seen: `changes` from before it was decided to ask.
            is_needless: whether, as things are now, nobody has to be asked.
            parent: the call that makes this one, for which it counts what comes of it; '' for the model itself.
            counts: that the same was refused to `parent` before is an answer.

        Returns:
            the answer; None when something changed, so that it has to be decided again.

        Raises:
            Denied: the person has said no to that, or too often, on behalf of `parent`.
            ToolInterrupted: the turn is over; an answer that came too late is not kept.
        """
        question = replace(question, asker=self.asker)
        with self.asked.asking_for(parent) as watch:
            if watch is not None:
                watch.refuse_again(question.action, counts=counts)
            place = self.queue.place(question.tool_call_id, turn, lambda: self.changes != seen)
            with place as is_mine:
                if not is_mine or self.changes != seen:
                    return None
                if watch is not None:
                    watch.refuse_again(question.action, counts=counts)
                asked = OpenQuestion(turn, lambda: self.changes, seen, is_needless)
                answer = self._ask(question, turn, asked, watch)
                if turn.is_set():
                    raise ToolInterrupted
                if answer is not None:
                    self._keep(question, answer)
                return answer

    def _ask(self, question: Question, turn: Interrupt, asked: OpenQuestion, watch: Watch | None) -> Answer | None:
        if self.advice is not None and (advised := self.advice(question, turn)) is not None:
            return advised
        forget = self.on_change(asked.notify)
        try:
            answer = self.approver.ask(question, asked)
        except ToolInterrupted:
            if turn.is_set() or not asked.is_withdrawn:
                raise
            return None
        finally:
            forget()
        if watch is not None:
            watch.heard(question.action, allowed=answer.allowed)
        return answer

    def _keep(self, question: Question, answer: Answer) -> None:
        if not answer.allowed and answer.scope == "session" and question.no_lasts:
            if why := self.grants.refuse(question.action, always=answer.always and question.no_keeps):
                self.on_note(why)
            self._changed()
        # A scope that was not offered is no wider than once.
        offered = question.keeps if answer.always else question.reaches
        grant = next((grant for grant in offered if grant.scope == answer.scope), None)
        if answer.allowed and grant is not None:
            if not answer.always:
                with self._lock:
                    self._now.wider[grant] = _wider_than(grant, question)
            if why := self.grants.allow(grant, question.risks, always=answer.always):
                self.on_note(why)
            self._changed()

    def _changed(self) -> None:
        with self._lock:
            self._now.changes += 1
            listeners = list(self._listeners)
        for listener in listeners:
            listener()
        self.queue.wake()

    def _forget(self, listener: Callable[[], None]) -> None:
        with self._lock:
            if listener in self._listeners:
                self._listeners.remove(listener)


def _wider_than(grant: Grant, question: Question) -> tuple[WiderAnswer, ...]:
    reached = question.reaches[question.reaches.index(grant) + 1 :]
    return (
        *(WiderAnswer(each, always=False, risks=question.risks) for each in reached),
        *(WiderAnswer(each, always=True, risks=question.risks) for each in question.keeps[:1]),
    )


# Leaving plan mode: the person sees the plan, and says in which mode the session goes on.

PLAN_NOTE = (
    "[Plan mode is on: read and think, change nothing. Commands run read-only and without network, and where no "
    "sandbox can hold them to that, only those that surely change nothing. "
    "Ask what is unclear. When the plan is complete, call exit_plan_mode with it. "
    "Plan mode is over once that says so, or with a later prompt without this note.]"
)
"""What the model is told with a prompt that is sent in plan mode."""

_OF_A_SUB_AGENT = (
    "[Plan mode is on: read and think, change nothing. Commands run read-only and without network, and where no "
    "sandbox can hold them to that, only those that surely change nothing. "
    "Report what you found, and what you would change.]"
)


def plan_note(approvals: Approvals) -> str:
    """What a model is told with its prompt of the session's mode; '' where it need not be told anything."""
    if approvals.mode != "plan":
        return ""
    return _OF_A_SUB_AGENT if approvals.asker else PLAN_NOTE


@dataclass(frozen=True, slots=True)
class PlanAnswer:
    """What came of a plan.

    Attributes:
        outcome: `elsewhere`: the session is not in plan mode, or the person left it without an answer.
        mode: the mode that the session is in now, where the plan was approved; else None.
        words: what the person wants changed.
        note: why it was rejected although nobody said so (time-out, disconnect).
    """

    outcome: Literal["approved", "rejected", "elsewhere"]
    mode: Mode | None = None
    words: str = ""
    note: str = ""


def propose(approvals: Approvals, plan: str, tool_call_id: str, interrupt: Interrupt) -> PlanAnswer:
    """Show `plan` (Markdown) to the person on the card of the call; on a yes the session's mode changes.

    Raises:
        ToolInterrupted: the turn is over.
    """
    answer = None
    while answer is None:
        seen = approvals.changes
        if approvals.mode != "plan":
            return PlanAnswer("elsewhere")
        is_shown_always = approvals.edits == "ask"
        question = Question(tool_call_id, LeavePlan(plan), "", no_explains=True, shows_edits=is_shown_always)
        answer = approvals.put(question, interrupt, seen, lambda: approvals.mode != "plan")
    if not answer.allowed:
        return PlanAnswer("rejected", words=answer.words, note=answer.note)
    mode = answer.mode or "default"
    return PlanAnswer("approved", mode) if approvals.choose(mode, before="plan") else PlanAnswer("elsewhere")
