"""A recording read back: the lines of each connection in it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import field
from typing import Any

from acp_adapter.recording.frames import Frame
from acp_adapter.recording.opening import is_entry
from agent_core.errors import RequestError
from tools.light_dataclass import dataclass


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
