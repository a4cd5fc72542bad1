"""How a turn ends: with the model's last word, refused, failed, or out of budget."""

from __future__ import annotations

from collections.abc import Sequence

from agent_core.callbacks import CallFinished, Status
from agent_core.errors import ModelFailed
from agent_core.messages import ToolCall, assistant_message, parse_arguments, tool_message
from agent_core.model_request.response import Reply
from agent_core.services import SessionServices
from agent_core.turn import STOP, ConversationResult, StopReason, Turn
from tools.light_dataclass import dataclass
from tools.result import error

CLOSING_NOTE = (
    "[Not from the user. This turn has made all the model requests that it may. Call no tools now: calls are not "
    "run. Answer in words: what was done and where, what is left to do or unchecked, and what stood in the way.]"
)
_NOT_RUN = (
    "Not run: this turn has made all the model requests that it may. Call it again in the next turn if need be."
)
_SILENT = (
    "The model called tools and then ended without a word. What was done is kept: ask for the rest, or choose "
    "another model."
)
_NOTHING_TO_ADD = "[There is nothing to add.]"
# Failures that the prompt itself causes: if it stayed in the history, every later turn would fail as well.
_OF_THE_PROMPT = frozenset(
    {"context_overflow", "payload_too_large", "image_too_large", "format_error", "content_policy", "tool_schema"}
)


@dataclass(frozen=True, slots=True)
class Ending:
    """Brings one turn to its end. Each way returns the stop reason and the turn's text."""

    turn: Turn
    services: SessionServices

    def without_words(self, reply: Reply, carried: Sequence[str]) -> tuple[StopReason, str]:
        """The model has neither called a tool nor said anything. `carried` is what of its answer is stored."""
        if carried:  # the model has nothing to add to what broke off: it was whole, or no more fits
            self.turn.history.close_off(_NOTHING_TO_ADD)
            return STOP[reply.finish], "".join(carried)
        note = _SILENT
        if reply.finish in {"length", "oversized"}:
            note = "The answer was cut off at the output limit before any text came (model.max_tokens)."
        # An empty message would be refused by servers for ever after.
        self._tell(Status("empty", note))
        self.turn.history.remember(assistant_message(f"[{note}]"))
        return STOP[reply.finish], note

    def refused(self, text: str) -> tuple[StopReason, str]:
        """The model will not answer: as the protocol has it, it is not shown the prompt and what followed again."""
        self._withdraw()
        note = "The model refused to go on. It will not be shown this prompt and what followed it again."
        self._tell(Status("refusal", note))
        return "refusal", text or note

    def failed(self, problem: ModelFailed) -> tuple[StopReason, str]:
        """No model could answer.

        Raises:
            ModelFailed: `problem`, unless it is a refusal.
        """
        if problem.reason in _OF_THE_PROMPT and not self.turn.history.answered():
            self._withdraw()
        else:
            self.turn.history.close_off(f"[This turn failed: {problem.public}]")
        if problem.reason == "content_policy":
            self._tell(Status("refusal", problem.public))
            return "refusal", problem.public
        raise problem

    def summed_up(self, reply: Reply, carried: Sequence[str]) -> tuple[StopReason, str]:
        """The model's closing words, once the budget is spent; calls that it makes all the same are not run."""
        if reply.finish == "refusal":
            return self.refused("".join((*carried, reply.text)))
        if not reply.text.strip() and not reply.tool_calls:
            return self.out_of_budget(carried)
        self.turn.history.remember(reply.message(self.turn.route.choice))
        for call in reply.tool_calls:
            self._leave_undone(call)
        limit = self._limit_words()
        if reply.tool_calls:
            self.turn.history.remember(assistant_message(f"[{limit}]"))
        self._tell(Status("budget", limit))
        return "max_turn_requests", "".join((*carried, reply.text)) if reply.text.strip() else limit

    def out_of_budget(self, carried: Sequence[str]) -> tuple[StopReason, str]:
        """The model has been asked as often as one turn may, and has no closing words."""
        text, history = self._limit_words(), self.turn.history
        shown = "".join((*carried, history.broken_off))
        self._tell(Status("budget", text))
        history.close_off(f"[{text}]")
        return "max_turn_requests", f"{shown}{text}"

    def _limit_words(self) -> str:
        return (
            f"Stopped after {self.turn.budget.used} model requests, the limit of one turn (agent.max_turns). "
            "Send another prompt to go on."
        )

    def _leave_undone(self, call: ToolCall) -> None:
        """Answer a call that is not run, for the model and on its card."""
        self.turn.history.remember(tool_message(call, error(_NOT_RUN).text, {"failed": True}))
        if self.turn.callbacks.tool_progress_callback is not None:
            name, arguments = call["function"]["name"], parse_arguments(call["function"]["arguments"])
            lost = CallFinished(call["id"], name, arguments, error(_NOT_RUN), ran=False)
            self.turn.callbacks.tool_progress_callback(lost)

    def in_a_circle(self, why: str) -> tuple[StopReason, str]:
        """The model did the same again and again; `why` is for the person."""
        self._tell(Status("circle", why))
        self.turn.history.close_off(f"[{why}]")
        return "max_turn_requests", why

    def by_hook(self, why: str) -> tuple[StopReason, str]:
        """A hook of the user's wants the turn to end; `why` is for the person."""
        self._tell(Status("ended", why))
        self.turn.history.close_off(f"[A hook of the user's ended this turn: {why}]")
        return "end_turn", why

    def result(self, stop: StopReason, text: str) -> ConversationResult:
        """What the turn came to."""
        turn = self.turn
        return ConversationResult(
            final_response=text,
            messages=turn.history.messages,
            usage=turn.usage,
            cost=turn.cost,
            stop_reason=stop,
            interrupted=stop == "cancelled",
            iterations=turn.budget.used,
            model=turn.route.choice.model,
            turn_id=turn.id,
        )

    def _withdraw(self) -> None:
        self.turn.history.withdraw()
        self.services.omissions.shorten(len(self.turn.history.messages))
        self.services.prefix.expect("withdrawn")

    def _tell(self, status: Status) -> None:
        if self.turn.callbacks.status_callback is not None:
            self.turn.callbacks.status_callback(status)
