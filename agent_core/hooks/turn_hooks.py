"""What one turn of an agent has to do with hooks, in the turn's own words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from agent_core.asking.reply import Reply
from agent_core.callbacks import Status
from agent_core.errors import TurnInterrupted
from agent_core.hooks.session_hooks import SessionHooks
from agent_core.messages import Content, text_of
from agent_core.turn.turn import Turn
from tools.errors import ToolInterrupted

_T = TypeVar("_T")


class TurnHooks:
    """A session's hooks in one turn; all of it does nothing where there are none."""

    def __init__(self, hooks: SessionHooks, turn: Turn, platform: str) -> None:
        self._hooks = hooks
        self._turn = turn
        self._facts = {"model": turn.route.choice.name, "platform": platform}
        self._said = ""

    def begin(self) -> None:
        """The turn begins: hooks hear of the session, if it is its first turn.

        Raises:
            TurnInterrupted: the turn was cancelled.
        """
        turn, hooks = self._turn, self._hooks
        listener = turn.callbacks.status_callback
        hooks.begin_turn(None if listener is None else lambda text: listener(Status("hook", text)))
        source = {**self._facts, "source": "resume" if turn.history.messages else "new"}
        self._said = _interruptible(lambda: hooks.begin_session(source, turn.token))

    def prompt(self, content: Content) -> None:
        """The turn's prompt is told to them.

        Raises:
            HookRefused: it must not reach the model. TurnInterrupted: the turn was cancelled.
        """
        said = self._asked(content, self._turn.id)
        self._said = "\n\n".join(part for part in (self._said, said) if part)

    def words(self, text: str) -> str:
        """What the model is told beside words of the person's in the middle of the turn; '' for nothing.

        Raises:
            HookRefused: they must not reach the model. TurnInterrupted: the turn was cancelled.
        """
        return _told(self._asked(text, self._turn.id))

    def judge(self, content: Content, turn_id: str) -> str:
        """What the model is told beside a prompt of an earlier turn; '' for nothing. A hook that fails refuses it.

        Raises:
            HookRefused: it must not reach the model. TurnInterrupted: this turn was cancelled.
        """
        return _told(self._asked(content, turn_id, strictly=True))

    def end(self) -> None:
        """The turn is over."""
        self._hooks.end_turn()

    def beside(self, note: str) -> str:
        """What the model is told beside the prompt: `note`, and what hooks have said."""
        return "\n\n".join(part for part in (_told(self._said), note) if part)

    def _asked(self, content: Content, turn_id: str, *, strictly: bool = False) -> str:
        turn, hooks = self._turn, self._hooks
        facts = {**self._facts, "turn_id": turn_id, "is_first_turn": not turn.history.messages}
        return _interruptible(lambda: hooks.prompt(text_of(content), facts, turn.token, strictly=strictly))


def ask_hooked(hooks: SessionHooks, turn: Turn, ask: Callable[[], Reply]) -> Reply:
    """Ask the turn's model, with its hooks before and behind.

    Raises:
        HookRefused: the model must not be asked. TurnInterrupted: the turn was cancelled. Whatever `ask` raises.
    """
    if hooks.has("pre_model_call"):
        before = _model_facts(turn) | {"message_count": len(turn.history.messages)}
        _interruptible(lambda: hooks.before_model(before, turn.token))
    reply = ask()
    if hooks.has("post_model_call"):
        after = _model_facts(turn) | {
            "finish_reason": reply.finish,
            "text": reply.text,
            "tool_calls": [call["function"]["name"] for call in reply.tool_calls],
            "input_tokens": reply.usage.input_tokens,
            "output_tokens": reply.usage.output_tokens,
        }
        _interruptible(lambda: hooks.after_model(after, turn.token))
    return reply


def must_go_on(hooks: SessionHooks, turn: Turn, reply: Reply) -> str:
    """What the model is to do before the turn ends with `reply`; '' where it may end.

    Raises:
        TurnInterrupted: the turn was cancelled.
    """
    if reply.finish not in {"stop", "unknown"} or not reply.text.strip() or not turn.budget.left:
        return ""
    return _interruptible(lambda: hooks.must_go_on(reply.text, turn.token))


def _model_facts(turn: Turn) -> dict[str, Any]:
    choice = turn.route.choice
    return {
        "turn_id": turn.id,
        "model": choice.model,
        "provider": choice.provider,
        "iteration": turn.budget.used,
    }


def _told(said: str) -> str:
    return f"[Not from the user. Their hooks say:]\n{said}" if said else ""


def _interruptible(work: Callable[[], _T]) -> _T:
    try:
        return work()
    except ToolInterrupted as stop:
        raise TurnInterrupted from stop
