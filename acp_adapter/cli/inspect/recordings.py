"""A recording read back: the lines of each connection in it, what they have to do with each other, what they say."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import field
from typing import Any, Literal

from acp_adapter.export.recording import Direction, is_entry
from agent_core.errors import RequestError
from tools.light_dataclass import dataclass

Kind = Literal["request", "answer", "error", "notification", "stray"]
_MOST_NAME = 200


@dataclass(slots=True)
class Row:
    """What the page shows as one line: a message, or pieces of one text that came one after the other.

    Attributes:
        place: which line of the connection it begins with, from 1.
        direction: `out` to the agent, `in` from it.
        at: seconds since the recording began.
        kind: what sort of message it is.
        name: the method; of an answer, that of its request.
        messages: those it stands for; several only for pieces of a text, none for a line that was no message.
        stray: what that line was.
        size: characters of JSON.
        piece: which text its messages are pieces of; '' for none.
        took: seconds between request and answer, for both of them; None without an answer.
        partner: place of the answer or request that belongs to it; 0 for none.
    """

    place: int
    direction: Direction
    at: float
    kind: Kind
    name: str
    messages: list[dict[str, Any]]
    stray: str = ""
    size: int = 0
    piece: str = ""
    took: float | None = None
    partner: int = 0


@dataclass(slots=True)
class Recording:
    """One connection: what recorded it, when it began ('' where unknown), and its lines in order."""

    program: str = ""
    begun: str = ""
    rows: list[Row] = field(default_factory=list)
    lines: int = 0
    _asked: dict[tuple[Direction, str], Row] = field(default_factory=dict)

    def add(self, entry: dict[str, Any]) -> None:
        """Take the next line."""
        self.lines += 1
        message, way, at = entry.get("frame"), entry["dir"], float(entry["t"])
        if not isinstance(message, dict):
            stray = str(entry.get("line", message))
            self.rows.append(Row(self.lines, way, at, "stray", "no message", [], stray, len(stray)))
            return
        size, piece = len(json.dumps(message, ensure_ascii=False)), _piece(message)
        last = self.rows[-1] if self.rows else None
        if piece and last is not None and (last.piece, last.direction) == (piece, way):
            last.messages.append(message)
            last.size += size
            return
        name = str(message["method"])[:_MOST_NAME] if "method" in message else ""
        row = Row(self.lines, way, at, "notification", name, [message], size=size, piece=piece)
        self.rows.append(row)
        if "method" not in message:
            row.kind = "error" if "error" in message else "answer"
            self._pair(row, repr(message.get("id")))
        elif "id" in message:
            row.kind = "request"
            self._asked[way, repr(message["id"])] = row

    def _pair(self, answer: Row, number: str) -> None:
        """Both sides number their own requests; an answered id may be used again."""
        asked = self._asked.pop(("out" if answer.direction == "in" else "in", number), None)
        if asked is None:
            answer.name = "answer to nothing"
            return
        asked.partner, answer.partner = answer.place, asked.place
        asked.took = answer.took = answer.at - asked.at
        answer.name = asked.name


def _piece(message: dict[str, Any]) -> str:
    match message:
        case {"method": _, "params": {"sessionId": session, "update": {"sessionUpdate": str(kind)}}} if (
            kind.endswith("_chunk") and "id" not in message
        ):
            return f"{kind} {session}"
    return ""


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
    for line in filter(str.strip, lines):
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            entry = None
        if not is_entry(entry):
            unreadable += 1
            continue
        recording = found.setdefault(str(entry.get("run", "")), Recording())
        if "recording" in entry:
            recording.program, recording.begun = str(entry.get("program", "")), str(entry.get("at", ""))
        else:
            recording.add(entry)
    if not found:
        raise RequestError(
            "That file holds no recording. One is made by `hermes-acp --record FILE` (in the editor's settings), "
            "`hermes-acp prompt --record FILE`, or `hermes-acp prompt --json > FILE`."
        )
    return RecordingFile(tuple(found.values()), unreadable)


# What of a recording is on the page: a browser cannot show all of one that is hundreds of megabytes long.

MOST_ROWS = 20_000
MOST_CHARACTERS = 20_000_000


def left_out(recordings: Sequence[Recording]) -> list[int]:
    """Of each connection, how many rows are before the first that is shown: the page holds the last of all."""
    rows_left, characters_left = MOST_ROWS, MOST_CHARACTERS
    found = []
    for recording in reversed(recordings):
        first = len(recording.rows)
        while first and rows_left > 0 and characters_left > 0:
            first -= 1
            rows_left -= 1
            characters_left -= recording.rows[first].size
        if first:  # nothing of what came before it is shown either
            rows_left = 0
        found.append(first)
    return found[::-1]


# What a message says, in a few words.

_MOST = 160


def hint(row: Row) -> str:
    """The words beside a row's name: the beginning of a text, or of what a message has; '' for none."""
    words = " ".join(_said(row)[: 2 * _MOST].split())
    return words if len(words) <= _MOST else f"{words[: _MOST - 1]}…"


def text_of(row: Row) -> str:
    """The whole text of a row that stands for pieces of one."""
    contents = [message["params"]["update"].get("content") for message in row.messages]
    return "".join(str(content.get("text", "")) for content in contents if isinstance(content, dict))


def _said(row: Row) -> str:
    if row.piece:
        pieces = f" ×{len(row.messages)}" if len(row.messages) > 1 else ""
        return f"{row.piece.partition(' ')[0]}{pieces}: {text_of(row)}"
    match row.messages:
        case [{"params": {"update": body}} | {"error": body} | {"params": body} | {"result": body}]:
            return json.dumps(body, ensure_ascii=False)
    return row.stray
