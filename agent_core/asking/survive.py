"""Asks until a model has answered: through limits, overloads, broken connections and exhausted keys.

What a failure means is `providers.errors.classify`'s to say, what to do about it `policy.decide`'s. Here it is done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field

from agent_core.asking import policy
from agent_core.asking.attempt import ask_once
from agent_core.asking.backoff import Backoff
from agent_core.asking.habits import Habits, SeenHabits
from agent_core.asking.prefix import PrefixWatch
from agent_core.asking.refused_tools import RefusedTools
from agent_core.asking.reply import CallIds, Collector, Reply
from agent_core.asking.route import TurnRoute
from agent_core.asking.trials import Trials
from agent_core.asking.view import Omissions, has_images, has_sealed, rough_tokens
from agent_core.callbacks import AgentCallbacks, CallFinished, Status, StatusKind
from agent_core.compaction.session_compaction import TurnCompression
from agent_core.errors import ModelFailed, ProviderError, TurnInterrupted
from agent_core.interrupt import CancelToken
from agent_core.messages import assistant_message, injected_message
from agent_core.providers.base import ModelRequest, Usage
from agent_core.providers.choice import ModelChoice
from agent_core.providers.errors import ClassifiedError, classify
from agent_core.turn.history import TurnHistory
from tools.light_dataclass import dataclass
from tools.result import error

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
        finally:
            self._undo_trial()

    def _asked(self) -> Reply:
        backoff, failures = self.patience.backoff(), 0
        while True:
            habits = self.habits.of(self.route.choice, self.history.messages)
            collector = Collector(self.callbacks, self.ids, habits)
            outcome = self._attempt(collector)
            if isinstance(outcome, Reply):
                self.route.worked()
                self.compression.answered()
                self._learn()
                return outcome
            failure, failures = outcome.failure, failures + 1
            self.route.failed(failure)
            if failure.unexplained:
                self._undo_trial()
            step = self._next_step(failure, failures)
            if isinstance(step, (policy.FallBack, policy.GiveUp)):
                self._undo_trial()
            self._clear_up(collector, goes_on=not isinstance(step, policy.GiveUp))
            if isinstance(step, policy.GiveUp):
                raise ModelFailed(self._last_words(failure, failures), failure.reason) from outcome.cause
            if not isinstance(step, policy.Wait):
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
        if choice.api_mode == "chat_completions" and request.tools and _may_write_calls(collector.habits):
            system = (message for message in request.messages[:1] if message["role"] == "system")
            collector.asked, collector.said = request, (*system, *self.history.messages)
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

    def _next_step(self, failure: ClassifiedError, failures: int) -> policy.Step:
        step = policy.decide(failure, self._situation(failure, failures))
        # What turns out not to be open after all is decided anew without it.
        if isinstance(step, policy.Refresh) and not self.route.refresh():
            return self._next_step(failure, failures)
        if isinstance(step, policy.FallBack) and not self.route.fall_back():
            return self._next_step(failure, failures)
        if isinstance(step, policy.Compress) and not self.compression.refused(self.route.choice):
            return self._next_step(failure, failures)
        if isinstance(step, policy.LeaveOutTools) and not self._leave_out_tools(failure):
            return self._next_step(failure, failures)
        if isinstance(step, policy.Try):
            without = self.trials.begin(step.change, failure, self.route.choice)
            if without is None:
                return self._next_step(failure, failures)
            self._mend(step.change, f"{failure.public_cause or failure.public_message} Trying again {without}.")
        return step

    def _situation(self, failure: ClassifiedError, failures: int) -> policy.Situation:
        messages, route = self.history.messages, self.route
        return policy.Situation(
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

    def _take(self, step: policy.Step, failure: ClassifiedError, failures: int, backoff: Backoff) -> None:
        said = failure.public_cause or failure.public_message
        match step:
            case policy.Wait(asked=asked):
                pause = backoff.next() if asked is None else backoff.after(asked)
                attempt = f"attempt {failures + 1} of {policy.attempts_at(failure, self.patience.attempts)}"
                self._tell("retry", f"{said} Trying again {_in(pause)} ({attempt}).")
                self._sleep(pause)
            case policy.Refresh():
                self._tell("retry", f"{said} The sign-in was renewed. Trying again.")
            case policy.Rotate():
                self._tell("retry", f"{said} Trying the next key.")
                self.route.rotate()
            case policy.FallBack():
                self.trials.begin_anew()
                self.refused_tools.begin_anew()
                self._tell("fallback", f"{said} {self.route.choice.name} answers instead.\n\n")
            case policy.Compress():
                self._tell("retry", f"{said} The conversation was compressed. Trying again.")
            case policy.Unseal():
                self._unseal()
                self._mend("unseal", f"{said} Trying again without earlier reasoning.")
            case policy.DropImages():
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


def _may_write_calls(habits: Habits) -> bool:
    return not habits.calls_tools and not habits.parses


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
