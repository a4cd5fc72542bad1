"""Questions to the person: what is asked, what a refusal says, and how questions wait for each other."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from tools.approval.actions import Action, ReadSecretFiles, WritePath, describe
from tools.approval.policy import Decision, Mode
from tools.approval.scopes import Grant, Scope
from tools.errors import Denied, ToolInterrupted
from tools.light_dataclass import dataclass
from tools.ports import Interrupt

# The question, and the answer.


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


# What is said of a refusal: to the model with what to do now, to the person without.

_MOST_RULES = 3
_NO_OTHER_WAY = "Do not try it again or another way; ask the user or go on without it."
_NO_SAME_EFFECT = "Do not try it again, or to get the same effect another way; ask the user or go on without it."


def denied(action: Action, decision: Decision) -> Denied:
    """The policy says no."""
    what = describe(action)
    if decision.cause == "person":
        return Denied(
            f"Refused: the user has said no to «{what}» for the rest of this session. {_NO_OTHER_WAY}",
            f'Rejected: you said no to "{what}" for the rest of this session.',
        )
    told = f"Refused: «{what}» {decision.reason}. {_advice(decision)}"
    mode = " In plan mode nothing is changed." if decision.cause == "plan" else ""
    return Denied(told, f'Refused: "{what}" {decision.reason}.{mode}')


def _advice(decision: Decision) -> str:
    match decision.cause:
        case "plan":
            return (
                "In plan mode you read and think, and nothing is changed; do not try another way. When the plan is "
                "complete, call exit_plan_mode with it: the user then decides."
            )
        case "network":
            return (
                "In this mode nobody is asked, and nobody has allowed that host. For a server of the user's own use "
                "the terminal (curl), or ask the user to set web.allow_private."
            )
        case "rule":
            return f"No mode and no answer changes that. {_NO_SAME_EFFECT}"
        case "others":
            return (
                "The user has to see such a text first, and in this mode nobody is asked. Nothing was changed; tell "
                "the user what you would have remembered."
            )
        case "secrets":
            return (
                "The user has said no to that, and in this mode nobody is asked. Commands that are proved to only "
                "look still run; ask the user, or go on without it."
            )
        case "refused":
            return f"In this mode nobody is asked. {_NO_SAME_EFFECT}"
        case "rule-unclear" | "outside":
            return (
                "In this mode nobody is asked. Write it plainly, do it in another way that needs no more than the "
                "session's directories, or ask the user."
            )
    return "No mode allows it; do not try another way."


def said_no_before(action: Action, *, to_all: bool) -> Denied:
    """A program goes on asking for what the person has refused.

    Args:
        to_all: not to this alone, but to all that it has asked for lately.
    """
    why = "what this program wants was refused several times in a row" if to_all else "it was refused before"
    return Denied(
        f"Denied: «{describe(action)}» was not asked about again ({why}). Nothing was changed. {_NO_SAME_EFFECT}",
        f"Rejected without a question: {why}.",
    )


def said_no(action: Action, answer: Answer, reason: str = "") -> Denied:
    """The person says no, or nobody says yes.

    Args:
        reason: why they were asked, in words that follow "because it", where the model should know it.
    """
    cause = answer.note or "the user said no"
    if reason:
        cause = f"{cause}; it had to be asked about because it {reason}"
    lasting = " This holds for the rest of the session." if answer.scope == "session" else ""
    words = f" The user said: «{answer.words}»" if answer.words else ""
    advice = "do as the user said" if answer.words else "ask the user or go on without it"
    rule = _rule_for(action)
    if rule:
        advice += f" ({rule} in the user's settings allows it without a question)"
    return Denied(
        f"Denied: «{describe(action)}» was not allowed ({cause}).{lasting}{words} Nothing was changed. "
        f"Do not try it again, or to get the same effect another way; {advice}.",
        _to_the_person(answer, rule),
        f"({answer.note or 'the user said no'}).{words}",
    )


def kept_in(no: Denied | None, *, asks_nobody: bool) -> str:
    """What the model is told of a command that the sandbox kept from something and that must not run without it."""
    if asks_nobody:
        return (
            "In this mode nobody is asked to let it run without the sandbox: do it in a way that needs no more than "
            "the session's directories, or ask the user."
        )
    because = no.because if no is not None and no.because else "(the user said no)."
    return (
        f"To run it without the sandbox was not allowed {because} Do not call it again with unsandboxed=true, and do "
        "not try to get the same effect another way; ask the user or go on without it."
    )


def _to_the_person(answer: Answer, rule: str) -> str:
    if answer.note:
        return f"Rejected: {answer.note}.{f' {rule} in your settings allows it without a question.' if rule else ''}"
    words = f' You said: "{answer.words}"' if answer.words else ""
    return f"Rejected{' for the rest of the session' if answer.scope == 'session' else ''}.{words}"


def _rule_for(action: Action) -> str:
    """The setting that would allow it; '' where there is none to name."""
    if not isinstance(action, ReadSecretFiles):
        return ""
    rules = ", ".join(f"read: {_from(action.project, path)}" for path in action.paths[:_MOST_RULES])
    return f"approvals.allow: [{rules}]"


def _from(project: Path, path: Path) -> Path:
    return path.relative_to(project) if path.is_relative_to(project) else path


# Of a call that makes others: how long its questions took, which is not its own time, and how many were in vain.

MOST_NOES = 5
"""After so many in a row nobody is asked any more for the call that they were for."""


class Stopwatch:
    """Runs while anybody is asked; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open = 0
        self._since = 0.0
        self._total = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """While it lasts, the person is asked."""
        with self._lock:
            if not self._open:
                self._since = time.monotonic()
            self._open += 1
        try:
            yield
        finally:
            with self._lock:
                self._open -= 1
                if not self._open:
                    self._total += time.monotonic() - self._since

    def seconds(self) -> float:
        """So far."""
        with self._lock:
            return self._total + (time.monotonic() - self._since if self._open else 0.0)


class Watch(Stopwatch):
    """Of one call: runs while calls that it makes ask the person, and knows what they have said no to.

    A loop may go on after a no, and the next question is as quickly asked as answered: it has to end by itself.
    """

    def __init__(self) -> None:
        super().__init__()
        self._refused: list[Action] = []
        self._in_a_row = 0

    def heard(self, action: Action, *, allowed: bool) -> None:
        """The person was asked about `action`; no answer is a no."""
        with self._lock:
            self._in_a_row = 0 if allowed else self._in_a_row + 1
            if not allowed:
                self._refused.append(action)

    def refuse_again(self, action: Action, *, counts: bool) -> None:
        """Let nobody be asked what was refused before, nor anything where that was too much.

        Args:
            counts: that the same was refused before is an answer.

        Raises:
            Denied: the person has said no to that, or too often.
        """
        with self._lock:
            was_refused = counts and action in self._refused
            is_enough = self._in_a_row >= MOST_NOES
        if was_refused or is_enough:
            raise said_no_before(action, to_all=not was_refused)


class AskedTime:
    """A watch for each call that is watched, by its id."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watches: dict[str, Watch] = {}

    @contextmanager
    def watching(self, call_id: str) -> Iterator[Watch]:
        """While it lasts, the calls that `call_id` makes are watched."""
        watch = Watch()
        with self._lock:
            self._watches[call_id] = watch
        try:
            yield watch
        finally:
            with self._lock:
                self._watches.pop(call_id, None)

    @contextmanager
    def asking_for(self, parent: str) -> Iterator[Watch | None]:
        """A call that `parent` makes asks, or waits for its turn to; '' for one that the model makes.

        Yields:
            the watch of `parent`, None where it is not watched.
        """
        with self._lock:
            watch = self._watches.get(parent)
        if watch is None:
            yield None
            return
        with watch.running():
            yield watch


# Worker threads wait with their questions: one after the other, in the order of their calls, as long as there is
# something to ask.


class QuestionQueue:
    """One question at a time. Calls that run side by side ask in the order of the calls, not of their threads; others
    as they come. Whoever waits is freed by the cancel of their own turn. Safe to use from several threads.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._taken = False
        self._waiting: list[Interrupt] = []
        self._calls: list[str] = []
        self._batches: list[list[str]] = []

    @contextmanager
    def in_order(self, calls: Sequence[str]) -> Iterator[None]:
        """While it lasts, each of `calls` asks after those before it, by their ids, have left."""
        batch = list(calls)
        with self._lock:
            self._batches.append(batch)
        try:
            yield
        finally:
            with self._lock:
                self._batches = [other for other in self._batches if other is not batch]
            self.wake()

    def leave(self, call: str) -> None:
        """A call asks no more: what it wants to do was allowed, or it has ended."""
        with self._lock:
            batch = next((batch for batch in self._batches if call in batch), None)
            if batch is None:
                return
            batch.remove(call)
        self.wake()

    @contextmanager
    def place(self, call: str, turn: Interrupt, is_needless: Callable[[], bool]) -> Iterator[bool]:
        """Be the one who asks; False, without that, where the question of `call` became needless first.

        Args:
            is_needless: looked at after each `turn.notify` and each `wake`; quick.

        Raises:
            ToolInterrupted: the turn is over.
        """
        is_mine = False

        def ready() -> bool:
            nonlocal is_mine
            with self._lock:
                is_mine = not self._taken and all(batch[0] == call for batch in self._batches if call in batch)
                self._taken = self._taken or is_mine
            return is_mine or is_needless()

        with self._lock:
            self._waiting.append(turn)
            self._calls.append(call)
        try:
            try:
                is_ready = turn.wait_for(ready)
            finally:
                with self._lock:
                    self._waiting.remove(turn)
            if not is_ready:
                raise ToolInterrupted
            yield is_mine
        finally:
            with self._lock:
                self._calls.remove(call)
                self._taken = self._taken and not is_mine
            if is_mine:
                self.wake()

    def is_asking(self, call: str) -> bool:
        """Whether a call asks the person, or waits to."""
        return call in self._calls

    @property
    def waiting(self) -> int:
        """How many wait: for a question before theirs, or a call that may have one."""
        with self._lock:
            return len(self._waiting)

    def wake(self) -> None:
        """Let everyone who waits look again."""
        with self._lock:
            waiting = list(self._waiting)
        for turn in waiting:
            turn.notify()


class OpenQuestion:
    """The interrupt of one question: that of its turn, or that there is nothing to ask any more.

    Implements `Interrupt`. What is to be asked is worked out again on the thread that waits, never on the one that
    changed something.
    """

    def __init__(
        self, turn: Interrupt, changes: Callable[[], int], seen: int, is_needless: Callable[[], bool]
    ) -> None:
        """Make it.

        Args:
            changes: counts what the question may depend on; whoever changes that calls `notify`.
            seen: the count when it was decided to ask.
            is_needless: whether, as things are now, nobody has to be asked.
        """
        self._turn = turn
        self._changes = changes
        self._seen = seen
        self._is_needless = is_needless
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], None]] = []
        self.is_withdrawn = False

    def is_set(self) -> bool:
        """True once the turn is over or the question is withdrawn."""
        return self.is_withdrawn or self._turn.is_set()

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Run `callback` once at the cancel or the withdrawal; returns a function that forgets it."""
        once = _Once(callback)
        with self._lock:
            if not self.is_withdrawn:
                self._callbacks.append(once)
        if self.is_withdrawn:
            once()
        forget = self._turn.on_cancel(once)

        def forget_both() -> None:
            forget()
            with self._lock:
                if once in self._callbacks:
                    self._callbacks.remove(once)

        return forget_both

    def wait_for(self, predicate: Callable[[], bool], timeout: float | None = None) -> bool:
        """Sleep until `predicate` holds (True); False after the cancel, the withdrawal or `timeout` seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self._look():
            remaining = None if deadline is None else deadline - time.monotonic()
            if not self._turn.wait_for(lambda: self._changes() != self._seen or predicate(), remaining):
                return False
            if self._changes() == self._seen:
                return True
        return False

    def notify(self) -> None:
        """Make the sleeper look again."""
        self._turn.notify()

    def _look(self) -> bool:
        """Whether the question is withdrawn, as things are now."""
        changes = self._changes()
        if changes == self._seen or self.is_withdrawn:
            return self.is_withdrawn
        self._seen = changes
        if not self._is_needless():
            return False
        with self._lock:
            self.is_withdrawn = True
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()
        return True


class _Once:
    """A callback that runs at most once."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self._callback: Callable[[], None] | None = callback
        self._lock = threading.Lock()

    def __call__(self) -> None:
        with self._lock:
            callback, self._callback = self._callback, None
        if callback is not None:
            callback()
