"""A recording read back: the lines of each connection in it, what they have to do with each other, what they say."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from typing import Any, Literal

from acp_adapter.export.recording import is_entry
from agent_core.errors import RequestError
from tools.light_dataclass import dataclass

# One line of a connection, kept as the text that it is: a recording may have a million of them.

_MOST_NAME = 200


@dataclass(frozen=True, slots=True)
class Frame:
    """The line; `of` makes one.

    Attributes:
        place: which line of the connection it is, from 1.
        direction: `out` to the agent, `in` from it.
        at: seconds since the recording began.
        size: characters of JSON.
        method: of a request or a notification; None for others.
        number: the id as text, where there is one.
        is_error: whether it is an answer that is an error.
        session: the session that it names as its own, or as its result; '' for none.
        piece: of a `session/update`, which kind of update it is, if it is a piece of a text.
        stray: what the line was, if it was no message.
    """

    place: int
    direction: Literal["in", "out"]
    at: float
    size: int
    method: str | None
    number: str | None
    is_error: bool
    session: str
    piece: str
    stray: str
    _body: str

    @classmethod
    def of(
        cls, place: int, direction: Literal["in", "out"], at: float, message: dict[str, Any] | None, stray: str = ""
    ) -> Frame:
        """The frame of a message, or of a line that was none."""
        said = message or {}
        body = "" if message is None else json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        return cls(
            place,
            direction,
            at,
            len(body) or len(stray),
            str(said["method"])[:_MOST_NAME] if "method" in said else None,
            repr(said["id"]) if "id" in said else None,
            "error" in said,
            _session(said),
            _piece(said),
            stray,
            body,
        )

    @property
    def is_message(self) -> bool:
        """Whether the line was one."""
        return bool(self._body)

    @property
    def message(self) -> dict[str, Any] | None:
        """The message, read anew each time; None for a line that was none."""
        found: dict[str, Any] | None = json.loads(self._body) if self._body else None
        return found


def _session(message: dict[str, Any]) -> str:
    match message:
        case {"params": {"sessionId": str(session)}} | {"result": {"sessionId": str(session)}}:
            return session[:_MOST_NAME]
    return ""


def _piece(message: dict[str, Any]) -> str:
    match message:
        case {"params": {"update": {"sessionUpdate": str(kind)}}} if kind.endswith("_chunk"):
            return kind[:_MOST_NAME]
    return ""


# The connections in a file.


@dataclass(slots=True)
class Recording:
    """One connection: what recorded it, when it began ('' where unknown), and its lines in order."""

    program: str = ""
    begun: str = ""
    frames: list[Frame] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class RecordingFile:
    """What a file holds: its connections, and how many of its lines could not be read."""

    recordings: tuple[Recording, ...]
    unreadable: int


def read_recordings(lines: Iterable[str]) -> RecordingFile:
    """The connections in a file that `--record` wrote, or in what `hermes-acp prompt --json` printed.

    Raises:
        RequestError: no line of it is one of a recording.
    """
    found: dict[str, Recording] = {}
    unreadable = 0
    for line in lines:
        if not line.strip():
            continue
        entry = _entry(line)
        if entry is None:
            unreadable += 1
            continue
        recording = found.setdefault(str(entry.get("run", "")), Recording())
        if "recording" in entry:
            recording.program, recording.begun = str(entry.get("program", "")), str(entry.get("at", ""))
        else:
            recording.frames.append(_frame(entry, len(recording.frames) + 1))
    if not found:
        raise RequestError(
            "That file holds no recording. One is made by `hermes-acp --record FILE` (in the editor's settings), "
            "`hermes-acp prompt --record FILE`, or `hermes-acp prompt --json > FILE`."
        )
    return RecordingFile(tuple(found.values()), unreadable)


def _entry(line: str) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return entry if is_entry(entry) else None


def _frame(entry: dict[str, Any], place: int) -> Frame:
    message = entry.get("frame")
    if isinstance(message, dict):
        return Frame.of(place, entry["dir"], float(entry["t"]), message)
    return Frame.of(place, entry["dir"], float(entry["t"]), None, str(entry.get("line", message)))


# What the lines of a connection have to do with each other: requests with their answers, text with its pieces.

Kind = Literal["request", "answer", "error", "notification", "stray"]


@dataclass(frozen=True, slots=True)
class Row:
    """What the page shows as one line: a message, or pieces of one text that came one after the other.

    Attributes:
        frames: the lines it stands for; several only for pieces of a text.
        kind: what sort of message it is.
        name: the method; of an answer, that of its request.
        session: the session it is about; '' for none.
        took: seconds between request and answer, for both of them; None without an answer.
        partner: place of the answer or request that belongs to it; 0 for none.
    """

    frames: tuple[Frame, ...]
    kind: Kind
    name: str
    session: str
    took: float | None = None
    partner: int = 0

    @property
    def first(self) -> Frame:
        """The line that it begins with."""
        return self.frames[0]

    @property
    def size(self) -> int:
        """Characters of JSON."""
        return sum(frame.size for frame in self.frames)

    @property
    def update(self) -> dict[str, Any]:
        """Of a `session/update`, what it says; else empty."""
        params = (self.first.message or {}).get("params")
        update = params.get("update") if isinstance(params, dict) else None
        return update if isinstance(update, dict) else {}


def rows_of(frames: Sequence[Frame]) -> tuple[Row, ...]:
    """The lines as rows, each request with its answer."""
    answers, requests = _pairs(frames)
    by_place = {frame.place: frame for frame in frames}
    return tuple(_joined(_row(frame, answers, requests, by_place) for frame in frames))


def unanswered(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Requests that no answer came to."""
    return tuple(row for row in rows if row.kind == "request" and not row.partner)


def _pairs(frames: Sequence[Frame]) -> tuple[dict[int, int], dict[int, int]]:
    """Places of answers by those of their requests, and the other way round. An answered id may be used again."""
    open_requests: dict[tuple[str, str], int] = {}
    answers: dict[int, int] = {}
    for frame in frames:
        if frame.number is None:
            continue
        if frame.method is not None:
            open_requests[frame.direction, frame.number] = frame.place
            continue
        asked_by = "out" if frame.direction == "in" else "in"
        asked = open_requests.pop((asked_by, frame.number), None)
        if asked is not None:
            answers[asked] = frame.place
    return answers, {answer: request for request, answer in answers.items()}


def _row(frame: Frame, answers: dict[int, int], requests: dict[int, int], by_place: dict[int, Frame]) -> Row:
    if not frame.is_message:
        return Row((frame,), "stray", "no message", "")
    if frame.method is not None:
        if frame.number is None:
            return Row((frame,), "notification", frame.method, frame.session)
        answer = answers.get(frame.place, 0)
        took = by_place[answer].at - frame.at if answer else None
        return Row((frame,), "request", frame.method, frame.session, took, answer)
    kind: Kind = "error" if frame.is_error else "answer"
    request = requests.get(frame.place, 0)
    if not request:
        return Row((frame,), kind, "answer to nothing", "")
    asked = by_place[request]
    return Row((frame,), kind, asked.method or "", asked.session or frame.session, frame.at - asked.at, request)


def _joined(rows: Iterator[Row]) -> Iterator[Row]:
    """Pieces of one text that follow one another become one row."""
    run: list[Row] = []
    for row in rows:
        if run and _piece_of_row(row) != _piece_of_row(run[0]):
            yield _one(run)
            run = []
        if _piece_of_row(row) is None:
            yield row
        else:
            run.append(row)
    if run:
        yield _one(run)


def _piece_of_row(row: Row) -> tuple[str, str, str] | None:
    """Which text this is a piece of; None for what is none."""
    if row.kind != "notification" or not row.first.piece:
        return None
    return row.first.direction, row.session, row.first.piece


def _one(run: Sequence[Row]) -> Row:
    first = run[0]
    return Row(tuple(frame for row in run for frame in row.frames), first.kind, first.name, first.session)


# What of a recording is on the page: a browser cannot show all of one that is hundreds of megabytes long.

MOST_ROWS = 20_000
MOST_CHARACTERS = 20_000_000


@dataclass(frozen=True, slots=True)
class Span:
    """Seconds of a connection, the first and the last one included."""

    begin: float = -math.inf
    end: float = math.inf


@dataclass(frozen=True, slots=True)
class Part:
    """What is shown of one connection.

    Attributes:
        rows: of all there are, in their order.
        outside: how many rows are not in the seconds that were asked for.
        before: how many of those that are were left out, all before the first of `rows`.
    """

    rows: tuple[Row, ...]
    outside: int
    before: int

    @property
    def places(self) -> range:
        """Those of its lines in the connection."""
        return range(self.rows[0].first.place, self.rows[-1].first.place + 1) if self.rows else range(0)


def parts(connections: Sequence[Sequence[Row]], span: Span) -> list[Part]:
    """What is shown of each connection: the last rows of `span`, as many as a page can hold of all together."""
    rows_left, characters_left = MOST_ROWS, MOST_CHARACTERS
    found = []
    for rows in reversed(connections):
        inside = [row for row in rows if span.begin <= row.first.at <= span.end]
        first = len(inside)
        while first and rows_left and characters_left > 0:
            first -= 1
            rows_left -= 1
            characters_left -= inside[first].size
        if first:  # nothing of what came before it is shown either
            rows_left = 0
        found.append(Part(tuple(inside[first:]), len(rows) - len(inside), first))
    return found[::-1]


# What a message says, in a few words.

_MOST = 160
_TELLING = ("stopReason", "path", "command", "content", "cwd", "modeId", "methodId", "terminalId", "sessionId")


def hint(row: Row) -> str:
    """The words beside a row's name: the beginning of a text, a title, a path, an outcome; '' for none."""
    return _short(_hint(row))


def text_of(row: Row) -> str:
    """The whole text of a row that stands for pieces of one; '' for another row."""
    return "".join(_content_text(_update(frame.message).get("content")) for frame in row.frames)


def _hint(row: Row) -> str:
    if row.kind == "stray":
        return row.first.stray
    if row.update:
        return _of_update(row)
    message = row.first.message or {}
    if row.kind == "error":
        error = message.get("error")
        return str(error.get("message", error)) if isinstance(error, dict) else str(error)
    return _of_body(message.get("result" if row.kind == "answer" else "params"))


def _of_update(row: Row) -> str:
    update = row.update
    kind = str(update.get("sessionUpdate", ""))
    if kind.endswith("_chunk"):
        pieces = f" ×{len(row.frames)}" if len(row.frames) > 1 else ""
        return f"{kind}{pieces}: {text_of(row)}"
    words = (update.get("status"), update.get("title") or update.get("toolCallId"), update.get("currentModeId"))
    return f"{kind}: {' '.join(str(word) for word in words if word)}".removesuffix(": ")


def _of_body(body: Any) -> str:
    """What a request's parameters or a result are about."""
    match body:
        case {"prompt": [*blocks]}:
            return " ".join(filter(None, map(_content_text, blocks)))
        case {"outcome": {"outcome": str(outcome), **rest}}:
            return f"{outcome} {rest.get('optionId', '')}".strip()
        case (
            {"toolCall": {"title": str(words)}}
            | {"clientInfo": {"name": str(words)}}
            | {"agentInfo": {"name": str(words)}}
        ):
            return words
        case dict():
            return next((body[name] for name in _TELLING if isinstance(body.get(name), str)), "")
    return ""


def _update(message: dict[str, Any] | None) -> dict[str, Any]:
    match message:
        case {"params": {"update": dict(update)}}:
            return update
    return {}


def _content_text(content: Any) -> str:
    match content:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "resource_link", "uri": str(uri)} | {"type": "resource", "resource": {"uri": str(uri)}}:
            return uri
        case {"type": str(kind)}:
            return f"[{kind}]"
    return ""


def _short(words: str) -> str:
    line = " ".join(words[: 2 * _MOST].split())
    return line if len(line) <= _MOST else f"{line[: _MOST - 1]}…"
