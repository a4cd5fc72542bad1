"""Prompts that the model was not told of, since their turns were killed or cancelled first, come before this turn's.

Hooks may not have been asked about them. They are asked now, as about any prompt, and what they refuse is left out.
"""

from __future__ import annotations

from agent_core.callbacks import Status
from agent_core.errors import HookRefused
from agent_core.hooks.turn_hooks import TurnHooks
from agent_core.messages import Content, text_of
from agent_core.turn.turn import Turn

_MOST_SHOWN = 60


def catch_up(turn: Turn, hooks: TurnHooks) -> None:
    """Tell the model what was said since it was told anything last, as far as hooks let it.

    Raises:
        TurnInterrupted: the turn was cancelled, or another has taken its place. What is still left stays so.
    """
    history = turn.history
    for left in history.store.prompts_left(history.session_id, history.turn_id):
        try:
            beside = hooks.judge(left.content, left.turn_id)
        except HookRefused as refused:
            history.store.leave_out(history.session_id, history.turn_id, left, refused.public)
            if turn.callbacks.status_callback is not None:
                beginning = _beginning(left.content)
                text = f"An earlier prompt, which was broken off, is left out: «{beginning}». {refused.public}"
                turn.callbacks.status_callback(Status("hook", text))
        else:
            history.catch_up(left, beside)


def _beginning(content: Content) -> str:
    text = " ".join(text_of(content).split())
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
