"""A recording as one HTML file for those who write agents and clients; it needs nothing else, no network either."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.resources import files
from string import Template
from typing import Any

from acp_adapter.export.markup import NOTHING, Html, join, tag, text
from acp_adapter.export.page_policy import content_policy
from acp_adapter.recording.exchanges import MethodFigures, Row, figures, rows_of, unanswered
from acp_adapter.recording.page_lanes import lanes
from acp_adapter.recording.page_rows import row, row_id
from acp_adapter.recording.reading import Recording, RecordingFile
from acp_adapter.recording.words import bytes_of, span

_SLOW = 1.0
# They last as long as a model works or a person thinks.
_TURNS = frozenset({"session/prompt", "session/request_permission"})
_MOST_NAMED = 20


def to_page(recorded: RecordingFile, title: str) -> str:
    """The page: for each connection its facts, a timeline, the latencies, and every message with filters above."""
    style, script = _resource("page.css"), _resource("page.js")
    connections = [rows_of(recording.frames) for recording in recorded.recordings]
    return Template(_resource("page.html")).substitute(
        policy=content_policy((style,), script),
        title=text(title),
        filters=join(_filters([each for rows in connections for each in rows])),
        unreadable=_unreadable(recorded.unreadable),
        connections=join(
            _connection(number, recording, rows)
            for number, (recording, rows) in enumerate(zip(recorded.recordings, connections, strict=True), 1)
        ),
        style=style,
        script=script,
    )


def _resource(name: str) -> str:
    return files("acp_adapter.recording").joinpath(name).read_text("utf-8")


def _unreadable(many: int) -> Html:
    return tag("p", text(f"{many} lines of the file could not be read."), class_="remark") if many else NOTHING


def _filters(rows: Sequence[Row]) -> Iterator[Html]:
    choices = (
        ("direction", "Direction", [("out", "to the agent"), ("in", "from the agent")]),
        ("kind", "Kind", [(kind, kind) for kind in sorted({each.kind for each in rows})]),
        ("name", "Method", [(name, name) for name in sorted({each.name for each in rows})]),
        ("session", "Session", [(name, name) for name in sorted({each.session for each in rows} - {""})]),
    )
    for name, label, values in choices:
        options = (tag("option", text(words), value=value) for value, words in values)
        every = tag("option", text("all"), value="")
        yield tag("label", text(f"{label} "), tag("select", every, *options, id=f"by-{name}"))


def _connection(number: int, recording: Recording, rows: Sequence[Row]) -> Html:
    facts = join(tag("div", tag("dt", text(name)), tag("dd", text(value))) for name, value in _facts(recording, rows))
    return tag(
        "section",
        tag("h2", text(f"Connection {number}")),
        tag("dl", facts),
        _remarkable(number, rows),
        lanes(number, rows),
        _latencies(figures(rows)),
        tag("div", join(row(number, each) for each in rows), class_="rows"),
        aria_label=f"Connection {number}",
    )


def _facts(recording: Recording, rows: Sequence[Row]) -> Iterator[tuple[str, str]]:
    frames = recording.frames
    yield "Recorded by", recording.program or "unknown"
    if recording.begun:
        yield "Begun", recording.begun
    if frames:
        yield "Lasted", span(frames[-1].at - frames[0].at)
    for name, direction in (("To the agent", "out"), ("From the agent", "in")):
        sizes = [frame.size for frame in frames if frame.direction == direction]
        yield name, f"{len(sizes)} messages, {bytes_of(sum(sizes))}"
    for name, key, method in (("Client", "params", "clientInfo"), ("Agent", "result", "agentInfo")):
        if said := _introduced(rows, key, method):
            yield name, said


def _introduced(rows: Sequence[Row], key: str, info: str) -> str:
    """How one side introduced itself in `initialize`."""
    for each in rows:
        part: Any = (each.first.message or {}).get(key)
        if each.name == "initialize" and isinstance(part, dict) and isinstance(part.get(info), dict):
            return " ".join(str(part[info].get(name, "")) for name in ("title", "name", "version")).strip()
    return ""


def _remarkable(number: int, rows: Sequence[Row]) -> Html:
    """What someone who looks for a fault looks at first."""
    kinds = (
        ("no answer came", list(unanswered(rows))),
        ("an error", [each for each in rows if each.kind == "error"]),
        ("no message", [each for each in rows if each.kind == "stray"]),
        ("an answer to nothing", [each for each in rows if each.kind in {"answer", "error"} and not each.partner]),
        (
            f"took over {_SLOW:g} s",
            [
                each
                for each in rows
                if each.kind == "request" and (each.took or 0) > _SLOW and each.name not in _TURNS
            ],
        ),
    )
    items = [item for words, found in kinds for item in _named(number, words, found)]
    if not items:
        return tag("p", text("Every request was answered, at once and without an error."), class_="remark")
    return tag("div", tag("h3", text("Worth a look")), tag("ul", join(items)), class_="remarkable")


def _named(number: int, words: str, found: Sequence[Row]) -> Iterator[Html]:
    for each in found[:_MOST_NAMED]:
        took = f" ({span(each.took)})" if each.took is not None else ""
        link = tag("a", text(f"{each.name}{took}"), href=f"#{row_id(number, each.first.place)}")
        yield tag("li", text(f"{words}: "), link)
    if len(found) > _MOST_NAMED:
        yield tag("li", text(f"{words}: {len(found) - _MOST_NAMED} more"))


def _latencies(found: Sequence[MethodFigures]) -> Html:
    if not found:
        return NOTHING
    names = ("Method", "Asked by", "Times", "Median", "Longest")
    head = tag("tr", join(tag("th", text(name), scope="col") for name in names))
    lines = (
        tag(
            "tr",
            tag("th", text(each.name), scope="row"),
            tag("td", text("client" if each.asked_by == "out" else "agent")),
            *(tag("td", text(value)) for value in (str(each.count), span(each.median), span(each.longest))),
        )
        for each in found
    )
    table = tag("table", tag("thead", head), tag("tbody", join(lines)))
    return tag("details", tag("summary", text("Latencies")), tag("div", table, class_="table"), class_="latencies")
