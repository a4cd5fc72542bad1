"""A recording as one HTML file for those who write agents and clients; it needs nothing else, no network either."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from string import Template
from typing import Any

from acp_adapter.export.markup import NOTHING, Html, join, tag, text
from acp_adapter.export.page_frame import page_in_frame, resource
from acp_adapter.recording.choosing import Part, Span, parts
from acp_adapter.recording.exchanges import MethodFigures, Row, figures, rows_of, unanswered
from acp_adapter.recording.page_lanes import lanes
from acp_adapter.recording.page_rows import row, row_id
from acp_adapter.recording.reading import Recording, RecordingFile
from acp_adapter.recording.words import bytes_of
from acp_adapter.recording.words import span as span_of

_HERE = "acp_adapter.recording"
_ALL = Span()
_SLOW = 1.0
# They last as long as a model works or a person thinks.
_TURNS = frozenset({"session/prompt", "session/request_permission"})
_MOST_NAMED = 20


def to_page(recorded: RecordingFile, title: str, span: Span = _ALL) -> str:
    """The page: for each connection its facts, a timeline, the latencies, and the messages with filters above."""
    connections = [rows_of(recording.frames) for recording in recorded.recordings]
    shown = parts(connections, span)
    body = Template(resource(_HERE, "page.html")).substitute(
        title=text(title),
        filters=join(_filters([each for part in shown for each in part.rows])),
        unreadable=_unreadable(recorded.unreadable),
        connections=join(
            _connection(number, recording, rows, part)
            for number, (recording, rows, part) in enumerate(
                zip(recorded.recordings, connections, shown, strict=True), 1
            )
        ),
    )
    return page_in_frame(title, body, (resource(_HERE, "page.css"),), resource(_HERE, "page.js"))


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


def _connection(number: int, recording: Recording, rows: Sequence[Row], part: Part) -> Html:
    facts = join(tag("div", tag("dt", text(name)), tag("dd", text(value))) for name, value in _facts(recording, rows))
    return tag(
        "section",
        tag("h2", text(f"Connection {number}")),
        tag("dl", facts),
        _remarkable(number, rows, part),
        lanes(number, part.rows),
        _latencies(figures(rows)),
        join(tag("p", text(words), class_="remark") for words in _left_out(part)),
        tag("div", join(_rows(number, part)), class_="rows"),
        aria_label=f"Connection {number}",
    )


def _rows(number: int, part: Part) -> Iterator[Html]:
    for place, each in enumerate(part.rows):
        yield row(number, each, part.places, is_whole=place >= len(part.rows) - part.whole)


def _left_out(part: Part) -> Iterator[str]:
    if part.outside:
        yield f"{part.outside:,} messages before or after the seconds that were asked for are left out."
    if part.before:
        yield f"{part.before:,} messages before these are left out of the page. Choose others with --from and --to."


def _facts(recording: Recording, rows: Sequence[Row]) -> Iterator[tuple[str, str]]:
    frames = recording.frames
    yield "Recorded by", recording.program or "unknown"
    if recording.begun:
        yield "Begun", recording.begun
    if frames:
        yield "Lasted", span_of(frames[-1].at - frames[0].at)
    for name, direction in (("To the agent", "out"), ("From the agent", "in")):
        sizes = [frame.size for frame in frames if frame.direction == direction]
        yield name, f"{len(sizes)} messages, {bytes_of(sum(sizes))}"
    for name, key, method in (("Client", "params", "clientInfo"), ("Agent", "result", "agentInfo")):
        if said := _introduced(rows, key, method):
            yield name, said


def _introduced(rows: Sequence[Row], key: str, info: str) -> str:
    """How one side introduced itself in `initialize`."""
    for each in rows:
        if each.name != "initialize":
            continue
        part: Any = (each.first.message or {}).get(key)
        if isinstance(part, dict) and isinstance(part.get(info), dict):
            return " ".join(str(part[info].get(name, "")) for name in ("title", "name", "version")).strip()
    return ""


def _remarkable(number: int, rows: Sequence[Row], part: Part) -> Html:
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
    items = [item for words, found in kinds for item in _named(number, words, found, part.places)]
    if not items:
        return tag("p", text("Every request was answered, at once and without an error."), class_="remark")
    return tag("div", tag("h3", text("Worth a look")), tag("ul", join(items)), class_="remarkable")


def _named(number: int, words: str, found: Sequence[Row], on_page: range) -> Iterator[Html]:
    for each in found[:_MOST_NAMED]:
        took = f" ({span_of(each.took)})" if each.took is not None else ""
        if each.first.place in on_page:
            link = tag("a", text(f"{each.name}{took}"), href=f"#{row_id(number, each.first.place)}")
        else:
            link = text(f"{each.name}{took}, at {each.first.at:.3f} s")
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
            *(tag("td", text(value)) for value in (str(each.count), span_of(each.median), span_of(each.longest))),
        )
        for each in found
    )
    table = tag("table", tag("thead", head), tag("tbody", join(lines)))
    return tag("details", tag("summary", text("Latencies")), tag("div", table, class_="table"), class_="latencies")
