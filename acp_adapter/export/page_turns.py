"""Turns on the page: what the person sent, what the agent wrote, thought and did."""

from __future__ import annotations

import re
from datetime import tzinfo

from acp_adapter.export.markdown_blocks import markdown
from acp_adapter.export.markup import NOTHING, Html, join, tag, text
from acp_adapter.export.page_cards import card
from acp_adapter.export.story import Answer, Card, Item, Mode, Plan, Prompt, Thought, Turn
from acp_adapter.export.turn_words import ending, turn_figures
from acp_adapter.export.words import local, moment
from agent_core.prompt_parts import SaidAudio, SaidDocument, SaidImage, SaidLink, SaidPart, SaidText
from tools.context import TodoItem

_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_PLAN_SIGNS = {"pending": "○", "in_progress": "▸", "completed": "✓", "cancelled": "–"}


def turn(made: Turn, zone: tzinfo | None) -> Html:
    """One turn with the place that the bar leads to."""
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
