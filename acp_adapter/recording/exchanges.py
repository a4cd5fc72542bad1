"""What the lines of a connection have to do with each other: requests with their answers, text with its pieces."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any, Literal

from acp_adapter.recording.frames import Frame
from tools.light_dataclass import dataclass

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
    def end(self) -> float:
        """When its last line came, or the answer to it."""
        return self.frames[-1].at + (self.took or 0.0 if self.kind == "request" else 0.0)

    @property
    def update(self) -> dict[str, Any]:
        """Of a `session/update`, what it says; else empty."""
        params = (self.first.message or {}).get("params")
        update = params.get("update") if isinstance(params, dict) else None
        return update if isinstance(update, dict) else {}


@dataclass(frozen=True, slots=True)
class MethodFigures:
    """How often a method was asked, and how long its answers took, in seconds; `asked_by` as `Frame.direction`."""

    name: str
    asked_by: Literal["in", "out"]
    count: int
    median: float
    longest: float


def rows_of(frames: Sequence[Frame]) -> tuple[Row, ...]:
    """The lines as rows, each request with its answer."""
    answers, requests = _pairs(frames)
    by_place = {frame.place: frame for frame in frames}
    return tuple(_joined(_row(frame, answers, requests, by_place) for frame in frames))


def unanswered(rows: Sequence[Row]) -> tuple[Row, ...]:
    """Requests that no answer came to."""
    return tuple(row for row in rows if row.kind == "request" and not row.partner)


def figures(rows: Sequence[Row]) -> tuple[MethodFigures, ...]:
    """Each method that was asked, the one that took the longest first."""
    times: dict[tuple[str, Literal["in", "out"]], list[float]] = defaultdict(list)
    for row in rows:
        if row.kind == "request" and row.took is not None:
            times[row.name, row.first.direction].append(row.took)
    found = [MethodFigures(*key, len(took), median(took), max(took)) for key, took in times.items()]
    return tuple(sorted(found, key=lambda each: -each.longest))


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
        if run and _piece(row) != _piece(run[0]):
            yield _one(run)
            run = []
        if _piece(row) is None:
            yield row
        else:
            run.append(row)
    if run:
        yield _one(run)


def _piece(row: Row) -> tuple[str, str, str] | None:
    """Which text this is a piece of; None for what is none."""
    if row.kind != "notification" or not row.first.piece:
        return None
    return row.first.direction, row.session, row.first.piece


def _one(run: Sequence[Row]) -> Row:
    first = run[0]
    return Row(tuple(frame for row in run for frame in row.frames), first.kind, first.name, first.session)
