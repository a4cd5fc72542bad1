"""The little language of the offline provider: each line of a prompt is a step."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

from agent_core.providers.base import ReasoningDelta, StreamEvent, TextDelta
from tools.light_dataclass import dataclass

HELP = """\
This is the offline model: a stand-in that needs no key and no network, and thinks nothing of its own. \
It does what the lines of your message say:

    say TEXT                   answer with TEXT
    think TEXT                 show TEXT as reasoning
    read PATH                  read a file
    write PATH TEXT            write TEXT (\\n is a line break) to a file
    edit PATH OLD => NEW       replace OLD by NEW in a file
    search PATTERN             search the workspace
    run COMMAND                run a shell command
    todo A; B; C               make a plan
    call TOOL {"json": …}      call any tool
    parallel … end             the tool calls between the two lines run as one batch
    sleep SECONDS              wait
    stream N                   answer with N small pieces of text
    fail STATUS                fail as a model server does (401, 429, 500 …)
    on news                    what follows is done when something in the background has ended

To work with a real model, configure one (see the README) and start without --offline.
"""

_LONGEST_PAUSE = 86_400.0
_NUMBER = re.compile(r"[0-9]{1,9}")
_ON_NEWS = re.compile(r"^[ \t]*on news[ \t]*$", re.MULTILINE)
_DELTA = re.compile(r"\s*\S+\s*")


@dataclass(frozen=True, slots=True)
class Say:
    """Text or reasoning, streamed word by word."""

    text: str
    reasoning: bool = False
    pieces: int = 0

    def deltas(self) -> Iterator[StreamEvent]:
        """The text in pieces, as a model would stream it."""
        if self.pieces:
            yield from (TextDelta(f"{number:07d} ") for number in range(self.pieces))
            return
        for piece in _DELTA.findall(f"{self.text}\n"):
            yield ReasoningDelta(piece) if self.reasoning else TextDelta(piece)


@dataclass(frozen=True, slots=True)
class Pause:
    """Wait, in seconds."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Fail:
    """Fail as a server that answers with `status`."""

    status: int


@dataclass(frozen=True, slots=True)
class Call:
    """Call a tool with arguments in JSON text."""

    tool: str
    arguments: str


Step = Say | Pause | Fail | Call


def split_script(text: str) -> tuple[str, str]:
    """A prompt in two: what is done at once, and what is done about news of the background."""
    now, *later = _ON_NEWS.split(text, maxsplit=1)
    return now, "".join(later)


def parse_script(text: str) -> list[list[Step]]:
    """The steps of a prompt, in batches: a batch of several is a set of parallel calls.

    Lines that are no step are passed over; a prompt without any step gives an empty list.
    """
    batches: list[list[Step]] = []
    group: list[Step] | None = None
    for line in text.splitlines():
        word, _, rest = line.strip().partition(" ")
        if word == "parallel" and not rest:
            group = []
        elif word == "end" and not rest and group is not None:
            batches.append(group)
            group = None
        elif step := _parse_step(word, rest.strip()):
            if group is not None and isinstance(step, Call):
                group.append(step)
            else:
                batches.append([step])
    if group:
        batches.append(group)
    return [batch for batch in batches if batch]


def _parse_step(word: str, rest: str) -> Step | None:
    parse = _STEPS.get(word)
    if parse is None or not rest:
        return None
    return parse(rest) or Say(f"(This line is not as {word!r} needs it, and was passed over: {word} {rest})")


def _call(tool: str, **arguments: object) -> Call:
    return Call(tool, json.dumps(arguments, ensure_ascii=False))


def _write(rest: str) -> Step:
    path, _, text = rest.partition(" ")
    return _call("write_file", path=path, content=_unescape(text))


def _edit(rest: str) -> Step | None:
    path, _, change = rest.partition(" ")
    old, arrow, new = change.partition(" => ")
    if not arrow:
        return None
    return _call("patch", mode="replace", path=path, old_string=_unescape(old), new_string=_unescape(new))


def _todo(rest: str) -> Step:
    items = [item.strip() for item in rest.split(";") if item.strip()]
    todos = [
        {"id": str(number), "content": item, "status": "in_progress" if number == 1 else "pending"}
        for number, item in enumerate(items, start=1)
    ]
    return _call("todo", todos=todos)


def _any_call(rest: str) -> Step:
    tool, _, arguments = rest.partition(" ")
    return Call(tool, arguments.strip() or "{}")


def _sleep(rest: str) -> Step | None:
    try:
        return Pause(min(max(0.0, float(rest)), _LONGEST_PAUSE))
    except ValueError:
        return None


def _unescape(text: str) -> str:
    return re.sub(r"\\([nt\\])", lambda found: {"n": "\n", "t": "\t", "\\": "\\"}[found[1]], text)


_STEPS: dict[str, Callable[[str], Step | None]] = {
    "say": Say,
    "think": lambda rest: Say(rest, reasoning=True),
    "read": lambda rest: _call("read_file", path=rest),
    "write": _write,
    "edit": _edit,
    "search": lambda rest: _call("search_files", pattern=rest),
    "run": lambda rest: _call("terminal", command=rest),
    "todo": _todo,
    "call": _any_call,
    "sleep": _sleep,
    "stream": lambda rest: Say("", pieces=int(rest)) if _NUMBER.fullmatch(rest) and int(rest) else None,
    "fail": lambda rest: Fail(int(rest)) if _NUMBER.fullmatch(rest) else None,
}
