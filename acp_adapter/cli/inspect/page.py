"""A recording as one HTML file for those who write agents and clients; it needs nothing else, no network either."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from string import Template
from typing import Any

from acp_adapter.cli.inspect.recordings import (
    Part,
    Recording,
    RecordingFile,
    Row,
    Span,
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


def row_id(connection: int, place: int) -> str:
    """The anchor of a row on the page."""
    return f"c{connection}-{place}"


def row(connection: int, shown: Row, on_page: range) -> Html:
    """A row: time, direction, kind, method, what it says, latency and size; folded below, what it holds.

    Args:
        on_page: places of the lines that the page has: others are no target for a link.
    """
    is_out = shown.first.direction == "out"
    way = "to the agent" if is_out else "from the agent"
    head = tag(
        "summary",
        tag("span", text(f"{shown.first.at:.3f}"), class_="at"),
        tag("span", text("→" if is_out else "←"), class_="way", role="img", aria_label=way),
        tag("span", text(shown.kind), class_="kind"),
        tag("span", text(shown.name), class_="name"),
        tag("span", text(hint(shown)), class_="hint"),
        tag("span", text("" if shown.took is None else span(shown.took)), class_="took"),
        tag("span", text(bytes_of(shown.size)), class_="size"),
    )
    body = tag("div", join(_body(connection, shown, on_page)), class_="body")
    return tag("details", head, body, class_=f"row {shown.kind}", id=row_id(connection, shown.first.place))


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


# The page.

_HERE = "acp_adapter.cli.inspect"
_ALL = Span()
_SLOW = 1.0
# They last as long as a model works or a person thinks.
_TURNS = frozenset({"session/prompt", "session/request_permission"})
_MOST_NAMED = 20


def to_page(recorded: RecordingFile, title: str, span: Span = _ALL) -> str:
    """The page: for each connection its facts, what is worth a look, and the messages; a search above them."""
    connections = [rows_of(recording.frames) for recording in recorded.recordings]
    shown = parts(connections, span)
    body = Template(resource(_HERE, "page.html")).substitute(
        title=text(title),
        unreadable=_unreadable(recorded.unreadable),
        connections=join(
            _connection(number, recording, rows, part)
            for number, (recording, rows, part) in enumerate(
                zip(recorded.recordings, connections, shown, strict=True), 1
            )
        ),
    )
    return page_in_frame(title, body, resource(_HERE, "page.css"), resource(_HERE, "page.js"))


def _unreadable(many: int) -> Html:
    return tag("p", text(f"{many} lines of the file could not be read."), class_="remark") if many else NOTHING


def _connection(number: int, recording: Recording, rows: Sequence[Row], part: Part) -> Html:
    facts = join(tag("div", tag("dt", text(name)), tag("dd", text(value))) for name, value in _facts(recording, rows))
    return tag(
        "section",
        tag("h2", text(f"Connection {number}")),
        tag("dl", facts),
        _remarkable(number, rows, part),
        join(tag("p", text(words), class_="remark") for words in _left_out(part)),
        tag("div", join(row(number, each, part.places) for each in part.rows), class_="rows"),
        aria_label=f"Connection {number}",
    )


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
