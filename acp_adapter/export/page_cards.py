"""Tool calls on the page: folded, with what came of them inside."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

from acp_adapter.export.ansi import coloured
from acp_adapter.export.file_change import Change, change_of
from acp_adapter.export.markup import NOTHING, Html, join, tag, text
from acp_adapter.export.page_diff import diff_lines
from acp_adapter.export.story import Card, CardStatus
from acp_adapter.export.words import duration
from tools.result import Shown, ShownDiff, ShownOutput, ShownText

_SIGNS: dict[CardStatus, tuple[str, str]] = {
    "completed": ("✓", "done"),
    "failed": ("✗", "failed"),
    "interrupted": ("–", "interrupted"),
}
_VERBS = {"execute": "run", "think": "plan", "other": "tool"}
_MOST_TEXT = 200_000


def card(made: Card) -> Html:
    """A tool call: status, kind, title and duration, and folded below it what it did."""
    changes = [(diff, change_of(diff.before, diff.after)) for diff in made.diffs]
    sign, word = _SIGNS[made.status]
    head = tag(
        "summary",
        tag("span", text(sign), class_="sign", role="img", aria_label=word),
        tag("span", text(_VERBS.get(made.kind, made.kind)), class_="kind"),
        tag("span", text(made.title), class_="name"),
        tag("span", join(_facts(made, [change for _, change in changes])), class_="facts"),
    )
    return tag("details", head, tag("div", join(_body(made)), class_="body"), class_=f"card {made.status}")


def _facts(made: Card, changes: list[Change]) -> Iterator[Html]:
    added, removed = sum(change.added for change in changes), sum(change.removed for change in changes)
    if added:
        yield tag("span", text(f"+{added}"), class_="plus")
    if removed:
        yield tag("span", text(f"−{removed}"), class_="minus")
    if made.exit_code:
        yield tag("span", text(f"exit {made.exit_code}"), class_="minus")
    if made.seconds is not None:
        yield tag("span", text(duration(made.seconds)))


def _body(made: Card) -> Iterator[Html]:
    command = made.arguments.get("command")
    if made.kind == "execute" and isinstance(command, str):
        yield tag("pre", text(command.strip()), class_="command")
    elif made.arguments and (made.kind == "other" or made.status != "completed"):
        yield tag(
            "pre", text(json.dumps(dict(made.arguments), indent=2, ensure_ascii=False, default=str)), class_="code"
        )
    if not made.shown:
        yield tag("p", text("Nothing more to show."), class_="remark")
    for shown in made.shown:
        yield _shown(shown, made.cwd)


def _shown(shown: Shown, cwd: str) -> Html:
    match shown:
        case ShownDiff():
            return _diff(shown, cwd)
        case ShownOutput(output=output, exit_code=code, signal=signal):
            cut, note = _bounded(output)
            ended = f"Ended by {signal}." if signal else "" if not code else f"Exit code {code}."
            printed = tag("pre", coloured(cut), class_="terminal") if cut.strip() else _remark("It printed nothing.")
            return join([printed, note, _remark(ended) if ended else NOTHING])
        case ShownText(text=words, language=language):
            cut, note = _bounded(words)
            if language is None:
                return join([tag("p", text(cut), class_="words"), note])
            return join([tag("pre", tag("code", text(cut)), class_="code", data_language=language or None), note])


def _diff(diff: ShownDiff, cwd: str) -> Html:
    change = change_of(diff.before, diff.after)
    path = os.path.relpath(diff.path, cwd) if diff.path.is_relative_to(cwd) else str(diff.path)
    word = "new" if diff.before is None else "deleted" if diff.after is None else ""
    head = tag("figcaption", tag("span", text(path)), tag("span", text(word), class_="remark") if word else NOTHING)
    return tag("figure", head, diff_lines(change), class_="file")


def _bounded(words: str) -> tuple[str, Html]:
    """The first part of a very long text, and a remark about what is left out."""
    if len(words) <= _MOST_TEXT:
        return words, NOTHING
    return words[:_MOST_TEXT], _remark(f"{len(words) - _MOST_TEXT:,} more characters are left out.")


def _remark(words: str) -> Html:
    return tag("p", text(words), class_="remark")
