"""The offline provider: a scripted stand-in for a model, without key and network."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Sequence

from agent_core.errors import ProviderStatusError, TurnInterrupted
from agent_core.messages import Message, said_in, text_of
from agent_core.providers.base import (
    Finished,
    ModelRequest,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    ToolCallArguments,
    ToolCallStarted,
    Usage,
    UsageReport,
)
from tools.light_dataclass import dataclass

# The little language of the offline provider: each line of a prompt is a step.

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


# An embedded stand-in for a model: it needs no key and no network, and does what the prompt's lines say.
# It is for trying an editor's integration, for authors of clients and for tests. It keeps no state: where it stands
# in its script follows from the conversation alone.

_NO_REQUESTS_LEFT = "The script has more lines than this turn has requests.\n"


class OfflineProvider:
    """Plays the script in the last user message. Implements `Provider`."""

    name = "offline"

    def stream(self, request: ModelRequest) -> OfflineStream:
        """Begin the next part of the script: up to and with the next tool calls, or to its end."""
        return OfflineStream(request)

    def warm(self) -> None:
        """Nothing has to be loaded."""

    def close(self) -> None:
        """Nothing is held."""


class OfflineStream:
    """One answer of the offline provider. Implements `ModelStream`."""

    def __init__(self, request: ModelRequest) -> None:
        self._request = request
        self._closed = threading.Event()

    def close(self) -> None:
        """Stop: a pause ends at once."""
        self._closed.set()

    def __iter__(self) -> Iterator[StreamEvent]:
        turn = _last_turn(self._request.messages)
        script, on_news = split_script(text_of(said_in(turn[0]))) if turn else ("", "")
        steps, calls_made = parse_script(script), _calls_in(turn)
        news = next((index for index in range(len(turn) - 1, -1, -1) if turn[index].get("news")), 0)
        if news and not _Position(steps, _calls_in(turn[:news])).rest().calls:
            steps = parse_script(on_news) or [[Say(_about(turn[news]))]]
            turn = turn[news:]
            calls_made = _calls_in(turn)
        if not any(steps):
            yield TextDelta(HELP)
            yield from _end("stop", len(HELP))
            return
        if self._request.words_only:
            yield TextDelta(_NO_REQUESTS_LEFT)
            yield from _end("stop", 1)
            return
        told = any(message.get("unfinished") for message in turn)
        yield from self._play(_Position(steps, calls_made).rest(), told=told)

    def _play(self, rest: _Rest, *, told: bool) -> Iterator[StreamEvent]:
        """`told`: an answer broke off at a `fail` line, and what stands before that was said already."""
        said = 0
        for step in _from_failure(rest.before) if told else rest.before:
            for event in self._perform(step):
                if self._closed.is_set():
                    raise TurnInterrupted
                said += 1
                yield event
        if not rest.calls:
            if not said:
                yield TextDelta("Done.")
            yield from _end("stop", said)
            return
        for index, call in enumerate(rest.calls):
            yield ToolCallStarted(index, f"offline_{rest.calls_made + index + 1}", call.tool)
            yield ToolCallArguments(index, call.arguments)
        yield from _end("tool_calls", said)

    def _perform(self, step: Step) -> Iterator[StreamEvent]:
        match step:
            case Say():
                yield from step.deltas()
            case Pause(seconds=seconds):
                self._closed.wait(seconds)
                if self._closed.is_set():
                    raise TurnInterrupted
            case Fail(status=status):
                raise ProviderStatusError(
                    f"The offline model was told to fail with status {status}. Remove the `fail` line to go on.",
                    status,
                )
            case Call():
                raise AssertionError("calls are not performed here")


@dataclass(frozen=True, slots=True)
class _Rest:
    before: Sequence[Step]
    calls: Sequence[Call]
    calls_made: int


@dataclass(frozen=True, slots=True)
class _Position:
    """Where a script stands after `calls_made` of its tool calls."""

    batches: Sequence[Sequence[Step]]
    calls_made: int

    def rest(self) -> _Rest:
        seen = 0
        pending: list[Step] = []
        for batch in self.batches:
            calls = [step for step in batch if isinstance(step, Call)]
            if not calls:
                pending.extend(batch)
                continue
            if seen >= self.calls_made:
                return _Rest(pending, calls, self.calls_made)
            seen += len(calls)
            pending = []
        return _Rest(pending, (), self.calls_made)


def _from_failure(steps: Sequence[Step]) -> Sequence[Step]:
    failures = [position for position, step in enumerate(steps) if isinstance(step, Fail)]
    return steps[failures[0] :] if failures else steps


def _last_turn(messages: Sequence[Message]) -> Sequence[Message]:
    for index in range(len(messages) - 1, -1, -1):
        if messages[index]["role"] == "user" and not messages[index].get("injected"):
            return messages[index:]
    return ()


def _calls_in(messages: Sequence[Message]) -> int:
    return sum(len(message.get("tool_calls", ())) for message in messages)


def _about(news: Message) -> str:
    """What the first of the news says, in a line."""
    _, _, text = text_of(news["content"]).partition("\n\n")
    return f"I was told: {text.partition(chr(10))[0]}"


def _end(reason: str, deltas: int) -> Iterator[StreamEvent]:
    yield UsageReport(Usage(output_tokens=deltas))
    yield Finished("tool_calls" if reason == "tool_calls" else "stop")
