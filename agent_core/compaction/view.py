"""What of a compressed history the model is shown, and where a history may be cut.

The view is pure, and only grows as the history does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from agent_core.compaction.engine import Compaction
from agent_core.compaction.pruning import both_ends
from agent_core.messages import Content, Message, Part, ToolCall, assistant_message, injected_message
from agent_core.model_request.history_filter import Omissions, without_attachments, without_omitted

# Where a history may be cut: what belongs together, what is protected at its beginning and at its end.


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


BRIDGE = "I go on from here."
"""What stands between two messages of the user's side, which must alternate with the model's."""

_LEFT_OUT = "It was left out to make room."


def shown(
    messages: Sequence[Message], omissions: Omissions, compaction: Compaction | None = None
) -> Sequence[Message]:
    """The messages as the model sees them.

    With the same `omissions` and `compaction`, more messages only add to the end of the view. It is valid for every
    server where the history is.

    Args:
        messages: the whole history.
        compaction: the one in effect; one that covers more than there is counts for nothing.
    """
    told = without_omitted(messages, omissions)
    if compaction is None or compaction.up_to > len(messages):
        return told
    whole = list(_changed(told[: compaction.head], 0, compaction))
    if compaction.summary:
        _join(whole, injected_message(compaction.summary))
        for position in compaction.kept:
            _join(whole, _cut(told[position], position, compaction))
    tail = _changed(told[compaction.up_to :], compaction.up_to, compaction)
    if (first := next(tail, None)) is not None:
        if compaction.summary:
            _join(whole, first)
        else:
            whole.append(first)
        whole.extend(tail)
    return whole


def _join(whole: list[Message], message: Message) -> None:
    if whole and whole[-1]["role"] == message["role"] == "user":
        whole.append(assistant_message(BRIDGE))
    whole.append(message)


def _changed(messages: Sequence[Message], first: int, compaction: Compaction) -> Iterator[Message]:
    """The messages, the first of which is at `first`, as the compression has them shown."""
    for position, message in enumerate(messages, first):
        if position >= compaction.head:
            message = _shortened(message, position, compaction)  # noqa: PLW2901 - the same message, less of it
        yield _cut(message, position, compaction)


def _cut(message: Message, position: int, compaction: Compaction) -> Message:
    limit = compaction.cuts.get(position)
    return message if limit is None else {**message, "content": cut_content(message["content"], limit)}


def _shortened(message: Message, position: int, compaction: Compaction) -> Message:
    if message["role"] == "tool":
        line = compaction.results.get(message.get("tool_call_id", ""))
        if line is not None:
            return {**message, "content": line}
    if position < compaction.sealed_before and "sealed" in message:
        message = {**message}
        del message["sealed"]
    if position < compaction.images_before and isinstance(message["content"], list):
        message = {**message, "content": without_attachments(message["content"], _LEFT_OUT)}
    calls = message.get("tool_calls")
    if calls and compaction.arguments and any(call["id"] in compaction.arguments for call in calls):
        message = {**message, "tool_calls": [_shortened_call(call, compaction) for call in calls]}
    return message


def _shortened_call(call: ToolCall, compaction: Compaction) -> ToolCall:
    arguments = compaction.arguments.get(call["id"])
    return call if arguments is None else {**call, "function": {**call["function"], "arguments": arguments}}


def cut_content(content: Content | None, limit: int) -> Content | None:
    """The content with about `limit` characters of text, its parts in proportion; attachments stay."""
    if content is None or isinstance(content, str):
        return None if content is None else both_ends(content, limit)
    size = sum(len(part["text"]) for part in content if part["type"] == "text")
    return [_cut_part(part, limit, size) for part in content] if size else content


def _cut_part(part: Part, limit: int, size: int) -> Part:
    if part["type"] != "text":
        return part
    return {"type": "text", "text": both_ends(part["text"], limit * len(part["text"]) // size)}
