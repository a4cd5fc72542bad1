"""Where a history may be cut: what belongs together, what is protected at its beginning and at its end."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agent_core.messages import Message


def group_starts(messages: Sequence[Message]) -> list[int]:
    """Positions at which `messages` may be cut, in order.

    An answer belongs together with the results of its calls, and an unfinished one with the words that ask for the
    rest of it and with the rest.
    """
    starts: list[int] = []
    unfinished = False
    for position, message in enumerate(messages):
        is_rest = unfinished and (message["role"] != "user" or bool(message.get("injected")))
        if message["role"] != "tool" and not is_rest:
            starts.append(position)
        if message["role"] == "assistant":
            unfinished = bool(message.get("unfinished"))
        elif message["role"] == "user" and not message.get("injected"):
            unfinished = False
    return starts


def head_end(messages: Sequence[Message], starts: Sequence[int], protected: int) -> int:
    """Where the protected beginning ends: after `protected` messages, with what belongs to them."""
    return next((start for start in starts if start >= protected), len(messages))


def tail_start(
    messages: Sequence[Message],
    starts: Sequence[int],
    size: Callable[[Sequence[Message]], int],
    budget: int,
    least: int,
) -> int:
    """Where the protected end begins: as many groups as fit, the last one always.

    Args:
        starts: where the groups begin that may belong to the end.
        budget: tokens.
        least: so many messages belong to the end as long as they are not half as large again as the budget.
    """
    end, used = len(messages), 0
    for start in reversed(starts):
        used += size(messages[start:end])
        fits = used <= budget or (len(messages) - end < least and used <= budget * 1.5)
        if not fits and end < len(messages):
            break
        end = start
    return end


def last_words(messages: Sequence[Message]) -> int | None:
    """The position of the last message that the person wrote; None where there is none."""
    found = (
        position
        for position in range(len(messages) - 1, -1, -1)
        if messages[position]["role"] == "user" and not messages[position].get("injected")
    )
    return next(found, None)
