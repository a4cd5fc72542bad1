"""A session as Markdown: to read in an editor, to keep beside the code, to paste into an issue."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from datetime import tzinfo

from acp_adapter.export.markup import change_of
from acp_adapter.export.transcript import (
    BOXES,
    SIGNS,
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
    turn_figures,
)
from acp_adapter.format import local, moment, one_line, safe_text
from agent_core.events import SaidAudio, SaidDocument, SaidImage, SaidLink, SaidPart, SaidText
from agent_core.sessions.records import Transcript
from tools.redaction import Redact, redact, redacted
from tools.result import Shown, ShownDiff, ShownOutput, ShownText
from tools.text.terminal_output import plain_text

# Code fences: long enough for what is in them, and closed where a text left one open.

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)$")
_LEAST = 3


def fenced(content: str, info: str = "") -> str:
    """`content` as a code block that nothing in it can end."""
    longest = max((len(run) for run in re.findall(r"`{3,}", content)), default=_LEAST - 1)
    fence = "`" * (longest + 1)
    return f"{fence}{info}\n{content.rstrip(chr(10))}\n{fence}"


def closed(markdown: str) -> str:
    """`markdown` with the closing fence that it lacks, so that what follows is no part of its last code block."""
    open_fence = ""
    for line in markdown.splitlines():
        found = _FENCE.match(line)
        if found is None:
            continue
        mark, info = found[1], found[2]
        if not open_fence:
            open_fence = mark if mark[0] == "~" or "`" not in info else ""
        elif mark[0] == open_fence[0] and len(mark) >= len(open_fence) and not info.strip():
            open_fence = ""
    return f"{markdown.rstrip(chr(10))}\n{open_fence}" if open_fence else markdown


def to_markdown(transcript: Transcript, zone: tzinfo | None = None, redacting: Redact = redact) -> str:
    """The session as Markdown with its facts in front, as YAML.

    Args:
        zone: whose times are shown; None for where this runs.
        redacting: takes the secrets out of each text.
    """
    story = redacted(tell(transcript), redacting)
    parts = [_front_matter(story, zone), f"# {one_line(story.title)}"]
    for turn in story.turns:
        parts += _turn(turn, zone)
    return "\n\n".join(parts) + "\n"


def _front_matter(story: Story, zone: tzinfo | None) -> str:
    session = story.session
    usage = session.spent.usage
    facts = {
        "session": session.id,
        "title": story.title,
        "cwd": session.cwd,
        "model": session.model,
        "created": local(session.created_at, zone).isoformat("T", "seconds"),
        "updated": local(session.updated_at, zone).isoformat("T", "seconds"),
        "turns": len(story.turns),
        "tokens": {"input": usage.input_tokens, "output": usage.output_tokens, "cached": usage.cached_tokens},
        "cost_usd": session.spent.cost,
    }
    # JSON values are YAML values.
    lines = (f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in facts.items())
    return "\n".join(("---", *lines, "---"))


def _turn(turn: Turn, zone: tzinfo | None) -> Iterator[str]:
    yield f"## Turn {turn.number}"
    yield " · ".join((moment(turn.began_at, zone), *turn_figures(turn)))
    for item in turn.items:
        yield from _item(item)
    if note := ending(turn):
        yield f"**{one_line(note)}**"


def _item(item: Item) -> Iterator[str]:
    match item:
        case Prompt(parts=parts):
            yield _quoted("\n\n".join(said(part) for part in parts))
        case Answer(text=text):
            yield closed(safe_text(text).strip("\n"))
        case Thought(text=text):
            yield _folded("Thought", closed(safe_text(text).strip("\n")))
        case Card():
            yield _folded(card_title(item), "\n\n".join(card_body(item)))
        case Plan(items=steps):
            yield "\n".join(f"- {BOXES.get(step.status, '[ ]')} {one_line(step.content)}" for step in steps)
        case Mode(mode=mode):
            yield f"*The session’s mode is now {one_line(mode)}.*"


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in safe_text(text).split("\n"))


def _folded(title: str, content: str) -> str:
    return f"<details><summary>{html.escape(title, quote=False)}</summary>\n\n{content}\n\n</details>"


def said(part: SaidPart) -> str:
    """Something that the person sent."""
    match part:
        case SaidText(text=text):
            return closed(text)
        case SaidImage(mime_type=kind, uri=uri):
            return f"[picture: {uri or kind}]"
        case SaidAudio(mime_type=kind):
            return f"[recording: {kind}]"
        case SaidLink(name=name, uri=uri):
            return f"[{name or uri}]" if name == uri else f"[{name}]({uri})"
        case SaidDocument(uri=uri, text=None):
            return f"[document: {uri}]"
        case SaidDocument(uri=uri, text=text):
            return f"{uri}:\n\n{fenced(text or '')}"


def card_title(card: Card) -> str:
    """A tool call in one line."""
    after = f" ({', '.join(card.facts)})" if card.facts else ""
    return f"{SIGNS[card.status]} {card.kind}: {one_line(card.title)}{after}"


def card_body(card: Card) -> Iterator[str]:
    """What a tool call did and what came of it, block by block."""
    if card.command:
        yield fenced(safe_text(card.command), "sh")
    elif arguments := card.told_arguments:
        yield fenced(arguments, "json")
    for shown in card.shown:
        yield _shown(shown, card)


def _shown(shown: Shown, card: Card) -> str:
    match shown:
        case ShownDiff(path=path, before=before, after=after):
            old, new = ("/dev/null" if text is None else one_line(card.place(path)) for text in (before, after))
            return fenced(f"--- {old}\n+++ {new}\n{safe_text(change_of(before, after))}", "diff")
        case ShownOutput(output=output, exit_code=code, signal=signal):
            ended = f"ended by {signal}" if signal else "" if code is None else f"exit code {code}"
            return "\n\n".join(part for part in (fenced(plain_text(output), "text"), ended) if part)
        case ShownText(text=text, language=language):
            return safe_text(text) if language is None else fenced(safe_text(text), one_line(language))
