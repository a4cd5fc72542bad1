"""News of the background as messages of a turn. A message that tells of some takes them out of the store with it."""

from __future__ import annotations

from collections.abc import Callable

from agent_core.background.news import NewsBox
from agent_core.background.telling import fitting, titles, told
from agent_core.callbacks import Status
from agent_core.messages import Content, ToolCall, assistant_message, injected_message
from agent_core.turn.history import remember_prompt
from agent_core.turn.turn import Turn
from tools.result import ToolResult

_NOTED = "[Noted.]"
_LOOKS = frozenset({"process", "terminal"})


def deliver(turn: Turn, box: NewsBox, note: str = "", *, told_person: bool = False) -> bool:
    """Tell the model what waits, in a message that stands where one of the person's could; False if nothing does.

    What is too much for one message waits for the next.

    Args:
        note: what it is told beside it.
        told_person: the person has been told that this happens.

    Raises:
        TurnInterrupted: another turn has taken this one's place; the news still wait.
    """
    news = fitting(box.waiting())
    if not news:
        return False
    message = injected_message("\n\n".join(part for part in (told(news, box.missed), note) if part))
    message["news"] = [each.id for each in news]
    turn.history.remember(message)
    box.delivered(news)
    if turn.callbacks.thinking_callback is not None and not told_person:
        turn.callbacks.thinking_callback(f"Background: {titles(news)}.")
    return True


def deliver_before_prompt(turn: Turn, box: NewsBox) -> None:
    """Tell the model what waits before the person's message, which stays as the person wrote it.

    Raises:
        TurnInterrupted: as `deliver`.
    """
    if deliver(turn, box):
        # Two messages of the user's side in a row would be refused by servers.
        turn.history.remember(assistant_message(_NOTED))


def open_turn(
    turn: Turn,
    box: NewsBox,
    content: Content | None,
    complete: Callable[[], Content] | None,
    beside: Callable[[], str],
) -> bool:
    """Put what a turn is about into its history; False where it is about news, and there are none any more.

    Args:
        content: what the person said; None for nothing: the turn is about the news that wait.
        complete: as in `remember_prompt`.
        beside: what the model is told beside it, '' for nothing.

    Raises:
        TurnInterrupted: as `deliver`, or completing the prompt was broken off.
    """
    if content is None:
        news = box.waiting()
        if news and turn.callbacks.status_callback is not None:
            # The person sees what the turn is about.
            turn.callbacks.status_callback(Status("background", f"{titles(news)}. The agent goes on with that."))
        return deliver(turn, box, beside(), told_person=True)
    deliver_before_prompt(turn, box)
    remember_prompt(turn.history, content, complete, beside)
    return True


def learn_from(box: NewsBox, call: ToolCall, result: ToolResult) -> None:
    """What the model has looked at for itself is no news any more."""
    if call["function"]["name"] not in _LOOKS or "process" not in result.facts:
        return
    if result.facts.get("running") is False:
        box.knows_end(str(result.facts["process"]))
