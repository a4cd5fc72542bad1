"""Old tool results and arguments made shorter: what costs no model and loses least."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from agent_core.messages import Message, text_of
from tools.light_dataclass import dataclass
from tools.result import reason_of
from tools.toolsets import MORE_TOOLS, meant

# Texts made shorter: both ends kept, one line of them, and the JSON of a call's arguments, which stays JSON.

_HEAD = 0.7
_LONGEST_ARGUMENT = 200
_LONGEST_KEY = 60
_MOST_ITEMS = 12
_DEEPEST = 6
_PLAIN = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
_ESCAPED = json.JSONEncoder(allow_nan=False)


def both_ends(text: str, limit: int) -> str:
    """`text` with about `limit` characters: its beginning, how much is left out, its end; as it is where that is all.

    Cut text never becomes longer than it was.
    """
    if len(text) <= limit:
        return text
    limit = max(limit, 0)
    end = int(limit * (1 - _HEAD))
    kept_end = text[len(text) - end :]
    cut = f"{text[: limit - end]}\n[… {len(text) - limit:,} characters left out to make room …]\n{kept_end}"
    return cut if len(cut) < len(text) else text


def one_line(text: str, limit: int) -> str:
    """`text` on one line of at most `limit` characters; what is left out is told by «…»."""
    # Of a long text only the beginning counts.
    line = " ".join(text[: 4 * limit].split())
    whole = len(text) <= 4 * limit and len(line) <= limit
    return line if whole else f"{line[: limit - 1]}…"


def shrunk_arguments(text: str, known: Mapping[str, Any] | None = None, longest: int = _LONGEST_ARGUMENT) -> str:
    """The arguments of a call with its long strings cut, each with how much is missing.

    What is a JSON object stays one, with the same keys at its top. What is no JSON becomes an object that says so.
    The result is `text` itself where it would not be shorter.

    Args:
        known: the object that `text` is, where it was read already.
    """
    value = known or _read(text, longest)
    shrunk = _as_json({key: _shrunk(item, longest, 1) for key, item in value.items()})
    return shrunk if shrunk is not None and len(shrunk) < len(text) else text


def _read(text: str, longest: int) -> Mapping[str, Any]:
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        value = one_line(text, longest)
    return value if isinstance(value, dict) else {"arguments": value}


def _as_json(value: object) -> str | None:
    """JSON text that can be sent; None where a number in it is none that JSON knows."""
    try:
        text = _PLAIN.encode(value)
        text.encode()
    except UnicodeEncodeError:  # half of a pair, which stood there as an escape
        return _ESCAPED.encode(value)
    except ValueError:
        return None
    return text


def _shrunk(value: Any, longest: int, depth: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= longest else _cut(value, longest)
    if isinstance(value, list):
        if depth >= _DEEPEST:
            return f"[… {len(value)} items left out]"
        kept = [_shrunk(item, longest, depth + 1) for item in value[:_MOST_ITEMS]]
        return [*kept, f"[… {len(value) - _MOST_ITEMS} more items left out]"] if len(value) > _MOST_ITEMS else kept
    if isinstance(value, dict):
        if depth >= _DEEPEST:
            return f"[… {len(value)} keys left out]"
        return {key[:_LONGEST_KEY]: _shrunk(item, longest, depth + 1) for key, item in value.items()}
    return value


def _cut(text: str, longest: int) -> str:
    head = text[: longest // 2]
    return f"{head}… [{len(text) - len(head):,} more characters left out to make room]"


# Tool calls of a history with what they gave, read for what they say.

_DECODER = json.JSONDecoder(strict=False)
_LONGEST_PAYLOAD = 200_000
_OF_COMMANDS = frozenset({"exit_code", "signal", "timed_out"})
_ENDING = re.compile(r"^\[(.+)\]$", re.MULTILINE)
_LONGEST_ENDING = 2_000
_CODE = re.compile(r'"exit_code": (-?\d{1,9})\b')
_FENCE = re.compile(r"\[untrusted (\w+) [^\n\]]*\]")
_WHERE_FENCES_BEGIN = 200


@dataclass(slots=True)
class MadeCall:
    """A call with its result; what is read from it is read once.

    Attributes:
        text: the result's text.
        position: where the result is in the history.
    """

    id: str
    name: str
    raw_arguments: str
    result: Message
    text: str
    position: int
    _arguments: Mapping[str, Any] | None = None
    _problem: str | None = None

    @property
    def arguments(self) -> Mapping[str, Any]:
        """The arguments; empty where they are no JSON object."""
        if self._arguments is None:
            self._arguments = _object(self.raw_arguments)
        return self._arguments

    @property
    def outcome(self) -> Mapping[str, Any] | None:
        """What came of the call, for programs; None where an earlier version has stored it: then its text says it."""
        return self.result.get("outcome")

    @property
    def problem(self) -> str:
        """What a failed call says; '' for one that did not fail, and for a command that did."""
        if self._problem is None:
            self._problem = self._read_problem()
        return self._problem

    def _read_problem(self) -> str:
        outcome = self.outcome
        if outcome is not None:
            is_command = not outcome.keys().isdisjoint(_OF_COMMANDS)
            return reason_of(self.text) if outcome.get("failed") and not is_command else ""
        # A result is not read whole only to find that it is no failure.
        said = payload_of(self.text).get("error") if self.text.startswith('{"error"') else ""
        return said if isinstance(said, str) else ""

    @property
    def fence(self) -> re.Match[str] | None:
        """The line that marks the result as written by others; group 1 is its number."""
        return _FENCE.search(self.text, 0, _WHERE_FENCES_BEGIN)

    @property
    def exit_code(self) -> int | None:
        """The exit code in a command's result; None where there is none."""
        if self.outcome is not None:
            code = self.outcome.get("exit_code")
            return code if isinstance(code, int) else None
        # What stands in the output has a backslash before its quotes.
        place = self.text.rfind('"exit_code": ')
        found = _CODE.match(self.text, place) if place > 0 and self.text[place - 1] != "\\" else None
        return None if found is None else int(found[1])

    @property
    def output(self) -> str:
        """What a command has printed, for people to read."""
        if self.text.startswith("{") and self.outcome is None:
            return str(payload_of(self.text).get("output") or "")
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
        if message["role"] != "tool":
            continue
        found = open_calls.pop(message.get("tool_call_id", ""), None)
        if found is not None:
            name, raw = _meant(*found)
            yield MadeCall(message.get("tool_call_id", ""), name, raw, message, text_of(message["content"]), position)


def _meant(name: str, raw: str) -> tuple[str, str]:
    """The call itself, where it was made by a tool's name."""
    if name != MORE_TOOLS:
        return name, raw
    name, arguments = meant(name, _object(raw))
    return name, json.dumps(arguments, ensure_ascii=False)


def payload_of(text: str) -> Mapping[str, Any]:
    """The JSON object that a result begins with; empty where there is none."""
    return _object(text) if text.startswith("{") and len(text) <= _LONGEST_PAYLOAD else {}


def _object(text: str) -> Mapping[str, Any]:
    try:
        value, _ = _DECODER.raw_decode(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


# One line in place of an old result: what was called, and what came of it.

_TARGET, _SAID = 120, 160
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (.+)$", re.MULTILINE)
_TITLE = re.compile(r'"title": "((?:[^"\\]|\\.){1,200})"')
_MOST_TITLES = 3
_TELLING = ("path", "command", "url", "query", "pattern", "question", "action", "session_id", "name")
_QUOTED = frozenset({"command", "pattern", "query"})


def result_line(call: MadeCall, *, duplicate: bool = False) -> str:
    """What is shown in place of a call's result.

    Args:
        duplicate: a later call gave the very same.
    """
    text = call.text
    size = f"{len(text):,} characters{_attached(call)}"
    if duplicate:
        return f"[The same as a later result, left out here: {told(call)} ({size})]"
    line = f"[Earlier result, left out to make room: {told(call)} ({size})]"
    return f"{line}{_titles(call, text)}"


def told(call: MadeCall) -> str:
    """What was called and what came of it, in a few words; nothing of what strangers wrote."""
    text = call.text
    target = target_of(call)
    named = f"{call.name} {target}".rstrip()
    if problem := call.problem:
        return f"{named}: failed" if call.fence else f"{named}: failed: {one_line(problem, _SAID)}"
    outcome = "" if call.fence else _OUTCOMES.get(call.name, _first_line)(call, text)
    return f"{named}: {outcome}" if outcome else named


def target_of(call: MadeCall) -> str:
    """What a call was about: a path, a command, an address, a pattern; else its arguments, short."""
    if call.name == "patch" and (paths := patched_paths(call)):
        return ", ".join(paths[:_MOST_TITLES])
    arguments = call.arguments
    for name in _TELLING:
        said = arguments.get(name)
        if said and isinstance(said, str):
            line = one_line(said, _TARGET)
            return f"`{line}`" if name in _QUOTED else line
    urls = arguments.get("urls")
    if isinstance(urls, list):
        return one_line(", ".join(map(str, urls)), _TARGET)
    return one_line(call.raw_arguments, _TARGET) if arguments else ""


def patched_paths(call: MadeCall) -> list[str]:
    """The files that a call of `patch` is about."""
    if path := call.argument("path"):
        return [path]
    return list(dict.fromkeys(found.strip() for found in _PATCHED.findall(call.argument("patch"))))


def last_line(text: object) -> str:
    """The last line of an output that is not empty, short."""
    lines = str(text or "")[-2_000:].strip().splitlines()
    return one_line(lines[-1], _SAID) if lines else ""


def _attached(call: MadeCall) -> str:
    content = call.result["content"]
    return " and images" if isinstance(content, list) and any(part["type"] != "text" for part in content) else ""


def _titles(call: MadeCall, text: str) -> str:
    """The titles of pages, which strangers wrote: in the fence that they came in."""
    fence = call.fence
    titles = _TITLE.findall(text)[:_MOST_TITLES] if fence is not None and call.name.startswith("web_") else []
    if fence is None or not titles:
        return ""
    return f"\n{fence[0]}\n{one_line('; '.join(titles), _SAID)}\n[end {fence[1]}]"


def _read_line(call: MadeCall, text: str) -> str:
    if call.outcome is not None:
        return call.ending
    payload = payload_of(text)
    content, total = payload.get("content"), payload.get("total_lines")
    first = content.partition("|")[0] if isinstance(content, str) else ""
    if not isinstance(content, str) or not first.isdecimal():
        return one_line(str(payload.get("note") or ""), _SAID)
    last = int(first) + content.count("\n")
    return f"lines {first}–{last}" + (f" of {total}" if isinstance(total, int) else "")


def _ran(call: MadeCall, text: str) -> str:
    known = payload_of(text) if call.outcome is None else call.outcome
    code, line = call.exit_code, last_line(call.output)
    state = "running" if known.get("running") else f"exit code {code}" if code is not None else ""
    if code is None and isinstance(known.get("signal"), str):
        state = f"ended by {known['signal']}"
    if known.get("timed_out"):
        state = "timed out"
    return ", ".join(part for part in (state, f"last line «{line}»" if line else "") if part)


def _written(call: MadeCall, text: str) -> str:
    if not text.startswith("{"):
        return call.ending
    payload = payload_of(text)
    lines = payload.get("lines")
    return str(payload.get("status") or "written") + (f", {lines} lines" if isinstance(lines, int) else "")


def _patched(call: MadeCall, text: str) -> str:
    if not text.startswith("{"):
        return call.ending.removeprefix(f"{target_of(call)}: ")
    payload = payload_of(text)
    files = payload.get("files")
    diffs = [payload, *(files if isinstance(files, list) else [])]
    # Each begins on a line of its own.
    whole = "\n".join(["", *(str(part.get("diff") or "") for part in diffs if isinstance(part, dict))])
    added = whole.count("\n+") - whole.count("\n+++")
    removed = whole.count("\n-") - whole.count("\n---")
    return f"changed, +{added} −{removed} lines" if added or removed else "changed"


def _counted(_call: MadeCall, text: str) -> str:
    results = payload_of(text).get("results")
    return f"{len(results)} results" if isinstance(results, list) else _first_line(_call, text)


def _planned(call: MadeCall, text: str) -> str:
    counts = (payload_of(text) if call.outcome is None else call.outcome).get("counts")
    return ", ".join(f"{count} {name}" for name, count in counts.items()) if isinstance(counts, dict) else ""


def _first_line(_call: MadeCall, text: str) -> str:
    return f"begins «{one_line(text, _TARGET)}»" if text.strip() else "nothing"


def _found(_call: MadeCall, text: str) -> str:
    return one_line(text.lstrip().partition("\n")[0].rstrip(":"), _SAID)


_OUTCOMES: Mapping[str, Callable[[MadeCall, str], str]] = {
    "read_file": _read_line,
    "search_files": _found,
    "terminal": _ran,
    "execute_code": _ran,
    "process": _ran,
    "write_file": _written,
    "patch": _patched,
    "web_search": _counted,
    "session_search": _counted,
    "todo": _planned,
}


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
