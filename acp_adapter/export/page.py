"""A session as one HTML file that needs nothing else: no network, no font, no picture from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo
from string import Template

from acp_adapter.export.markup import Html, join, tag, text
from acp_adapter.export.page_bar import bars, widths
from acp_adapter.export.page_frame import page_in_frame, resource
from acp_adapter.export.page_turns import turn
from acp_adapter.export.story import Story
from acp_adapter.export.telling import tell
from acp_adapter.export.turn_words import token_totals
from acp_adapter.export.words import dollars, duration, moment
from agent_core.sessions.records import Transcript
from tools.redaction import Redact, redact, redacted

_HERE = "acp_adapter.export"


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
        bars=bars(story.turns),
        turns=join(turn(made, zone) for made in story.turns)
        or tag("p", text("Nothing was said yet."), class_="remark"),
    )
    styles = (resource(_HERE, "page.css"), widths(story.turns))
    return page_in_frame(story.title, body, styles, resource(_HERE, "page.js"))


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
