"""One line of a recording on the page: its head, and folded below it what it holds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from acp_adapter.export.file_change import change_of
from acp_adapter.export.markup import NOTHING, Html, join, tag, text
from acp_adapter.export.page_diff import diff_lines
from acp_adapter.recording.exchanges import Row
from acp_adapter.recording.hints import hint, text_of
from acp_adapter.recording.words import bytes_of, span

_MOST = 200_000
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
    left = len(words) - _MOST
    more = tag("p", text(f"{left:,} more characters are left out."), class_="remark") if left > 0 else NOTHING
    return join([tag(name, text(words[:_MOST]), class_=class_, tabindex="0"), more])
