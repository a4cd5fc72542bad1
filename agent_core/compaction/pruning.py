"""Old tool results and arguments made shorter: what costs no model and loses least."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from agent_core.messages import Message, text_of
from tools.light_dataclass import dataclass
from tools.result import ERROR, reason_of
from tools.toolsets import MORE_TOOLS, meant

# Texts made shorter: both ends kept, one line of them, and the JSON of a call's arguments, which stays JSON.

_HEAD = 0.7
_LONGEST_ARGUMENT = 200
_MOST_ITEMS = 12


def both_ends(text: str, limit: int, head: float = _HEAD) -> str:
    """`text` with about `limit` characters: its beginning, how much is left out, its end; as it is where that is all.

    Cut text never becomes longer than it was.

    Args:
        head: how much of what is kept is the beginning.
    """
    if len(text) <= limit:
        return text
    limit = max(limit, 0)
    end = int(limit * (1 - head))
    kept_end = text[len(text) - end :]
    cut = f"{text[: limit - end]}\n[… {len(text) - limit:,} characters left out to make room …]\n{kept_end}"
    return cut if len(cut) < len(text) else text


def one_line(text: str, limit: int) -> str:
    """`text` on one line of at most `limit` characters; «…» stands for what is left out."""
    # Of a long text only the beginning counts.
    line = " ".join(text[: 4 * limit].split())
    whole = len(text) <= 4 * limit and len(line) <= limit
    return line if whole else f"{line[: limit - 1]}…"


def shrunk_arguments(text: str) -> str:
    """The arguments of a call with its long strings and lists cut, each with how much is missing.

    What is a JSON object stays one, with the same keys at its top. What is no JSON becomes an object that says so.
    The result is `text` itself where it would not be shorter.
    """
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        value = text
    try:
        shrunk = json.dumps(
            _shrunk(value if isinstance(value, dict) else {"arguments": value}), ensure_ascii=False, allow_nan=False
        )
    except (ValueError, RecursionError):  # a number that JSON cannot say
        return text
    # Half of a pair, which stood there as an escape, cannot be sent.
    shrunk = shrunk.encode(errors="replace").decode()
    return shrunk if len(shrunk) < len(text) else text


def _shrunk(value: Any) -> Any:
    if isinstance(value, str) and len(value) > _LONGEST_ARGUMENT:
        head = value[: _LONGEST_ARGUMENT // 2]
        return f"{head}… [{len(value) - len(head):,} more characters left out to make room]"
    if isinstance(value, list):
        more = len(value) - _MOST_ITEMS
        return [*map(_shrunk, value[:_MOST_ITEMS]), *([f"[… {more} more items left out]"] if more > 0 else [])]
    if isinstance(value, dict):
        return {key: _shrunk(item) for key, item in value.items()}
    return value


# Tool calls of a history with what they gave, read for what they say.

_OF_COMMANDS = frozenset({"exit_code", "signal", "timed_out"})
_ENDING = re.compile(r"^\[(.+)\]$", re.MULTILINE)
_LONGEST_ENDING = 2_000
_FENCE = re.compile(r"\[untrusted (\w+) [^\n\]]*\]")
_WHERE_FENCES_BEGIN = 200


@dataclass(frozen=True, slots=True)
class MadeCall:
    """A call with its result.

    Attributes:
        text: the result's text.
        position: where the result is in the history.
    """

    id: str
    name: str
    raw_arguments: str
    arguments: Mapping[str, Any]
    result: Message
    text: str
    position: int

    @property
    def outcome(self) -> Mapping[str, Any]:
        """What came of the call, for programs."""
        return self.result.get("outcome", {})

    @property
    def problem(self) -> str:
        """What a failed call says; '' for one that did not fail, and for a command that did."""
        failed = self.outcome.get("failed") if "outcome" in self.result else self.text.startswith((ERROR, '{"error"'))
        is_command = not self.outcome.keys().isdisjoint(_OF_COMMANDS)
        return reason_of(self.text) if failed and not is_command else ""

    @property
    def fence(self) -> re.Match[str] | None:
        """The line that marks the result as written by others; group 1 is its number."""
        return _FENCE.search(self.text, 0, _WHERE_FENCES_BEGIN)

    @property
    def exit_code(self) -> int | None:
        """The exit code of a command; None where there is none."""
        code = self.outcome.get("exit_code")
        return code if isinstance(code, int) else None

    @property
    def output(self) -> str:
        """What a command has printed."""
        return self.text[: at if (at := self.text.rfind("\n[")) >= 0 else None]

    @property
    def ending(self) -> str:
        """The last line of a result, without its brackets, for people to read."""
        found = _ENDING.findall(self.text[-_LONGEST_ENDING:])
        return next((line for line in reversed(found) if not line.startswith("ignored: ")), "")

    def argument(self, name: str) -> str:
        """An argument as text; '' where it is none."""
        value = self.arguments.get(name)
        return value if isinstance(value, str) else ""


def made_calls(messages: Sequence[Message], first: int, end: int) -> Iterator[MadeCall]:
    """The calls whose results are from `first` to `end`, in order; of ids that stand twice the latest call counts."""
    open_calls: dict[str, tuple[str, str]] = {}
    for position in range(first, end):
        message = messages[position]
        for call in message.get("tool_calls", ()):
            open_calls[call["id"]] = call["function"]["name"], call["function"]["arguments"]
        call_id = message.get("tool_call_id", "")
        if message["role"] == "tool" and (found := open_calls.pop(call_id, None)) is not None:
            name, raw = found
            arguments = object_in(raw)
            if name == MORE_TOOLS:
                name, arguments = meant(name, arguments)
            yield MadeCall(call_id, name, raw, arguments, message, text_of(message["content"]), position)


def object_in(text: str) -> Mapping[str, Any]:
    """The JSON object that a text is; empty where it is none."""
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


# One line in place of an old result: what was called, and what came of it.

_TARGET, _SAID = 120, 160
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$", re.MULTILINE)
_MOST_PATHS = 3
_TELLING = ("path", "command", "url", "query", "pattern", "question", "action", "session_id", "name")
_QUOTED = frozenset({"command", "pattern", "query"})
RUNNERS = frozenset({"terminal", "execute_code", "process"})


def told(call: MadeCall) -> str:
    """What was called and what came of it, in a few words; nothing of what strangers wrote."""
    named = f"{call.name} {target_of(call)}".rstrip()
    if problem := call.problem:
        return f"{named}: failed" if call.fence else f"{named}: failed: {one_line(problem, _SAID)}"
    outcome = "" if call.fence else _outcome(call)
    return f"{named}: {outcome}" if outcome else named


def target_of(call: MadeCall) -> str:
    """What a call was about: a path, a command, an address, a pattern; else its arguments, short."""
    if call.name == "patch" and (paths := patched_paths(call)):
        return ", ".join(paths[:_MOST_PATHS])
    for name in _TELLING:
        if said := call.argument(name):
            line = one_line(said, _TARGET)
            return f"`{line}`" if name in _QUOTED else line
    return one_line(call.raw_arguments, _TARGET) if call.arguments else ""


def patched_paths(call: MadeCall) -> list[str]:
    """The files that a call of `patch` is about."""
    if path := call.argument("path"):
        return [path]
    return list(dict.fromkeys(found.strip() for found in _PATCHED.findall(call.argument("patch"))))


def last_line(text: str) -> str:
    """The last line of an output that is not empty, short."""
    lines = text[-2_000:].strip().splitlines()
    return one_line(lines[-1], _SAID) if lines else ""


def _outcome(call: MadeCall) -> str:
    if call.name in RUNNERS:
        return _ran(call)
    if isinstance(counts := call.outcome.get("counts"), dict):
        return ", ".join(f"{count} {name}" for name, count in counts.items())
    if call.name == "search_files":
        return one_line(call.text.lstrip().partition("\n")[0].rstrip(":"), _SAID)
    if ending := call.ending:
        return one_line(ending.removeprefix(f"{target_of(call)}: "), _SAID)
    return f"begins «{one_line(call.text, _TARGET)}»" if call.text.strip() else ""


def _ran(call: MadeCall) -> str:
    code, line, signal = call.exit_code, last_line(call.output), call.outcome.get("signal")
    state = f"ended by {signal}" if signal else "" if code is None else f"exit code {code}"
    if call.outcome.get("running"):
        state = "running"
    if call.outcome.get("timed_out"):
        state = "timed out"
    return ", ".join(part for part in (state, f"last line «{line}»" if line else "") if part)


_SMALL = 400


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
        if times[call.id] > 1 or not call.id:
            continue
        has_parts, is_old = isinstance(call.result["content"], list), call.position < end
        is_repeated = not has_parts and (call.name, call.text) in latest
        latest.add((call.name, call.text))
        if (has_parts or len(call.text) > _SMALL) and (is_old or is_repeated):
            line = _line(call, is_repeated=is_repeated)
            if has_parts or len(line) < len(call.text):
                found.results[call.id] = line
        if is_old and len(call.raw_arguments) > _SMALL:
            shrunk = shrunk_arguments(call.raw_arguments)
            if shrunk != call.raw_arguments:
                found.arguments[call.id] = shrunk
    return found


def _line(call: MadeCall, *, is_repeated: bool) -> str:
    content = call.result["content"]
    has_images = isinstance(content, list) and any(part["type"] != "text" for part in content)
    size = f"{len(call.text):,} characters{' and images' if has_images else ''}"
    why = "The same as a later result, left out here" if is_repeated else "Earlier result, left out to make room"
    return f"[{why}: {told(call)} ({size})]"
