"""Old tool results to a line each, and old arguments shortened: what costs no model and loses least."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import field

from agent_core.context.calls import MadeCall, made_calls
from agent_core.context.result_lines import result_line
from agent_core.context.shortening import shrunk_arguments
from agent_core.messages import Message
from tools.light_dataclass import dataclass

_SMALL = 400
_SMALL_ARGUMENTS = 400


@dataclass(frozen=True, slots=True)
class Pruned:
    """Lines in place of results, and JSON text in place of arguments, by the ids of their calls."""

    results: dict[str, str] = field(default_factory=dict)
    arguments: dict[str, str] = field(default_factory=dict)


def pruned(messages: Sequence[Message], first: int, end: int) -> Pruned:
    """What is shown in place of the large results and arguments from `first` to `end`.

    Results behind `end` stay, but for those that a later one repeats word for word.
    """
    found = Pruned()
    calls = list(made_calls(messages, first, len(messages)))
    # Where an id stands twice, nobody could say which result it means.
    times = Counter(call.id for call in calls)
    latest: set[tuple[str, str]] = set()
    for call in reversed(calls):
        content = call.result["content"]
        large = isinstance(content, list) or len(content or "") > _SMALL
        if times[call.id] > 1 or not call.id:
            continue
        if large:
            _prune_result(call, found, latest, old=call.position < end)
        if call.position < end and len(call.raw_arguments) > _SMALL_ARGUMENTS:
            shrunk = shrunk_arguments(call.raw_arguments, call.arguments)
            if shrunk != call.raw_arguments:
                found.arguments[call.id] = shrunk
    return found


def _prune_result(call: MadeCall, found: Pruned, latest: set[tuple[str, str]], *, old: bool) -> None:
    content = call.result["content"]
    key = (call.name, content if isinstance(content, str) else "")
    repeated = key in latest
    if key[1]:
        latest.add(key)
    if not (old or repeated):
        return
    line = result_line(call, duplicate=repeated)
    if isinstance(content, list) or len(line) < len(content or ""):
        found.results[call.id] = line
