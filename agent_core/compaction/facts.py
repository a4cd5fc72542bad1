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
    MadeCall,
    last_line,
    made_calls,
    one_line,
    patched_paths,
    payload_of,
    target_of,
)
from agent_core.messages import Message, said_in, text_of
from tools.context import TodoItem
from tools.light_dataclass import dataclass

_LONGEST = 120
_LONGEST_TEXT = 30_000
_UNITS = (
    r"(?:ms|µs|ns|s|sec(?:onds?)?|min(?:utes?)?|h|hours?|days?|weeks?|[KMGT]i?B|bytes?|px|%|€|\$|USD|EUR|Hz|[kMG]Hz"
    r"|tokens?|lines?|rows?|times|users?|requests?|retries|workers?|threads?|°C|mm|cm|km|m|kg|g)"
)
# In each, what may begin it is looked for only where no sign of it stands before, and what repeats is bounded: else a
# long text without spaces (base64, Chinese) would be looked through again from each of its signs.
_KINDS = (
    r"https?://[^\s<>\"'`«»)\]]+",
    r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}\.[\w.-]{1,120}(?<=\w)",
    r"`[^`\n]{1,120}`",
    r"«[^»\n]{1,120}»",
    r"\"[^\"\n]{2,80}\"",
    r"(?<![\w/])(?:~|\.{1,2})?(?:/[\w.@+~-]+)+/?",
    r"(?<![\w/.@+-])(?:[\w.@+-]+/)+[\w.@+-]+",
    r"(?<![\w-])[\w-]+\.(?:[a-z]{1,4}|json|yaml|toml|lock|[a-z]\w{1,3})\b",
    r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b",
    r"\b(?=[0-9a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}\b",
    r"\b[A-Z][A-Z0-9]{1,9}-\d+\b",
    r"(?<!\w)#\d+\b",
    r"\bv?\d+(?:\.\d+){1,4}(?:-[\w.]+)?(?:\s?" + _UNITS + r"(?!\w))?",
    r"\b(?<!\d,)\d[\d,_]*\s?" + _UNITS + r"(?!\w)",
    r"(?<![\w.-])[A-Za-z_][\w.-]{0,80}\s?[=:]\s?[\w./:-]{0,80}\d[\w./:-]{0,80}",
    r"\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b",
    r"\b\d{3,}\b",
)
_VALUE = re.compile("|".join(_KINDS))


def values_in(text: str) -> Iterator[str]:
    """The values in `text`, in order; of a very long text those of its two ends."""
    if len(text) > _LONGEST_TEXT:
        half = _LONGEST_TEXT // 2
        text = f"{text[:half]}\n{text[-half:]}"
    for found in _VALUE.finditer(text):
        value = " ".join(found[0].split()).rstrip(".,;:")
        if 1 < len(value) <= _LONGEST:
            yield value


_LINE, _COMMAND = 240, 160
_WRITERS = frozenset({"write_file", "patch"})
_READERS = frozenset({"read_file", "skill_view"})
_RUNNERS = frozenset({"terminal", "execute_code", "process"})
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
    calls = list(reversed(list(made_calls(messages, first, end))))
    said = [
        text_of(said_in(messages[position])).strip()
        for position in range(first, end)
        if position not in shown and _is_the_persons(messages[position])
    ]
    words = [text for text in said if text]
    return Facts(
        said=tuple(words),
        plan=tuple(_step(item) for item in plan if item.status in {"pending", "in_progress"}),
        decisions=_unique(line for call in calls if (line := _decision(call))),
        pending=_unique(line for call in calls if (line := _pending(call))),
        written=_unique(path for call in calls if call.name in _WRITERS and _worked(call) for path in _paths(call)),
        read=_unique(path for call in calls if call.name in _READERS and _worked(call) for path in _paths(call)),
        commands=_commands(calls),
        failures=_failures(calls),
        values=_unique(value for text in reversed(words) for value in values_in(text)),
    )


def _is_the_persons(message: Message) -> bool:
    return message["role"] == "user" and not message.get("injected")


def _step(item: TodoItem) -> str:
    doing = " (in progress)" if item.status == "in_progress" else ""
    return f"{one_line(item.content, _LINE)}{doing}"


def _worked(call: MadeCall) -> bool:
    return not call.problem


def _paths(call: MadeCall) -> list[str]:
    if call.name == "skill_view":
        return [f"skill {one_line(call.argument('name'), _LINE)}"]
    return [one_line(path, _LINE) for path in patched_paths(call)]


def _decision(call: MadeCall) -> str:
    if call.name == "clarify":
        answer = payload_of(call.text).get("answer")
        question = one_line(call.argument("question"), _LINE)
        return f"Asked «{question}», the user answered «{one_line(str(answer), _LINE)}»." if answer else ""
    if call.name == "exit_plan_mode" and _worked(call):
        return f"The plan was shown to the user: {one_line(call.text, _LINE)}"
    problem = call.problem
    # A refusal that stands in a fence is one that somebody else has written.
    if not problem.startswith(_REFUSALS) or call.fence:
        return ""
    return one_line(problem, 2 * _LINE)


def _pending(call: MadeCall) -> str:
    if call.name != "clarify" or not _worked(call) or payload_of(call.text).get("answer"):
        return ""
    return f"Asked «{one_line(call.argument('question'), _LINE)}», and there was no answer."


def _commands(calls: Sequence[MadeCall]) -> tuple[str, ...]:
    """Each command once, with how it ended last and how often it ran."""
    times = Counter(_command(call) for call in calls if call.name in _RUNNERS)
    lines: dict[str, str] = {}
    for call in calls:
        command = _command(call)
        if call.name not in _RUNNERS or not command or command in lines:
            continue
        code = call.exit_code
        ended = f"exit code {code}" if code is not None else "failed" if call.problem else "no exit code"
        often = f", run {times[command]} times" if times[command] > 1 else ""
        lines[command] = f"`{command}`: {ended}{often}"
    return tuple(lines.values())


def _command(call: MadeCall) -> str:
    return one_line(call.argument("command") or call.argument("code"), _COMMAND)


def _failures(calls: Sequence[MadeCall]) -> tuple[str, ...]:
    """What went wrong, each once, with how often it was tried."""
    times: Counter[str] = Counter()
    for call in calls:
        if line := _failure(call):
            times[line] += 1
    return tuple(f"{line} (tried {count} times)" if count > 1 else line for line, count in times.items())


def _failure(call: MadeCall) -> str:
    if problem := call.problem:
        refused = problem.startswith(_REFUSALS) and not call.fence
        return "" if refused else f"{call.name} {target_of(call)}: {one_line(problem, _LINE)}"
    if call.name not in _RUNNERS:
        return ""
    code = call.exit_code
    if not code:
        return ""
    return f"`{_command(call)}`: exit code {code}, {last_line(call.output) or 'no output'}"


def _unique(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(lines))
