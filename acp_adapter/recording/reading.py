"""A recording read back: the lines of each connection in it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeGuard

from agent_core.errors import RequestError


@dataclass(frozen=True, slots=True)
class Frame:
    """One line of a connection.

    Attributes:
        place: which line of the connection it is, from 1.
        direction: `out` to the agent, `in` from it.
        at: seconds since the recording began.
        size: characters of JSON.
        message: the message; None for a line that was none, which is then in `stray`.
    """

    place: int
    direction: Literal["in", "out"]
    at: float
    size: int
    message: dict[str, Any] | None
    stray: str = ""


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
    return entry if _is_known(entry) else None


def _is_known(entry: object) -> TypeGuard[dict[str, Any]]:
    match entry:
        case {"recording": int()} | {"dir": "in" | "out", "t": int() | float(), "frame": _}:
            return True
        case {"dir": "in" | "out", "t": int() | float(), "line": str()}:
            return True
    return False


def _frame(entry: dict[str, Any], place: int) -> Frame:
    message = entry.get("frame")
    is_message = isinstance(message, dict)
    size = len(json.dumps(message, ensure_ascii=False, separators=(",", ":"))) if "frame" in entry else 0
    stray = "" if is_message else str(entry.get("line", message))
    return Frame(place, entry["dir"], float(entry["t"]), size or len(stray), message if is_message else None, stray)
