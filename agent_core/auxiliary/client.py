"""Side tasks of the agent's own: a title, a summary, a look at an image, advice on an approval.

A side task is answered in time or not at all. It never ends the turn that it is for, and nothing is waited for: the
task's own model is asked, then the session's, then the fallbacks, each once with each of its keys.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from agent_core.asking.route import Connect, Member
from agent_core.auxiliary.asking import Completion, Unanswered, ask_member
from agent_core.auxiliary.candidates import Identity, candidates, identity
from agent_core.auxiliary.question import AuxiliaryTaskName, Question, settings_of
from agent_core.config import ConfigSource, Configuration
from agent_core.errors import SettingsError, TurnInterrupted
from agent_core.interrupt import CancelToken
from agent_core.messages import Message
from agent_core.providers.choice import AsSet, ModelChoice, WindowSource
from agent_core.providers.error_patterns import Reason

log = logging.getLogger(__name__)

_LEFT_ALONE = 60.0
_LASTING: frozenset[Reason | None] = frozenset({"auth", "auth_permanent", "billing", "rate_limit"})

MemberOf = Callable[[Configuration, ModelChoice], Member]


class Alarm(Protocol):
    """Rings once, some time after its start; `threading.Timer` is one."""

    def start(self) -> None:
        """Begin to count."""
        ...

    def cancel(self) -> None:
        """Ring no more."""
        ...

    def join(self) -> None:
        """Wait until it rings no more."""
        ...


AlarmMaker = Callable[[float, Callable[[], None]], Alarm]


def timer(seconds: float, ring: Callable[[], None]) -> threading.Timer:
    """An alarm by the real time, on a thread of its own that holds up nobody's exit."""
    made = threading.Timer(seconds, ring)
    made.name, made.daemon = "side-task-limit", True
    return made


class AuxiliaryClient:
    """Asks models for side tasks; safe to use from several threads.

    Args:
        member: a model with the keys or the sign-in that it is asked with.
        connect: the connection to a model.
        clock: seconds, from any point in time.
        alarm: ends a task when its seconds are over.
        windows: who knows how large the models' windows are, beyond what is set; None: nobody.
    """

    def __init__(
        self,
        config: ConfigSource,
        member: MemberOf,
        connect: Connect,
        clock: Callable[[], float] = time.monotonic,
        alarm: AlarmMaker = timer,
        *,
        windows: WindowSource | None = None,
    ) -> None:
        self._config = config
        self._member = member
        self._connect = connect
        self._clock = clock
        self._alarm = alarm
        self._windows = windows or AsSet()
        self._lock = threading.Lock()
        self._left_alone: dict[Identity, float] = {}
        self._told: set[str] = set()

    def complete(
        self,
        task: AuxiliaryTaskName,
        messages: Sequence[Message],
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        token: CancelToken | None = None,
    ) -> Completion | None:
        """Ask until a model has answered or the task's time is over; None, and a line in the log, without an answer.

        Args:
            task: one of `question.TASKS`, or another name; its settings are `auxiliary.TASK`.
            messages: without tool calls, since no tools are sent with them.
            max_tokens: the answer's limit; models that think get room for it beside. The settings win.
            temperature: left out for models that take none.
            token: the cancel signal of the turn that the task is for.

        Raises:
            TurnInterrupted: `token` was cancelled.
        """
        if token is not None and token.is_set():
            raise TurnInterrupted
        try:
            config = self._config.load()
        except SettingsError as problem:
            log.warning("The side task %s has no answer: %s", task, problem.public)
            return None
        question = Question(task, messages, settings_of(config.settings, task), max_tokens, temperature)
        causes: list[str] = []
        try:
            with self._time_limit(question.seconds, token) as limit:
                answer = self._first_answer(config, question, limit, causes)
        except TurnInterrupted:
            if token is not None and token.is_set():
                raise
            answer = None
            causes.append(f"the {question.seconds:g} s of auxiliary.{task}.timeout are over")
        if answer is None:
            log.warning("The side task %s has no answer: %s", task, "; ".join(causes))
        return answer

    def window(self, task: AuxiliaryTaskName) -> int | None:
        """Tokens of the window of the model that is asked first for `task`; None where it is not known (yet)."""
        try:
            config = self._config.load()
        except SettingsError:
            return None
        choices, _ = candidates(config, Question(task, (), settings_of(config.settings, task)))
        if not choices:
            return None
        self._windows.begin(choices[0])
        return self._windows.fitted(choices[0]).context_length

    def _first_answer(
        self, config: Configuration, question: Question, limit: CancelToken, causes: list[str]
    ) -> Completion | None:
        choices, problems = candidates(config, question)
        self._tell(question.task, problems)
        causes += problems
        for choice in choices:
            try:
                return self._answer(config, choice, question, limit)
            except Unanswered as failure:
                causes.append(f"{choice.name}: {failure}")
            except TurnInterrupted:
                causes.append(f"{choice.name}: no answer yet")
                raise
            except Exception as problem:  # whatever a server sends, a side task ends no turn
                log.debug("the side task %s failed at %s", question.task, choice.name, exc_info=True)
                causes.append(f"{choice.name}: an unexpected {type(problem).__name__}")
        return None

    def _answer(
        self, config: Configuration, choice: ModelChoice, question: Question, limit: CancelToken
    ) -> Completion:
        with self._lock:
            if self._clock() < self._left_alone.get(identity(choice), float("-inf")):
                raise Unanswered(f"left alone for {_LEFT_ALONE:g} s since it failed")
        try:
            return ask_member(self._member(config, choice), self._connect, question, limit, self._windows)
        except Unanswered as failure:
            if failure.reason in _LASTING:
                with self._lock:
                    self._left_alone[identity(choice)] = self._clock() + _LEFT_ALONE
            raise

    def _tell(self, task: AuxiliaryTaskName, problems: Sequence[str]) -> None:
        """Log why models are left out: once, since it will be so each time."""
        with self._lock:
            news = [problem for problem in problems if problem not in self._told]
            self._told.update(news)
        for problem in news:
            log.warning("A model is left out of the side task %s. %s", task, problem)

    @contextlib.contextmanager
    def _time_limit(self, seconds: float, outer: CancelToken | None) -> Iterator[CancelToken]:
        """A token that is cancelled when the time is over, or with `outer`."""
        token = CancelToken()
        alarm = self._alarm(seconds, token.cancel)
        forget = outer.on_cancel(token.cancel) if outer is not None else None
        alarm.start()
        try:
            yield token
        finally:
            alarm.cancel()
            if forget is not None:
                forget()
            alarm.join()
