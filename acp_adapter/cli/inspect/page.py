"""A recording as one HTML file for those who write agents and clients; it needs nothing else, no network either."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from string import Template
from typing import Any

from acp_adapter.cli.inspect.recordings import (
    MethodFigures,
    Part,
    Recording,
    RecordingFile,
    Row,
    Span,
    figures,
    hint,
    parts,
    rows_of,
    text_of,
    unanswered,
)
from acp_adapter.export.markup import NOTHING, Html, change_of, diff_lines, join, page_in_frame, resource, tag, text
from acp_adapter.format import duration

# Sizes and spans of time.

_KILO, _MEGA = 1_000, 1_000_000


def span(seconds: float) -> str:
    """`0.42 ms`, `37 ms`, `1.2 s`, `4 min 2 s`."""
    if seconds >= 1:
        return duration(seconds)
    milliseconds = 1_000 * seconds
    return f"{milliseconds:.2f} ms" if milliseconds < 1 else f"{milliseconds:.0f} ms"


def bytes_of(size: int) -> str:
    """`512 B`, `3.4 kB`, `1.2 MB`."""
    if size < _KILO:
        return f"{size} B"
    return f"{size / _KILO:.1f} kB" if size < _MEGA else f"{size / _MEGA:.1f} MB"


# One line of a recording on the page: its head, and folded below it what it holds.

_MOST_TEXT = 200_000
_MOST_PIECES = 50

_LEFT_OUT = tag(
    "p",
    text("What it holds is left out of a page that is so large. Choose its seconds with --from and --to."),
    class_="remark",
)


def row_id(connection: int, place: int) -> str:
    """The anchor of a row on the page."""
    return f"c{connection}-{place}"


def row(connection: int, shown: Row, on_page: range, *, is_whole: bool) -> Html:
    """A row: time, direction, kind, method, what it says, latency and size; folded below, what it holds.

    Args:
        on_page: places of the lines that the page has: others are no target for a link.
        is_whole: whether what it holds is on the page.
    """
    is_out = shown.first.direction == "out"
    head = tag(
        "summary",
        tag("span", text(f"{shown.first.at:.3f}"), class_="at"),
        tag("span", text("→" if is_out else "←"), class_="way", role="img", aria_label=_way(is_out=is_out)),
        tag("span", text(shown.kind), class_="kind"),
        tag("span", text(shown.name), class_="name"),
        tag("span", text(hint(shown)), class_="hint"),
        tag("span", text("" if shown.took is None else span(shown.took)), class_="took"),
        tag("span", text(bytes_of(shown.size)), class_="size"),
    )
    return tag(
        "details",
        head,
        tag("div", join(_body(connection, shown, on_page)) if is_whole else _LEFT_OUT, class_="body"),
        class_=f"row {shown.kind}",
        id=row_id(connection, shown.first.place),
        data_direction=shown.first.direction,
        data_kind=shown.kind,
        data_name=shown.name,
        data_session=shown.session,
        data_took=None if shown.took is None else f"{1000 * shown.took:.3f}",
    )


def _way(*, is_out: bool) -> str:
    return "to the agent" if is_out else "from the agent"


def _body(connection: int, shown: Row, on_page: range) -> Iterator[Html]:
    if shown.partner in on_page:
        words = "Its answer" if shown.kind == "request" else "Its request"
        yield tag("p", tag("a", text(words), href=f"#{row_id(connection, shown.partner)}"))
    if shown.kind == "stray":
        yield _cut("pre", shown.first.stray)
        return
    if len(shown.frames) > 1:
        yield _cut("pre", text_of(shown), class_="text")
    for path, before, after in _diffs(shown.first.message):
        figure = tag("figcaption", text(path))
        yield tag("figure", figure, diff_lines(change_of(before, after)), class_="file")
    for frame in shown.frames[:_MOST_PIECES]:
        yield _cut("pre", json.dumps(frame.message, indent=2, ensure_ascii=False), class_="json")
    if len(shown.frames) > _MOST_PIECES:
        yield tag("p", text(f"{len(shown.frames) - _MOST_PIECES} more pieces are left out."), class_="remark")


def _diffs(value: Any) -> Iterator[tuple[str, str | None, str | None]]:
    """Every change of a file in a message: path, text before, text after."""
    match value:
        case {"type": "diff", "path": str(path), "newText": str(after), **rest}:
            before = rest.get("oldText")
            yield path, before if isinstance(before, str) else None, after
        case dict():
            for each in value.values():
                yield from _diffs(each)
        case list():
            for each in value:
                yield from _diffs(each)


def _cut(name: str, words: str, class_: str = "text") -> Html:
    left = len(words) - _MOST_TEXT
    more = tag("p", text(f"{left:,} more characters are left out."), class_="remark") if left > 0 else NOTHING
    return join([tag(name, text(words[:_MOST_TEXT]), class_=class_, tabindex="0"), more])


# The timeline of a connection: who waited for whom, and when what was streamed.

_WIDTH, _LANE, _GAP = 1000, 14, 6
_LEAST = 1.5
_MOST_BARS = 1_500
_NAMES = ("the client asks", "the agent asks", "the agent tells")


def lanes(connection: int, rows: Sequence[Row]) -> Html:
    """Three lanes over the time of the connection; each bar leads to its row. Empty for fewer than two messages."""
    if len(rows) < 2:  # noqa: PLR2004 - one message has no length
        return NOTHING
    begin, end = rows[0].first.at, max(each.end for each in rows)
    if end <= begin:
        return NOTHING
    bars = join(_bars(connection, _longest(rows), begin, end - begin))
    height = len(_NAMES) * (_LANE + _GAP)
    drawing = tag(
        "svg", bars, viewBox=f"0 0 {_WIDTH} {height}", preserveAspectRatio="none", height=str(height), role="group",
        aria_label="Timeline",
    )  # fmt: skip
    labels = join(tag("li", text(name), class_=f"lane-{place}") for place, name in enumerate(_NAMES))
    note = f"{span(end - begin)} from left to right."
    if len(rows) > _MOST_BARS:
        note += f" Of {len(rows):,} messages the {_MOST_BARS:,} that took the longest are drawn."
    return tag("div", tag("ul", labels), drawing, tag("p", text(note), class_="remark"), class_="lanes")


def _longest(rows: Sequence[Row]) -> Sequence[Row]:
    if len(rows) <= _MOST_BARS:
        return rows
    drawn = sorted(rows, key=lambda each: each.first.at - each.end)[:_MOST_BARS]
    return sorted(drawn, key=lambda each: each.first.place)


def _bars(connection: int, rows: Sequence[Row], begin: float, length: float) -> Iterator[Html]:
    for each in rows:
        lane = _lane(each)
        if lane is None:
            continue
        until = each.end
        left = _WIDTH * (each.first.at - begin) / length
        width = max(_LEAST, _WIDTH * (until - each.first.at) / length)
        words = f"{each.name}, {span(until - each.first.at)}" if until > each.first.at else each.name
        shape = tag(
            "rect", tag("title", text(words)), x=f"{left:.2f}", y=str(lane * (_LANE + _GAP)), width=f"{width:.2f}",
            height=str(_LANE), class_=f"lane-{lane}{' open' if each.kind == 'request' and not each.partner else ''}",
        )  # fmt: skip
        target = f"#{row_id(connection, each.first.place)}"
        # The rows below are the way for the keyboard: thousands of stops here would only be in it.
        yield tag("a", shape, href=target, tabindex="-1", aria_label=words)


def _lane(row: Row) -> int | None:
    if row.kind == "request":
        return 0 if row.first.direction == "out" else 1
    return 2 if row.kind == "notification" and row.first.direction == "in" else None


_HERE = "acp_adapter.cli.inspect"
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
        took = f" ({span(each.took)})" if each.took is not None else ""
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
            *(tag("td", text(value)) for value in (str(each.count), span(each.median), span(each.longest))),
        )
        for each in found
    )
    table = tag("table", tag("thead", head), tag("tbody", join(lines)))
    return tag("details", tag("summary", text("Latencies")), tag("div", table, class_="table"), class_="latencies")
