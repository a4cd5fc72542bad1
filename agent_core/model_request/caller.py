"""Asks until a model has answered: through limits, overloads, broken connections, exhausted keys and refused tools.

What a failure means is for `providers.errors.classify` to say, and what to do about it for `retry_policy.decide`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import Any

from agent_core.callbacks import AgentCallbacks, CallFinished, Status, StatusKind
from agent_core.cancel import CancelToken
from agent_core.compaction.session_compaction import TurnCompression
from agent_core.errors import ModelFailed, ProviderError, TurnInterrupted
from agent_core.mcp.names import PREFIX
from agent_core.messages import assistant_message, injected_message
from agent_core.model_request import retry_policy
from agent_core.model_request.fallback_chain import TurnRoute
from agent_core.model_request.history_filter import (
    Omissions,
    PrefixWatch,
    SeenHabits,
    has_images,
    has_sealed,
    rough_tokens,
)
from agent_core.model_request.response import CallIds, Collector, Reply, ask_once
from agent_core.model_request.retry_policy import Backoff, Change
from agent_core.providers.base import ModelRequest, Provider, Usage
from agent_core.providers.choice import ModelChoice
from agent_core.providers.errors import ClassifiedError, classify
from agent_core.providers.lessons import IMAGES, PLAIN, WORDS, Lessons, tool_lesson
from agent_core.providers.protocol import sent_attachments
from agent_core.turn import TurnHistory
from tools.light_dataclass import dataclass
from tools.result import error

# Tools whose schema the model's server refuses: found, left out of the requests, and remembered.
# Servers refuse the whole request for one tool, and some do not say for which: then small questions with some of the
# tools each tell.

_MOST_ROUNDS = 30
_MOST_QUESTIONS = 40
_QUESTION = "Answer with the word ok, and call no tool."
_ANSWER_TOKENS = 16

Tool = dict[str, Any]


class _CannotTell(Exception):
    """A question was refused for another reason."""


@dataclass(slots=True)
class RefusedTools:
    """What is left out of one turn's requests.

    Attributes:
        count: is told what each question used.
    """

    lessons: Lessons
    token: CancelToken
    count: Callable[[Usage, ModelChoice], None]
    _left_out: dict[str, str] = field(default_factory=dict)
    _rounds: int = 0
    _searched: bool = False

    def applied(self, request: ModelRequest, choice: ModelChoice) -> ModelRequest:
        """The request without the tools that the server is known to refuse."""
        learned = self.lessons.of(choice)
        if not learned and not self._left_out:
            return request
        known = {lesson.name for lesson in learned if lesson.tool} | self._left_out.keys()
        return replace(request, tools=tuple(tool for tool in request.tools if tool_lesson(tool) not in known))

    def is_open(self, failure: ClassifiedError, request: ModelRequest) -> bool:
        """Whether a tool may be what the server refuses, and there is a way left to find it."""
        if self._rounds >= _MOST_ROUNDS or not request.tools:
            return False
        if failure.reason == "tool_schema":
            return bool(_named(failure, request)) or not self._searched
        return failure.unexplained and not self._searched and any(map(_is_foreign, request.tools))

    def leave_out(
        self, failure: ClassifiedError, request: ModelRequest, provider: Provider, choice: ModelChoice
    ) -> tuple[str, ...]:
        """Leave out the tools that the server refuses; their names, none where they cannot be found.

        Args:
            request: that was refused.

        Raises:
            TurnInterrupted: the turn was cancelled.
        """
        self._rounds += 1
        found: Sequence[Tool] = _named(failure, request)
        if not found:
            self._searched = True
            found = self._find(failure, request, provider, choice)
        self._left_out |= {tool_lesson(tool): tool["function"]["name"] for tool in found}
        return tuple(tool["function"]["name"] for tool in found)

    def worked(self, choice: ModelChoice) -> tuple[str, ...]:
        """The request has its answer: what was left out stays so. The names of the tools that are new among them."""
        found, self._left_out, self._searched, self._rounds = self._left_out, {}, False, 0
        self.lessons.keep(choice, found.keys())
        return tuple(found.values())

    def begin_anew(self) -> None:
        """Another model is asked."""
        self._left_out, self._searched, self._rounds = {}, False, 0

    def _find(
        self, failure: ClassifiedError, request: ModelRequest, provider: Provider, choice: ModelChoice
    ) -> Sequence[Tool]:
        """The refused ones among the tools of MCP servers, else among all others.

        Where too many are refused to ask about each, all that are not known to be taken count as refused.
        """
        asked = itertools.count()

        def takes(tools: Sequence[Tool]) -> bool:
            return next(asked) < _MOST_QUESTIONS and self._takes(tools, failure, request, provider, choice)

        foreign = [tool for tool in request.tools if _is_foreign(tool)]
        own = [tool for tool in request.tools if not _is_foreign(tool)]
        try:
            # Where nobody says that it is a tool, and those of our own alone are refused, it is none of a server's.
            if not takes(()) or (failure.unexplained and own and not takes(own)):
                return ()
            return _refused_among(foreign, takes) or _refused_among(own, takes)
        except _CannotTell:
            return ()

    def _takes(
        self,
        tools: Sequence[Tool],
        failure: ClassifiedError,
        request: ModelRequest,
        provider: Provider,
        choice: ModelChoice,
    ) -> bool:
        question = ModelRequest(
            model=request.model,
            messages=({"role": "user", "content": _QUESTION},),
            tools=tuple(tools),
            max_tokens=_ANSWER_TOKENS,
            cache_ttl=None,
            words_only=True,
        )
        collector = Collector(AgentCallbacks(), CallIds(set()))
        try:
            ask_once(provider, question, self.token, collector)
        except ProviderError as problem:
            if collector.begun:
                return True
            found = classify(problem, choice)
            if found.reason == failure.reason:
                return False
            raise _CannotTell from problem
        finally:
            self.count(collector.usage, choice)
        return True


def _refused_among(
    tools: Sequence[Tool], takes: Callable[[Sequence[Tool]], bool], *, is_refused: bool = False
) -> list[Tool]:
    """Those that are refused by themselves.

    Args:
        is_refused: one of them is, as is known already.
    """
    if not tools or (not is_refused and takes(tools)):
        return []
    if len(tools) == 1:
        return list(tools)
    half = len(tools) // 2
    found = _refused_among(tools[:half], takes)
    return [*found, *_refused_among(tools[half:], takes, is_refused=not found)]


def _named(failure: ClassifiedError, request: ModelRequest) -> list[Tool]:
    """The tools of the request that the server names, by their names if it tells these."""
    by_name = [tool for tool in request.tools if tool["function"]["name"] in failure.tools]
    return by_name or [tool for place, tool in enumerate(request.tools) if place in failure.tools]


def _is_foreign(tool: Tool) -> bool:
    return str(tool["function"]["name"]).startswith(PREFIX)


# A refused request that nobody can explain: what is changed of it, one thing at a time, and what that teaches.
# First the fields that the server may not know, then images and other attachments, then the length of the
# conversation. A change that does not help is undone. One that helps is kept: for the server and the model for a
# week, or, of a conversation that was too long, as any other compression.

_MOST_TRIALS = 3
_WITH_OPTIONAL_FIELDS = frozenset({"chat_completions", "codex_responses"})
_WITHOUT = {
    "fields": "without optional fields",
    "attachments": "without the images and documents",
    "history": "with a shorter conversation",
}


@dataclass(slots=True)
class Trials:
    """The changes of one turn's requests.

    Attributes:
        without: the lessons that are tried with the request at hand.
    """

    history: TurnHistory
    compression: TurnCompression
    omissions: Omissions
    lessons: Lessons
    without: tuple[str, ...] = ()
    _made: int = 0
    _tried: set[Change] = field(default_factory=set)
    _now: Change | None = None
    _sealed_before: int = 0
    _was_told: bool = False

    def applied(self, request: ModelRequest) -> ModelRequest:
        """The request with what is tried."""
        return replace(request, without=self.without) if self.without else request

    def open(self, failure: ClassifiedError, choice: ModelChoice) -> tuple[Change, ...]:
        """What may still be changed of a request that failed, in order."""
        if failure.reason == "images_not_taken":
            return ("attachments",) if "attachments" not in self._tried and self._attachments(choice) else ()
        if not failure.unexplained or self._made >= _MOST_TRIALS:
            return ()
        ways: dict[Change, Callable[[], bool]] = {
            "fields": lambda: self._has_optional_fields(choice),
            "attachments": lambda: bool(self._attachments(choice)),
            "history": lambda: self.compression.is_open and self.compression.fills_half(choice),
        }
        return tuple(change for change, is_open in ways.items() if change not in self._tried and is_open())

    def begin(self, change: Change, failure: ClassifiedError, choice: ModelChoice) -> str | None:
        """Change the next request; how, for the person. None where that is not possible after all.

        Raises:
            TurnInterrupted: the turn was cancelled.
        """
        self._tried.add(change)
        self._was_told = failure.reason == "images_not_taken"
        self._made += failure.unexplained
        if change == "history" and not self.compression.refused(choice):
            return None
        self._now = change
        match change:
            case "fields":
                self.without = (PLAIN,)
            case "attachments":
                found = self._attachments(choice)
                self.without = (IMAGES,) if failure.reason == "images_not_taken" and IMAGES in found else found
                # A seal covers all that came before it: where that has changed, servers refuse it.
                self._sealed_before = self.omissions.sealed_before
                self.omissions.sealed_before = len(self.history.messages)
        return _WITHOUT[change]

    def begin_anew(self) -> None:
        """Another model is asked, of which nothing was tried yet."""
        self._tried.clear()

    def undo(self) -> None:
        """What is tried has not helped: the request is as it was."""
        if self._now == "history":
            self.compression.take_back()
        if self._now == "attachments":
            self.omissions.sealed_before = self._sealed_before
        self.without, self._now = (), None

    def worked(self, choice: ModelChoice) -> str:
        """The request has its answer: what that teaches is kept. What was learned, for the person; '' for nothing."""
        learned, tried, self.without, self._now = self.without, self._now, (), None
        if tried == "attachments" and not self._was_told and choice.facts.vision:
            # The model does see: it was something about these attachments.
            self.omissions.images_before = len(self.history.messages)
            learned = ()
        self._tried.clear()
        if not learned:
            return ""
        self.lessons.keep(choice, learned)
        return " and ".join(WORDS[name] for name in learned)

    @property
    def is_on(self) -> bool:
        """Whether something is tried with the request at hand."""
        return self._now is not None

    def _has_optional_fields(self, choice: ModelChoice) -> bool:
        known = self.lessons.adapted(choice)
        return choice.api_mode in _WITH_OPTIONAL_FIELDS and self.lessons.adapted(choice, (PLAIN,)) != known

    def _attachments(self, choice: ModelChoice) -> tuple[str, ...]:
        return sent_attachments(self.compression.request(choice).messages, self.lessons.adapted(choice))


# The asking.

_GO_ON = (
    "[Your answer was cut off here. The person has seen it up to this point. "
    "Go on exactly where it stops, and repeat nothing.]"
)
_LOST_CALL = "The answer broke off before the call was complete; nothing was run."


@dataclass(frozen=True, slots=True)
class Patience:
    """How long one model request is tried. `attempts` counts the first; waits between them come from `backoff`."""

    attempts: int = 4
    backoff: Callable[[], Backoff] = Backoff


@dataclass(frozen=True, slots=True)
class _Failed:
    failure: ClassifiedError
    cause: ProviderError | None = None


@dataclass(slots=True)
class Asker:
    """Asks the models of one turn.

    Attributes:
        compression: makes the requests, and keeps them within the model's window.
        count: is told what each attempt used, also one that came to nothing.
        carried: text of the answer that is in the history already.
    """

    route: TurnRoute
    history: TurnHistory
    compression: TurnCompression
    token: CancelToken
    callbacks: AgentCallbacks
    ids: CallIds
    omissions: Omissions
    prefix: PrefixWatch
    habits: SeenHabits
    count: Callable[[Usage, ModelChoice], None]
    patience: Patience = field(default_factory=Patience)
    carried: list[str] = field(default_factory=list)
    trials: Trials = field(init=False)
    refused_tools: RefusedTools = field(init=False)

    def __post_init__(self) -> None:
        self.trials = Trials(self.history, self.compression, self.omissions, self.route.lessons)
        self.refused_tools = RefusedTools(self.route.lessons, self.token, self.count)

    def ask(self) -> Reply:
        """One complete answer; what of it broke off on the way is in the history, unfinished.

        An answer without a word or a call is asked for again; behind results of tools it is given, for the model may
        have nothing to say of them.

        Raises:
            TurnInterrupted: the turn was cancelled.
            ModelFailed: every way that was open has been tried.
            AuthRequired: the sign-in has ended.
        """
        if self.route.make_ready():
            resting = ", ".join(choice.name for choice in self.route.skipped)
            self._tell("fallback", f"{resting} cannot be asked now. {self.route.choice.name} answers.\n\n")
        try:
            return self._asked()
        except BaseException:
            self._undo_trial()
            raise

    def _asked(self) -> Reply:
        backoff, failures, has_failed = self.patience.backoff(), 0, False
        while True:
            habits = self.habits.of(self.route.choice, self.history.messages)
            collector = Collector(self.callbacks, self.ids, habits)
            outcome = self._attempt(collector)
            if isinstance(outcome, Reply):
                self.route.worked()
                if has_failed:
                    self.compression.answered()
                    self._learn()
                return outcome
            failure, failures, has_failed = outcome.failure, failures + 1, True
            self.route.failed(failure)
            if failure.unexplained:
                self._undo_trial()
            step = self._next_step(failure, failures)
            if isinstance(step, (retry_policy.FallBack, retry_policy.GiveUp)):
                self._undo_trial()
            self._clear_up(collector, goes_on=not isinstance(step, retry_policy.GiveUp))
            if isinstance(step, retry_policy.GiveUp):
                raise ModelFailed(self._last_words(failure, failures), failure.reason) from outcome.cause
            if not isinstance(step, retry_policy.Wait):
                failures, backoff = 0, self.patience.backoff()
            self._take(step, failure, failures, backoff)

    def _attempt(self, collector: Collector) -> Reply | _Failed:
        if self.token.is_set():
            raise TurnInterrupted
        choice = self.route.choice
        if told := self.compression.too_large(choice):
            return _Failed(_too_large(told))
        self.compression.ahead(choice)
        request = self._request()
        self.prefix.see(choice.name, request)
        habits = collector.habits
        if choice.api_mode == "chat_completions" and request.tools and not (habits.calls_tools or habits.parses):
            # The server may leave the model's calls in its text; the first message is the system prompt.
            collector.asked, collector.said = request, (*request.messages[:1], *self.history.messages)
        try:
            reply = ask_once(self.route.provider, request, self.token, collector)
        except TurnInterrupted:
            collector.break_off()
            raise
        except ProviderError as problem:
            collector.break_off()
            if collector.begun:
                self.count(collector.usage, choice)
            # Once an answer has begun, the conversation was not too large for it.
            tokens = None if collector.begun else rough_tokens(request.messages)
            return _Failed(classify(problem, choice, context_tokens=tokens), problem)
        finally:
            self.history.broken_off = collector.text  # until a message has it
        self.count(reply.usage, choice)
        self.compression.counted(choice, request, reply.usage)
        if _says_nothing(reply) and not self.carried and not self._may_say_nothing(reply):
            return _Failed(_empty(choice, reply.finish_word))
        return reply

    def _request(self) -> ModelRequest:
        choice = self.route.choice
        return self.refused_tools.applied(self.trials.applied(self.compression.request(choice)), choice)

    def _may_say_nothing(self, reply: Reply) -> bool:
        since = self.history.messages[self.history.start :]
        return reply.finish != "unknown" and any(message["role"] == "tool" for message in since)

    def _next_step(self, failure: ClassifiedError, failures: int) -> retry_policy.Step:
        step = retry_policy.decide(failure, self._situation(failure, failures))
        # What turns out not to be open after all is decided anew without it.
        if isinstance(step, retry_policy.Refresh) and not self.route.refresh():
            return self._next_step(failure, failures)
        if isinstance(step, retry_policy.FallBack) and not self.route.fall_back():
            return self._next_step(failure, failures)
        if isinstance(step, retry_policy.Compress) and not self.compression.refused(self.route.choice):
            return self._next_step(failure, failures)
        if isinstance(step, retry_policy.LeaveOutTools) and not self._leave_out_tools(failure):
            return self._next_step(failure, failures)
        if isinstance(step, retry_policy.Try):
            without = self.trials.begin(step.change, failure, self.route.choice)
            if without is None:
                return self._next_step(failure, failures)
            self._mend(step.change, f"{failure.public_cause or failure.public_message} Trying again {without}.")
        return step

    def _situation(self, failure: ClassifiedError, failures: int) -> retry_policy.Situation:
        messages, route = self.history.messages, self.route
        return retry_policy.Situation(
            failures=failures,
            attempts=self.patience.attempts,
            can_refresh=route.can_refresh(),
            can_rotate=route.can_rotate(),
            can_fall_back=route.can_fall_back(),
            can_compress=failure.should_compress and self.compression.is_open,
            can_unseal=has_sealed(messages, self.omissions),
            can_drop_images=has_images(messages, self.omissions),
            can_leave_out_tools=self._may_be_a_tool(failure),
            changes=self.trials.open(failure, route.choice),
        )

    def _may_be_a_tool(self, failure: ClassifiedError) -> bool:
        may_be = failure.reason == "tool_schema" or failure.unexplained
        return may_be and self.refused_tools.is_open(failure, self._request())

    def _leave_out_tools(self, failure: ClassifiedError) -> bool:
        said, request = failure.public_cause or failure.public_message, self._request()
        if not failure.tools:
            self._tell("retry", f"{said} Looking for a tool that it does not take.")
        found = self.refused_tools.leave_out(failure, request, self.route.provider, self.route.choice)
        if found:
            self._mend("tools", f"{said} Trying again without {_tools(found)}.")
        return bool(found)

    def _clear_up(self, collector: Collector, *, goes_on: bool) -> None:
        """Make final what the listeners have seen of the broken answer, and keep its text if it is continued."""
        for draft in collector.announced:
            if self.callbacks.tool_progress_callback is not None:
                lost = CallFinished(draft.id, draft.name, {}, error(_LOST_CALL), ran=False)
                self.callbacks.tool_progress_callback(lost)
        if collector.text.strip() and goes_on:
            self.keep_unfinished(collector.text, _GO_ON)

    def keep_unfinished(self, text: str, nudge: str) -> None:
        """Put an answer that broke off into the history, and ask for the rest of it."""
        message = assistant_message(text)
        message["unfinished"] = True
        self.history.remember(message)
        self.carried.append(text)
        self.history.remember(injected_message(nudge))

    def _take(self, step: retry_policy.Step, failure: ClassifiedError, failures: int, backoff: Backoff) -> None:
        said = failure.public_cause or failure.public_message
        match step:
            case retry_policy.Wait(asked=asked):
                pause = backoff.next() if asked is None else backoff.after(asked)
                attempt = f"attempt {failures + 1} of {retry_policy.attempts_at(failure, self.patience.attempts)}"
                self._tell("retry", f"{said} Trying again {_in(pause)} ({attempt}).")
                self._sleep(pause)
            case retry_policy.Refresh():
                self._tell("retry", f"{said} The sign-in was renewed. Trying again.")
            case retry_policy.Rotate():
                self._tell("retry", f"{said} Trying the next key.")
                self.route.rotate()
            case retry_policy.FallBack():
                self.trials.begin_anew()
                self.refused_tools.begin_anew()
                self._tell("fallback", f"{said} {self.route.choice.name} answers instead.\n\n")
            case retry_policy.Compress():
                self._tell("retry", f"{said} The conversation was compressed. Trying again.")
            case retry_policy.Unseal():
                self._unseal()
                self._mend("unseal", f"{said} Trying again without earlier reasoning.")
            case retry_policy.DropImages():
                self.omissions.images_before = len(self.history.messages)
                self._unseal()
                self._mend("images", f"{said} Trying again without the images and documents.")

    def _undo_trial(self) -> None:
        if self.trials.is_on:
            self.trials.undo()
            self.prefix.expect("undone")

    def _learn(self) -> None:
        """Keep what a change of the request has taught, and tell the person."""
        choice = self.route.choice
        learned = self.trials.worked(choice)
        if tools := self.refused_tools.worked(choice):
            refused = f"it refuses the schema of {_tools(tools)}, left out from now on"
            learned = f"{learned} and {refused}" if learned else refused
        if learned:
            self._tell("retry", f"Learned of {choice.name}: {learned}. /status shows it, and can forget it.")

    def _unseal(self) -> None:
        # A seal covers all that came before it: where that has changed, servers refuse it.
        self.omissions.sealed_before = len(self.history.messages)

    def _mend(self, cause: str, text: str) -> None:
        self.prefix.expect(cause)
        self._tell("retry", text)

    def _sleep(self, seconds: float) -> None:
        self.token.wait_for(lambda: False, seconds)
        if self.token.is_set():
            raise TurnInterrupted

    def _last_words(self, failure: ClassifiedError, failures: int) -> str:
        tried = [choice.name for choice in self.route.skipped]
        words = [failure.public_message, *([self.route.problem] if self.route.problem else [])]
        if failure.should_compress and not failure.retryable and (advice := self.compression.advice):
            words.append(advice)
        if failures > 1:
            words.append(f"It was tried {failures} times.")
        if tried:
            words.append(f"Tried before it: {', '.join(tried)}.")
        return " ".join(words)

    def _tell(self, kind: StatusKind, text: str) -> None:
        if self.callbacks.status_callback is not None:
            self.callbacks.status_callback(Status(kind, text))


def _tools(names: Sequence[str]) -> str:
    return f"the tool{'s' if len(names) > 1 else ''} {', '.join(names)}"


def _says_nothing(reply: Reply) -> bool:
    return not reply.text.strip() and not reply.tool_calls and reply.finish in {"stop", "tool_calls", "unknown"}


def _empty(choice: ModelChoice, word: str) -> ClassifiedError:
    why = f" (finish_reason: {word})" if word else ""
    cause = f"{choice.endpoint} gave an empty answer for model {choice.model}{why}."
    return ClassifiedError(
        reason="server_error",
        retryable=True,
        should_compress=False,
        should_rotate_credential=False,
        should_fallback=True,
        retry_after=None,
        status_code=None,
        public_message=f"{cause} Send the prompt again, or choose another model.",
        public_cause=cause,
    )


def _too_large(told: str) -> ClassifiedError:
    return ClassifiedError(
        reason="context_overflow",
        retryable=False,
        should_compress=False,
        should_rotate_credential=False,
        should_fallback=True,
        retry_after=None,
        status_code=None,
        public_message=told,
    )


def _in(seconds: float) -> str:
    if seconds < 1:
        return "at once" if seconds < 0.1 else "in a moment"  # noqa: PLR2004
    return f"in {seconds:.0f} s" if seconds < 90 else f"in {seconds / 60:.0f} min"  # noqa: PLR2004
