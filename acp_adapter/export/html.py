"""A session as one HTML file that needs nothing else: no network, no font, no picture from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import tzinfo
from string import Template

from acp_adapter.export.markup import (
    NOTHING,
    Html,
    change_of,
    coloured,
    counted,
    diff_lines,
    join,
    markdown,
    page_in_frame,
    resource,
    tag,
    text,
)
from acp_adapter.export.transcript import (
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
    first_words,
    tell,
    token_totals,
    turn_figures,
)
from acp_adapter.format import dollars, duration, local, moment
from agent_core.events import SaidAudio, SaidDocument, SaidImage, SaidLink, SaidPart, SaidText
from agent_core.sessions.records import Transcript
from tools.context import TodoItem
from tools.redaction import Redact, redact, redacted
from tools.result import Shown, ShownDiff, ShownOutput, ShownText

# Tool calls on the page: folded, with what came of them inside.

_MOST_TEXT = 200_000


def card(made: Card) -> Html:
    """A tool call: status, kind, title and duration, and folded below it what it did."""
    head = tag(
        "summary",
        tag("span", text(SIGNS[made.status]), class_="sign", role="img", aria_label=made.status),
        tag("span", text(made.kind), class_="kind"),
        tag("span", text(made.title), class_="name"),
        tag("span", join(_card_facts(made)), class_="facts"),
    )
    return tag("details", head, tag("div", join(_body(made)), class_="body"), class_=f"card {made.status}")


def _card_facts(made: Card) -> Iterator[Html]:
    counts = [counted(change_of(diff.before, diff.after)) for diff in made.diffs]
    added, removed = sum(more for more, _ in counts), sum(fewer for _, fewer in counts)
    if added:
        yield tag("span", text(f"+{added}"), class_="plus")
    if removed:
        yield tag("span", text(f"−{removed}"), class_="minus")
    if made.exit_code:
        yield tag("span", text(f"exit {made.exit_code}"), class_="minus")
    if made.seconds is not None:
        yield tag("span", text(duration(made.seconds)))


def _body(made: Card) -> Iterator[Html]:
    if made.command:
        yield tag("pre", text(made.command), class_="command")
    elif arguments := made.told_arguments:
        yield tag("pre", text(arguments), class_="code")
    if not made.shown:
        yield tag("p", text("Nothing more to show."), class_="remark")
    for shown in made.shown:
        yield _shown(shown, made)


def _shown(shown: Shown, made: Card) -> Html:
    match shown:
        case ShownDiff():
            return _diff(shown, made)
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


def _diff(diff: ShownDiff, made: Card) -> Html:
    word = "new" if diff.before is None else "deleted" if diff.after is None else ""
    head = tag(
        "figcaption",
        tag("span", text(made.place(diff.path))),
        tag("span", text(word), class_="remark") if word else NOTHING,
    )
    return tag("figure", head, diff_lines(change_of(diff.before, diff.after)), class_="file")


def _bounded(words: str) -> tuple[str, Html]:
    """The first part of a very long text, and a remark about what is left out."""
    if len(words) <= _MOST_TEXT:
        return words, NOTHING
    return words[:_MOST_TEXT], _remark(f"{len(words) - _MOST_TEXT:,} more characters are left out.")


def _remark(words: str) -> Html:
    return tag("p", text(words), class_="remark")


# Turns on the page: what the person sent, what the agent wrote, thought and did.

_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_PLAN_SIGNS = {"pending": "○", "in_progress": "▸", "completed": "✓", "cancelled": "–"}


def turn(made: Turn, zone: tzinfo | None) -> Html:
    """One turn with the place that the list of turns leads to."""
    began = tag(
        "time", text(moment(made.began_at, zone)), datetime=local(made.began_at, zone).isoformat("T", "seconds")
    )
    head = tag(
        "header",
        tag("h2", tag("a", text(f"Turn {made.number}"), href=f"#{anchor(made)}")),
        began,
        *(tag("span", text(figure)) for figure in turn_figures(made)),
    )
    note = ending(made)
    kind = "failure" if made.outcome in {"error", None, ""} else "stop"
    end = tag("p", text(note), class_=f"ending {kind}") if note else NOTHING
    return tag("section", head, join(_item(item) for item in made.items), end, class_="turn", id=anchor(made))


def anchor(made: Turn) -> str:
    """The id of the turn's place."""
    return f"turn-{made.number}"


def _item(item: Item) -> Html:
    match item:
        case Prompt(parts=parts):
            return tag("div", join(_part(part) for part in parts), class_="prompt")
        case Answer(text=words):
            return tag("div", markdown(words), class_="answer")
        case Thought(text=words):
            return tag("details", tag("summary", text("Thought")), tag("div", markdown(words)), class_="thought")
        case Card():
            return card(item)
        case Plan(items=items):
            return tag("div", tag("h3", text("Plan")), tag("ol", *map(_step, items)), class_="plan")
        case Mode(mode=mode):
            return tag("p", text(f"The session’s mode is now {mode}."), class_="remark")


def _step(step: TodoItem) -> Html:
    sign = tag("span", text(_PLAN_SIGNS.get(step.status, "○")), class_="sign", role="img", aria_label=step.status)
    return tag("li", sign, tag("span", text(step.content)), class_=step.status)


def _part(part: SaidPart) -> Html:
    match part:
        case SaidText(text=words):
            return tag("div", text(words), class_="said")
        case SaidImage(mime_type=kind, data=data, uri=uri):
            return _picture(kind, data, uri)
        case SaidAudio(mime_type=kind):
            return _mention(f"recording ({kind})")
        case SaidLink(uri=uri, name=name):
            return _mention(name or uri, uri)
        case SaidDocument(uri=uri, text=None):
            return _mention(uri)
        case SaidDocument(uri=uri, text=words):
            content = tag("pre", tag("code", text(words or "")), class_="code")
            return tag("details", tag("summary", text(uri)), content, class_="document")


def _picture(kind: str, data: str, uri: str) -> Html:
    if kind not in _PICTURES or not _BASE64.fullmatch(data):
        return _mention(f"picture ({kind})", uri)
    return tag("img", src=f"data:{kind};base64,{data}", alt=uri or "a picture that the person sent", loading="lazy")


def _mention(name: str, uri: str = "") -> Html:
    return tag("span", text(name), class_="mention", title=uri or None)


# The page.

_HERE = "acp_adapter.export"
_LONGEST_WORDS = 90


def to_html(transcript: Transcript, zone: tzinfo | None = None, redacting: Redact = redact) -> str:
    """The session as a page.

    Args:
        zone: whose times are shown; None for where this runs.
        redacting: takes the secrets out of each text.
    """
    story = redacted(tell(transcript), redacting)
    body = Template(resource(_HERE, "page.html")).substitute(
        title=text(story.title),
        session=text(story.session.id),
        facts=join(_facts(story, zone)),
        contents=_contents(story.turns),
        turns=join(turn(made, zone) for made in story.turns)
        or tag("p", text("Nothing was said yet."), class_="remark"),
    )
    return page_in_frame(story.title, body, resource(_HERE, "page.css"), resource(_HERE, "page.js"))


def _contents(turns: tuple[Turn, ...]) -> Html:
    """A folded list of the turns that leads to each."""
    if len(turns) < 2:  # noqa: PLR2004 - one needs no list
        return NOTHING
    items = (tag("li", tag("a", text(_beginning(made)), href=f"#{anchor(made)}")) for made in turns)
    return tag("details", tag("summary", text("Turns")), tag("ul", *items), class_="contents")


def _beginning(made: Turn) -> str:
    prompt = next((item for item in made.items if isinstance(item, Prompt)), Prompt(()))
    return f"Turn {made.number}: {first_words(prompt, _LONGEST_WORDS)}".removesuffix(": ")


def _facts(story: Story, zone: tzinfo | None) -> Iterator[Html]:
    session, turns = story.session, story.turns
    worked = sum(made.seconds for made in turns)
    facts = [
        ("Folder", session.cwd),
        ("Model", session.model or ""),
        ("Begun", moment(session.created_at, zone)),
        ("Last used", moment(session.updated_at, zone)),
        ("Turns", f"{len(turns)}, {duration(worked)} of work" if turns else "none"),
        ("Tokens", ", ".join(token_totals(session))),
        ("Cost", "" if session.spent.cost is None else dollars(session.spent.cost)),
    ]
    for name, value in facts:
        if value:
            yield tag("div", tag("dt", text(name)), tag("dd", text(value)))
