"""The facts that a compression promises to keep of the messages that it replaces, read from them by code.

- the person's messages: the latest word for word, earlier ones in short;
- what the person decided: answers to questions, refusals with their words; what was asked and not answered;
- the open items of the plan;
- files written and read, commands run with how they ended, what failed and how often it was tried;
- from the person's words: addresses, paths, names in quotes, ids, versions, numbers with units, settings.

No model has a part in it. It is read anew from the whole history each time, so that nothing wears away.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from agent_core.compaction.pruning import (
    RUNNERS,
    MadeCall,
    last_line,
    made_calls,
    object_in,
    one_line,
    patched_paths,
    target_of,
)
from agent_core.messages import Message, said_in, text_of
from tools.context import TodoItem
from tools.light_dataclass import dataclass

_LONGEST = 120
_LONGEST_TEXT = 30_000
_UNITS = (
    r"(?:ms|µs|ns|s|sec(?:onds?)?|min(?:utes?)?|h|hours?|days?|weeks?|[KMGT]i?B|bytes?|px|%|€|\$|USD|EUR|[kMG]?Hz"
    r"|tokens?|lines?|rows?|times|users?|requests?|retries|workers?|threads?|°C|mm|cm|km|m|kg|g)"
)
# What repeats in the others than words is bounded: else a long text without spaces (base64, Chinese) would be looked
# through again from each of its signs.
_VALUE = re.compile(
    r"`[^`\n]{1,120}`|«[^»\n]{1,120}»|\"[^\"\n]{2,80}\""
    r"|\b\d[\d.,_]{0,20}\s?" + _UNITS + r"(?!\w)"
    r"|\b[A-Za-z_][\w.-]{0,40}\s?=\s?[\w./:-]{0,80}\d[\w./:-]{0,80}"
    r"|(?P<word>[^\s\"'`«»<>()\[\],;]{2,})"
)
# A word with a sign that plain words do not have: an address, a path, an id, a version, a number, a constant.
_TELLING = re.compile(r"^#\d|\d{3}|[A-Za-z]\d|\d\.\d|-\d|\w[./@_]\w|/\w")


def values_in(text: str) -> Iterator[str]:
    """The values in `text`, in order; of a very long text those of its two ends."""
    if len(text) > _LONGEST_TEXT:
        half = _LONGEST_TEXT // 2
        text = f"{text[:half]}\n{text[-half:]}"
    for found in _VALUE.finditer(text):
        value = " ".join(found[0].split()).rstrip(".,;:!?")
        if 1 < len(value) <= _LONGEST and (not found["word"] or _TELLING.search(value)):
            yield value


_LINE, _COMMAND = 240, 160
_WRITERS = frozenset({"write_file", "patch"})
_READERS = frozenset({"read_file", "skill_view"})
_REFUSALS = ("Denied: ", "Refused: ")


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts, lines newest first; only `said` and `plan` are in their own order.

    Attributes:
        said: the person's messages, whole, oldest first.
        failures: what went wrong. Others may have written the words: they go into a fence.
    """

    said: tuple[str, ...] = ()
    plan: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    values: tuple[str, ...] = ()


def collect(
    messages: Sequence[Message], first: int, end: int, *, shown: Sequence[int] = (), plan: Sequence[TodoItem] = ()
) -> Facts:
    """The facts of the messages from `first` to `end`.

    Args:
        shown: positions of messages that the model is shown all the same; they are not repeated.
    """
    said = [
        text_of(said_in(messages[position])).strip()
        for position in range(first, end)
        if position not in shown and messages[position]["role"] == "user" and not messages[position].get("injected")
    ]
    words = [text for text in said if text]
    calls = list(made_calls(messages, first, end))[::-1]
    good = [call for call in calls if not call.problem]
    return Facts(
        said=tuple(words),
        plan=tuple(_step(item) for item in plan if item.status in {"pending", "in_progress"}),
        decisions=_unique(map(_decision, calls)),
        pending=_unique(map(_pending, good)),
        written=_unique(path for call in good if call.name in _WRITERS for path in _paths(call)),
        read=_unique(path for call in good if call.name in _READERS for path in _paths(call)),
        commands=_commands([call for call in calls if call.name in RUNNERS]),
        failures=_failures(calls),
        values=_unique(value for text in reversed(words) for value in values_in(text)),
    )


def _step(item: TodoItem) -> str:
    doing = " (in progress)" if item.status == "in_progress" else ""
    return f"{one_line(item.content, _LINE)}{doing}"


def _paths(call: MadeCall) -> list[str]:
    if call.name == "skill_view":
        return [f"skill {one_line(call.argument('name'), _LINE)}"]
    return [one_line(path, _LINE) for path in patched_paths(call)]


def _decision(call: MadeCall) -> str:
    problem = call.problem
    if problem:
        # A refusal that stands in a fence is one that somebody else has written.
        return one_line(problem, 2 * _LINE) if problem.startswith(_REFUSALS) and not call.fence else ""
    if call.name == "clarify" and (answer := object_in(call.text).get("answer")):
        question = one_line(call.argument("question"), _LINE)
        return f"Asked «{question}», the user answered «{one_line(str(answer), _LINE)}»."
    if call.name == "exit_plan_mode":
        return f"The plan was shown to the user: {one_line(call.text, _LINE)}"
    return ""


def _pending(call: MadeCall) -> str:
    if call.name != "clarify" or object_in(call.text).get("answer"):
        return ""
    return f"Asked «{one_line(call.argument('question'), _LINE)}», and there was no answer."


def _commands(calls: Sequence[MadeCall]) -> tuple[str, ...]:
    """Each command once, with how it ended last and how often it ran."""
    times = Counter(map(_command, calls))
    lines: dict[str, str] = {}
    for call in calls:
        if (command := _command(call)) and command not in lines:
            code = call.exit_code
            ended = f"exit code {code}" if code is not None else "failed" if call.problem else "no exit code"
            often = f", run {times[command]} times" if times[command] > 1 else ""
            lines[command] = f"`{command}`: {ended}{often}"
    return tuple(lines.values())


def _command(call: MadeCall) -> str:
    return one_line(call.argument("command") or call.argument("code"), _COMMAND)


def _failures(calls: Sequence[MadeCall]) -> tuple[str, ...]:
    """What went wrong, each once, with how often it was tried."""
    times = Counter(filter(None, map(_failure, calls)))
    return tuple(f"{line} (tried {count} times)" if count > 1 else line for line, count in times.items())


def _failure(call: MadeCall) -> str:
    if problem := call.problem:
        refused = problem.startswith(_REFUSALS) and not call.fence
        return "" if refused else f"{call.name} {target_of(call)}: {one_line(problem, _LINE)}"
    if call.name not in RUNNERS or not call.exit_code:
        return ""
    return f"`{_command(call)}`: exit code {call.exit_code}, {last_line(call.output) or 'no output'}"


def _unique(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, lines)))
