"""`hermes-acp sessions show`: a stored conversation in the terminal."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from typing import Literal

from acp_adapter.cli.console import Colour, Sign, Style, diff_lines, style_for
from acp_adapter.export.transcript import (
    BOXES,
    Answer,
    Card,
    Item,
    Mode,
    Plan,
    Prompt,
    Story,
    Thought,
    Turn,
    ending,
    tell,
    token_totals,
    turn_figures,
)
from acp_adapter.format import dollars, moment, one_line, safe_text
from agent_core.background_tasks import TaskInfo
from agent_core.events import SaidAudio, SaidDocument, SaidImage, SaidLink, SaidPart, SaidText
from agent_core.sessions.library import SessionLibrary
from agent_core.sessions.records import SessionRecord
from tools.result import Shown, ShownDiff, ShownOutput, ShownText
from tools.text.terminal_output import plain_text

_SIGNS: dict[Literal["completed", "failed", "interrupted"], tuple[Sign, Colour]] = {
    "completed": ("completed", "green"),
    "failed": ("failed", "red"),
    "interrupted": ("pending", "yellow"),
}


def run_show(options: argparse.Namespace, library: SessionLibrary) -> int:
    """Show the session that `options` names."""
    record = library.archive.find(options.id)
    story = tell(library.archive.transcript(record.id))
    style = style_for(sys.stdout)
    for line in (
        *story_lines(story, style, full=options.full),
        *_children(library.archive.children(record.id), style),
    ):
        print(line)
    for line in task_lines(library.store.tasks(record.id), style, elsewhere=library.runs_elsewhere(record)):
        print(line)
    return 0


def task_lines(tasks: Sequence[TaskInfo], style: Style, *, elsewhere: bool) -> Iterator[str]:
    """What runs in the background of a session, or was lost there.

    Args:
        tasks: as they are stored.
        elsewhere: a living process has the session: what is stored as running runs.
    """
    shown = [task for task in tasks if task.is_live or task.state == "lost"]
    if not shown:
        return
    yield ""
    yield style.paint("In the background", "bold")
    for task in shown:
        state = task.state if elsewhere and task.is_live else "lost: the agent's process died"
        since = moment(task.started_at)
        yield f"  {task.id:<12} {one_line(task.title)}  {style.paint(f'[{state}, begun {since}]', 'dim')}"


def _children(children: Sequence[SessionRecord], style: Style) -> Iterator[str]:
    """The sessions of its sub-agents, which are in no list."""
    if not children:
        return
    yield ""
    yield style.paint("Sub-agents", "bold")
    for child in children:
        yield f"{one_line(child.id)}  {moment(child.created_at)}"


def story_lines(story: Story, style: Style, *, full: bool) -> Iterator[str]:
    """The conversation, made safe for a terminal.

    Args:
        full: with thoughts, and with what tool calls printed and changed.
    """
    yield from _head(story, style)
    for turn in story.turns:
        yield ""
        dot = f" {style.sign('dot')} "
        yield (
            style.paint(f"Turn {turn.number}", "bold") + dot + dot.join((moment(turn.began_at), *turn_figures(turn)))
        )
        yield from _body(turn, style, full=full)


def _head(story: Story, style: Style) -> Iterator[str]:
    session = story.session
    facts = [
        ("session", session.id),
        ("folder", session.cwd),
        ("model", session.model or "-"),
        ("used", f"{moment(session.created_at)} to {moment(session.updated_at)}"),
        ("tokens", ", ".join(token_totals(session)) or "-"),
        ("cost", "-" if session.spent.cost is None else dollars(session.spent.cost)),
    ]
    yield style.paint(one_line(story.title), "bold")
    for name, value in facts:
        yield f"{style.paint(f'{name:<8}', 'dim')}{one_line(value)}"


def _body(turn: Turn, style: Style, *, full: bool) -> Iterator[str]:
    last: Item | None = None
    for item in turn.items:
        if isinstance(item, Thought) and not full:
            continue
        if not (isinstance(item, Card) and isinstance(last, Card)):
            yield ""
        yield from _item(item, style, full=full)
        last = item
    if note := ending(turn):
        yield ""
        yield style.paint(one_line(note), "yellow" if turn.outcome == "cancelled" else "red")


def _item(item: Item, style: Style, *, full: bool) -> Iterator[str]:
    match item:
        case Prompt(parts=parts):
            for line in "\n".join(_said(part) for part in parts).splitlines():
                yield f"{style.paint('>', 'cyan', 'bold')} {safe_text(line)}".rstrip()
        case Answer(text=text):
            yield from safe_text(text).strip("\n").split("\n")
        case Thought(text=text):
            yield from (style.paint(line, "dim") for line in safe_text(text).strip("\n").split("\n"))
        case Card():
            yield _card_line(item, style)
            if full:
                yield from (f"    {line}".rstrip() for shown in item.shown for line in _shown(shown, item, style))
        case Plan(items=steps):
            yield style.paint("Plan", "bold")
            yield from (f"  {BOXES.get(step.status, '[ ]')} {one_line(step.content)}" for step in steps)
        case Mode(mode=mode):
            yield style.paint(f"The session's mode is now {one_line(mode)}.", "dim")


def _said(part: SaidPart) -> str:
    match part:
        case SaidText(text=text):
            return safe_text(text)
        case SaidImage(mime_type=kind, uri=uri):
            return f"[picture: {one_line(uri or kind)}]"
        case SaidAudio(mime_type=kind):
            return f"[recording: {one_line(kind)}]"
        case SaidLink(name=name, uri=uri):
            return f"[{one_line(name or uri)}]"
        case SaidDocument(uri=uri):
            return f"[document: {one_line(uri)}]"


def _card_line(card: Card, style: Style) -> str:
    sign, colour = _SIGNS[card.status]
    state = (
        style.paint(f"  [{', '.join(card.facts)}]", "red" if card.status == "failed" else "dim") if card.facts else ""
    )
    return f"  {style.paint(style.sign(sign), colour)} {one_line(card.kind):<8} {one_line(card.title)}{state}"


def _shown(shown: Shown, card: Card, style: Style) -> Iterator[str]:
    match shown:
        case ShownDiff(path=path, before=before, after=after):
            yield from diff_lines(one_line(card.place(path)), before, after or "", style)
        case ShownOutput(output=text) | ShownText(text=text):
            bar = style.paint(style.sign("bar"), "dim")
            yield from (f"{bar} {line}" for line in safe_text(plain_text(text)).splitlines())
