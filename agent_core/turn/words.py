"""Words for a model in the middle of its turn: the person's, hooks willing, and ours."""

from __future__ import annotations

from agent_core.asking.reply import Reply
from agent_core.callbacks import Status
from agent_core.errors import HookRefused
from agent_core.hooks.turn_hooks import TurnHooks
from agent_core.messages import injected_message, user_message
from agent_core.turn.ending import CLOSING_NOTE
from agent_core.turn.turn import Turn


def pass_on(turn: Turn, hooks: TurnHooks, words: str) -> bool:
    """Put what the person has said meanwhile before the model's next request.

    Returns:
        False where it is nothing, or hooks refuse it, which the person is told.

    Raises:
        TurnInterrupted: the turn was cancelled while hooks were asked.
    """
    beside = _judged(turn, hooks, words)
    if beside is None:
        return False
    notes = (beside, "" if turn.budget.left else CLOSING_NOTE)
    turn.history.remember(user_message(words, "\n\n".join(filter(None, notes))))
    return True


def inject(turn: Turn, hooks: TurnHooks, note: str, told: str) -> None:
    """Tell the model something in the person's place, and the person (`told`) that it goes on because of that.

    Raises:
        TurnInterrupted: as for `pass_on`.
    """
    if turn.callbacks.thinking_callback is not None:
        turn.callbacks.thinking_callback(told)
    words = turn.steering.take()
    beside = _judged(turn, hooks, words)
    # What the person has said meanwhile goes before, as the words of the same message.
    notes = "\n\n".join(filter(None, (beside, note)))
    turn.history.remember(injected_message(note) if beside is None else user_message(words, notes))


def show_unread(turn: Turn, reply: Reply) -> None:
    """Show the person a tool call in the text that cannot be read and that the model will not be asked for again."""
    if turn.callbacks.stream_delta_callback is not None:
        turn.callbacks.stream_delta_callback(reply.unread)
    if turn.callbacks.status_callback is not None:
        text = (
            f"{turn.route.choice.name} has written a tool call into its text that cannot be read: "
            f"{_sentence(reply.unread_problem)} Nothing was run. Its server does not know the form of its tool "
            "calls: /status says what to start it with."
        )
        turn.callbacks.status_callback(Status("unread", text))


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


def _judged(turn: Turn, hooks: TurnHooks, words: str) -> str | None:
    """What the model is told beside the person's words; None where it is not told of them."""
    if not words:
        return None
    try:
        return hooks.words(words)
    except HookRefused as refused:
        if turn.callbacks.status_callback is not None:
            text = f"What you said meanwhile is left out: «{words}». {refused.public}"
            turn.callbacks.status_callback(Status("hook", text))
        return None
