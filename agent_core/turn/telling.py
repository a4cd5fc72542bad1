"""What the person is told so that nothing is dropped without a word."""

from __future__ import annotations

from agent_core.callbacks import Status
from agent_core.messages import Content
from agent_core.turn.turn import Turn


def tell_unused(turn: Turn, content: Content) -> None:
    """What the model cannot be given is not dropped without a word to the person."""
    if isinstance(content, str) or turn.callbacks.status_callback is None:
        return
    from agent_core.providers.protocol import left_out  # noqa: PLC0415 - few prompts have more than text

    for text in left_out(content, turn.route.lessons.adapted(turn.route.choice)):
        turn.callbacks.status_callback(Status("unused", text))


def tell_undelivered(turn: Turn) -> None:
    """Nothing that the person said is lost without a word."""
    words = turn.steering.close()
    if words and turn.callbacks.status_callback is not None:
        text = f"The turn ended before the model was told this; send it again: {words}"
        turn.callbacks.status_callback(Status("undelivered", text))
