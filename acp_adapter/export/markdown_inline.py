"""Markdown within a line (emphasis, code, links) as HTML, in time that grows with the text's length only."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict

from acp_adapter.export.markup import Html, join, tag, text

_TOKENS = re.compile(
    r"""
    (?P<escape>\\[!-/:-@\[-`{-~])
  | (?P<code>`+)
  | (?P<link>!?\[(?P<label>[^\[\]]{1,500})\]\(\s{0,9}<?
        (?P<target>[^\s()<>]{1,2000}+(?:\([^\s()<>]{0,500}\)[^\s()<>]{0,500}+)?)
        >?(?:\s{1,9}"[^"]{0,500}")?\s{0,9}\))
  | (?P<auto><(?P<address>(?:https?://|mailto:)[^\s<>]{1,2000})>)
  | (?P<bare>https?://[^\s<>"'`)\]*]{1,2000})
  | (?P<hard>(?:[ ]{2,9}|\\)\n)
  | (?P<mark>\*{1,3}|_{1,3}|~~)
    """,
    re.VERBOSE,
)
_MARKS = {"*": "em", "_": "em", "**": "strong", "__": "strong", "~~": "del"}
_SAFE_ADDRESS = re.compile(r"(?:https?://|mailto:)", re.IGNORECASE)
_TRAILING = ".,;:!?"
_REL = "noopener noreferrer nofollow"


def inline(source: str) -> Html:
    """The text of one block as HTML. Links lead to the web and to mail only; of pictures the words are shown."""
    return _Inline(source).html()


class _Inline:
    """One pass over a text. Marks that are open wait on a stack; what was never closed stays as it was written."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._out: list[Html] = []
        self._open: list[tuple[str, int]] = []
        self._waiting: Counter[str] = Counter()
        self._ticks: defaultdict[int, list[int]] = defaultdict(list)
        for run in re.finditer("`+", source):
            self._ticks[len(run[0])].append(run.start())

    def html(self) -> Html:
        source, place = self._source, 0
        while found := _TOKENS.search(source, place):
            self._out.append(text(source[place : found.start()]))
            place = self._token(found)
        self._out.append(text(source[place:]))
        return join(self._out)

    def _token(self, found: re.Match[str]) -> int:
        """Add what the token says; the place after it."""
        match found.lastgroup:
            case "escape":
                self._out.append(text(found[0][1]))
            case "code":
                return self._code(found)
            case "link":
                self._out.append(_link(found["target"], inline(found["label"])))
            case "auto":
                self._out.append(_link(found["address"], text(found["address"].removeprefix("mailto:"))))
            case "bare":
                address = found[0].rstrip(_TRAILING)
                self._out.append(_link(address, text(address)))
                return found.start() + len(address)
            case "hard":
                self._out.append(tag("br"))
            case _:
                self._mark(found)
        return found.end()

    def _code(self, found: re.Match[str]) -> int:
        ticks = len(found[0])
        places = self._ticks[ticks]
        index = bisect_left(places, found.end())
        if index == len(places):
            self._out.append(text(found[0]))
            return found.end()
        code = self._source[found.end() : places[index]].replace("\n", " ")
        if code.startswith(" ") and code.endswith(" ") and code.strip():
            code = code[1:-1]
        self._out.append(tag("code", text(code)))
        return places[index] + ticks

    def _mark(self, found: re.Match[str]) -> None:
        run = found[0]
        before = self._source[found.start() - 1 : found.start()]
        after = self._source[found.end() : found.end() + 1]
        opens, closes = bool(after) and not after.isspace(), bool(before) and not before.isspace()
        if run[0] == "_":
            opens, closes = opens and not before.isalnum(), closes and not after.isalnum()
        marks = [run] if len(run) < 3 else [run[0], run[:2]]  # noqa: PLR2004 - three: both kinds of emphasis
        if closes and all(self._waiting[mark] for mark in marks):
            for mark in marks:
                self._close(mark)
        elif opens:
            for mark in reversed(marks):
                self._open.append((mark, len(self._out)))
                self._waiting[mark] += 1
                self._out.append(text(mark))
        else:
            self._out.append(text(run))

    def _close(self, mark: str) -> None:
        while self._open:
            opened, place = self._open.pop()
            self._waiting[opened] -= 1
            if opened == mark:
                content = join(self._out[place + 1 :])
                del self._out[place:]
                self._out.append(tag(_MARKS[mark], content))
                return
        self._out.append(text(mark))


def _link(target: str, label: Html) -> Html:
    if _SAFE_ADDRESS.match(target):
        return tag("a", label, href=target, rel=_REL, target="_blank")
    return tag("span", label, class_="place", title=target)
