"""Takes what providers of memory recalled out of the model's answers, should it repeat that with its fence."""

from __future__ import annotations

import re

NAME = "memory-context"

_LONGEST_REST = 80
_TAG = re.compile(rf"<(/?)\s{{0,8}}{NAME}(?:[\s/][^<>]{{0,{_LONGEST_REST}}})?>", re.IGNORECASE)
_BEGINNING = re.compile(r"<(/?)(\s{0,8})([^<>]*)")
_LONGEST_TAG = 2 + 8 + len(NAME) + 1 + _LONGEST_REST


class Scrubber:
    """Takes `<memory-context>` with all that is in it out of a text that comes in pieces.

    A tag right behind a backtick is a word about the tag, and stays. What comes out does not depend on where the text
    was cut. At most one tag's length is held back, and only while it may become one.
    """

    def __init__(self) -> None:
        self._held = ""
        self._depth = 0
        self._last = ""

    def feed(self, piece: str) -> str:
        """The next piece; what of the text so far may be shown."""
        if not self._held and not self._depth and "<" not in piece:
            self._last = piece[-1:] or self._last
            return piece
        text = self._held + piece
        cut = _held_from(text)
        self._held = text[cut:]
        return self._passed(text[:cut])

    def close(self) -> str:
        """The text is over: the rest of what may be shown. A block that was never closed stays hidden."""
        rest, self._held = self._held, ""
        return self._passed(rest)

    def _passed(self, text: str) -> str:
        shown: list[str] = []
        place = 0
        for tag in _TAG.finditer(text):
            self._take(text[place : tag.start()], shown)
            place = tag.end()
            if not self._depth and self._last == "`":
                self._take(tag[0], shown)
            elif not tag[1]:
                self._depth += 1
            else:
                self._depth = max(0, self._depth - 1)
        self._take(text[place:], shown)
        return "".join(shown)

    def _take(self, text: str, shown: list[str]) -> None:
        if text and not self._depth:
            self._last = text[-1]
            shown.append(text)


def scrubbed(text: str) -> str:
    """A whole text without the tags and what is in them."""
    if "<" not in text:
        return text
    scrubber = Scrubber()
    return scrubber.feed(text) + scrubber.close()


def _held_from(text: str) -> int:
    """Where what may become a tag begins; the text's length where nothing may."""
    place = text.rfind("<", max(0, len(text) - _LONGEST_TAG))
    if place < 0:
        return len(text)
    found = _BEGINNING.fullmatch(text, place)
    return place if found is not None and _may_become_tag(found[3]) else len(text)


def _may_become_tag(rest: str) -> bool:
    name, more = rest[: len(NAME)].lower(), rest[len(NAME) :]
    if not more:
        return NAME.startswith(name)
    return name == NAME and (more[0].isspace() or more[0] == "/") and len(more) <= _LONGEST_REST + 1
