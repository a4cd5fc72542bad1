"""A session as one HTML file that needs nothing else: no network, no font, no picture from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import tzinfo
from string import Template

from acp_adapter.export.markdown import card_body, said
from acp_adapter.export.markup import NOTHING, Html, code, join, markdown, page_in_frame, resource, tag, text
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
    first_words,
    tell,
    token_totals,
    turn_figures,
)
from acp_adapter.format import dollars, duration, local, moment
from agent_core.events import SaidDocument, SaidImage, SaidPart, SaidText
from agent_core.sessions.records import Transcript
from tools.redaction import Redact, redact, redacted

# Turns on the page: what the person sent, what the agent wrote, thought and did.

_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")


def _turn(made: Turn, zone: tzinfo | None) -> Html:
    """One turn with the place that the list of turns leads to."""
    began = tag(
        "time", text(moment(made.began_at, zone)), datetime=local(made.began_at, zone).isoformat("T", "seconds")
    )
    head = tag(
        "header",
        tag("h2", tag("a", text(f"Turn {made.number}"), href=f"#{_anchor(made)}")),
        began,
        *(tag("span", text(figure)) for figure in turn_figures(made)),
    )
    note = ending(made)
    kind = "failure" if made.outcome in {"error", None, ""} else "stop"
    end = tag("p", text(note), class_=f"ending {kind}") if note else NOTHING
    return tag("section", head, join(_item(item) for item in made.items), end, class_="turn", id=_anchor(made))


def _anchor(made: Turn) -> str:
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
            return _card(item)
        case Plan(items=steps):
            lines = (
                tag("li", text(f"{BOXES.get(step.status, '[ ]')} {step.content}"), class_=step.status)
                for step in steps
            )
            return tag("div", tag("h3", text("Plan")), tag("ul", *lines), class_="plan")
        case Mode(mode=mode):
            return tag("p", text(f"The session’s mode is now {mode}."), class_="remark")


def _card(made: Card) -> Html:
    """A tool call: status, kind, title and duration, and folded below it what it did."""
    head = tag(
        "summary",
        tag("span", text(SIGNS[made.status]), class_="sign", role="img", aria_label=made.status),
        tag("span", text(made.kind), class_="kind"),
        tag("span", text(made.title), class_="name"),
        tag("span", text(", ".join(made.facts)), class_="facts"),
    )
    body = markdown("\n\n".join(card_body(made)) or "Nothing more to show.")
    return tag("details", head, tag("div", body, class_="body"), class_=f"card {made.status}")


def _part(part: SaidPart) -> Html:
    match part:
        case SaidText(text=words):
            return tag("div", text(words), class_="said")
        case SaidImage(mime_type=kind, data=data, uri=uri) if kind in _PICTURES and _BASE64.fullmatch(data):
            words = uri or "a picture that the person sent"
            return tag("img", src=f"data:{kind};base64,{data}", alt=words, loading="lazy")
        case SaidDocument(uri=uri, text=str(words)):
            return tag("details", tag("summary", text(uri)), code(words), class_="document")
    return tag("span", text(said(part)), class_="mention")


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
        turns=join(_turn(made, zone) for made in story.turns)
        or tag("p", text("Nothing was said yet."), class_="remark"),
    )
    return page_in_frame(story.title, body, resource(_HERE, "page.css"), resource(_HERE, "page.js"))


def _contents(turns: tuple[Turn, ...]) -> Html:
    """A folded list of the turns that leads to each."""
    if len(turns) < 2:  # noqa: PLR2004 - one needs no list
        return NOTHING
    items = (tag("li", tag("a", text(_beginning(made)), href=f"#{_anchor(made)}")) for made in turns)
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
