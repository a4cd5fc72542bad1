"""The timeline of a connection: who waited for whom, and when what was streamed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from acp_adapter.export.markup import NOTHING, Html, join, tag, text
from acp_adapter.recording.exchanges import Row
from acp_adapter.recording.page_rows import row_id
from acp_adapter.recording.words import span

_WIDTH, _LANE, _GAP = 1000, 14, 6
_LEAST = 1.5
_MOST = 1_500
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
    if len(rows) > _MOST:
        note += f" Of {len(rows):,} messages the {_MOST:,} that took the longest are drawn."
    return tag("div", tag("ul", labels), drawing, tag("p", text(note), class_="remark"), class_="lanes")


def _longest(rows: Sequence[Row]) -> Sequence[Row]:
    if len(rows) <= _MOST:
        return rows
    drawn = sorted(rows, key=lambda each: each.first.at - each.end)[:_MOST]
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
