"""The bar above the page: a segment for each turn, as wide as the turn was long or as it added tokens."""

from __future__ import annotations

from collections.abc import Sequence

from acp_adapter.export.markup import Html, join, tag, text
from acp_adapter.export.page_turns import anchor
from acp_adapter.export.story import Prompt, Turn
from acp_adapter.export.telling import first_words
from acp_adapter.export.turn_words import ending, turn_figures

_MANY = 60
_LONGEST_WORDS = 90
_FINEST = 10_000


def bars(turns: tuple[Turn, ...]) -> Html:
    """Both bars, one under the other; the page shows the one that is chosen."""
    return join([_bar(turns, "time"), _bar(turns, "tokens")])


def widths(turns: Sequence[Turn]) -> str:
    """The style sheet with the segments' widths: the page allows no styles in attributes."""
    rules = []
    for name, sizes in (
        ("time", [made.seconds for made in turns]),
        ("tokens", [float(made.tokens) for made in turns]),
    ):
        whole = sum(sizes) or 1.0
        rules += [
            f"#by-{name} a:nth-child({place}){{flex-grow:{max(1, round(size / whole * _FINEST))}}}"
            for place, size in enumerate(sizes, 1)
        ]
    return "".join(rules)


def _bar(turns: tuple[Turn, ...], name: str) -> Html:
    segments = map(_segment, turns)
    many = " many" if len(turns) > _MANY else ""
    return tag("div", join(segments), class_=f"bar{many}", id=f"by-{name}")


def _segment(made: Turn) -> Html:
    prompt = next((item for item in made.items if isinstance(item, Prompt)), Prompt(()))
    words = first_words(prompt, _LONGEST_WORDS)
    facts = " · ".join([f"Turn {made.number}", *turn_figures(made)])
    readout = tag("span", tag("b", text(facts)), text(f" {words}"), class_="readout")
    state = "" if not ending(made) else "stopped" if made.outcome == "cancelled" else "failed"
    return tag("a", readout, href=f"#{anchor(made)}", class_=state or None, aria_label=f"{facts}: {words}")
