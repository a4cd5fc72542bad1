"""Thoughts within an answer's text: models write them between tags, and not every server takes them out.

Only what an answer begins with counts, so that an answer about such tags, or code that has them, stays as it is. Some
templates write the opening tag themselves: then the text has only the closing one, on a line of its own, and what
stands before it has been shown as text by the time that one comes. Where a server and model have done so again, this
is known in advance of their next answer.
"""

from __future__ import annotations

import functools
import re
from typing import Literal

Kind = Literal["thoughts", "words", "were_thoughts", "were_words"]
"""What a piece is. `were_thoughts`: all words so far were thoughts, and these too; `were_words` is the other way."""

Piece = tuple[Kind, str]

# What the parsers of llama.cpp, vLLM and SGLang know.
_NAMES = ("think", "thinking", "thought", "thoughts", "reasoning", "seed:think")
_TAGS = {f"<{name}>": f"</{name}>" for name in _NAMES} | {
    "[think]": "[/think]",
    "◁think▷": "◁/think▷",
    "<|start_thinking|>": "<|end_thinking|>",
    "<|begin_of_thought|>": "<|end_of_thought|>",
    "<|inner_prefix|>": "<|inner_suffix|>",
}
# Their ends mean too much else to be known without a beginning.
_CHANNELS = {
    "<|channel|>analysis<|message|>": "<|end|>",
    "<|start|>assistant<|channel|>analysis<|message|>": "<|end|>",
    "<|channel>thought": "<channel|>",
    "<unused94>thought": "<unused95>",
}
# What stands between such thoughts and the answer.
_HEADS = tuple(
    f"{start}<|channel|>{channel}<|message|>"
    for start in ("<|start|>assistant", "")
    for channel in ("final", "commentary")
)
_PAIRS = _TAGS | _CHANNELS
_BEGINNINGS = (*_PAIRS, *_HEADS)
_STARTS, _ENDS = tuple(_TAGS), tuple(_TAGS.values())
_LONGEST = max(map(len, _BEGINNINGS))
_SIGN = re.compile(f"[{re.escape(''.join({end[0] for end in _PAIRS.values()}))}]")
# These are elements of documents as well: an answer that is one and nothing else is words.
_ELEMENTS = frozenset(f"<{name}>" for name in ("thinking", "thought", "thoughts", "reasoning"))
_FENCE = re.compile(r"[ ]{0,3}(`{3,}|~{3,})(.*)")
_TO_LINE_END = " \t\r"
_CODE = 4  # blanks that a line of code begins with in Markdown
_IN_PROSE_BEFORE, _IN_PROSE_AFTER = tuple(" \"'“‘("), tuple(" \"'”’).,;:!?")


class ThoughtReader:
    """Tells the thoughts from the words of one answer whose text comes in pieces, cut anywhere.

    Attributes:
        knows: whether the text has shown how this server does it: thoughts without their beginning (True) or without
            any although they were assumed (False); None: neither.
    """

    __slots__ = (
        "_all",
        "_assumed",
        "_ends",
        "_fed",
        "_held",
        "_last",
        "_read",
        "_recent",
        "_state",
        "_watches",
        "knows",
    )

    def __init__(self, *, assumed: bool = False, only_ended: bool = True) -> None:
        """Make it.

        Args:
            assumed: the text is taken for thoughts from its first character on, until they end.
            only_ended: thoughts may come without their beginning.
        """
        self.knows: bool | None = None
        self._assumed = assumed
        self._state: Literal["begin", "thoughts", "words"] = "begin"
        self._ends = _ENDS
        self._held = ""
        self._recent = ""
        self._last = ""
        self._read = False
        self._watches = only_ended
        # All that came, while it may be one element and nothing else.
        self._fed: list[str] | None = []
        # Of words that may yet prove to be thoughts, or the other way, all that was given out.
        self._all: list[str] = []

    def marked(self) -> None:
        """The server marks the answer's thoughts itself: they need not be looked for."""
        self._assumed = self._watches = False

    def feed(self, piece: str) -> list[Piece]:
        """The next piece; what can be said of the text so far."""
        if self._state == "words" and not self._watches:
            return [("words", piece)] if piece else []
        if self._fed is not None:
            self._fed.append(piece)
        self._held += piece
        return self._pieces(at_end=False)

    def close(self, *, cut: bool = False, calls: bool = False) -> list[Piece]:
        """The text is over (`cut`: at its limit; `calls`: tool calls come with it): the rest of it."""
        found = self._pieces(at_end=True)
        rest, self._held = self._held, ""
        if self._state == "begin" and self._fed is not None and self._read and not calls:
            found.append(("were_words", "".join(self._fed).strip()))
        elif self._state == "thoughts" and self._assumed:
            self.knows = None if cut else False
            found.append(("were_words", "".join((*self._all, rest))))
        elif self._state == "thoughts":
            found += _piece("thoughts", rest.rstrip())
        elif not (self._read and rest.isspace()):
            found += _piece("words", rest)
        self._state, self._watches, self._assumed, self._fed = "words", False, False, None
        return found

    def break_off(self) -> list[Piece]:
        """The text breaks off: the rest of it, as what it is so far."""
        rest, self._held = self._held, ""
        kind: Kind = "thoughts" if self._state == "thoughts" else "words"
        self._state, self._watches, self._assumed = "words", False, False
        return _piece(kind, rest)

    def _pieces(self, *, at_end: bool) -> list[Piece]:
        steps = {"begin": self._begin, "thoughts": self._think, "words": self._say}
        found: list[Piece] = []
        while self._held and steps[self._state](found, at_end):
            pass
        return found

    def _begin(self, _found: list[Piece], at_end: bool) -> bool:
        lead = self._held.lstrip()
        start = lead[:_LONGEST].lower()
        for beginning in _BEGINNINGS:
            if start.startswith(beginning):
                is_second = self._read
                self._held, self._read = lead[len(beginning) :], True
                if is_second or beginning not in _ELEMENTS:
                    self._fed = None
                if beginning in _PAIRS:
                    self._state, self._ends, self._assumed = "thoughts", (_PAIRS[beginning],), False
                return True
        if not lead or (not at_end and any(beginning.startswith(start) for beginning in _BEGINNINGS)):
            return False
        self._fed = None
        if self._assumed:
            self._state = "thoughts"
        else:
            self._state, self._held = "words", lead if self._read else self._held
            self._watches = self._watches and not self._read
        return True

    def _think(self, found: list[Piece], at_end: bool) -> bool:
        if not self._last:
            self._held = self._held.lstrip()
        place, end = self._end(0, at_end=at_end)
        if end and self._assumed and self._is_spoken_of(place, end):
            said = self._held[: place + len(end)]
            found += _piece("thoughts", said)
            self._all.append(said)
            self._last, self._held = said[-1:], self._held[len(said) :]
            return True
        before = self._held[:place].rstrip()
        found += _piece("thoughts", before)
        if self._assumed:
            self._all.append(before)
        self._last = before[-1:] or self._last
        self._held = self._held[len(before) :]
        if not end:
            return False
        self._held = self._held.lstrip()[len(end) :]
        self.knows = True if self._assumed else self.knows
        self._state, self._read, self._assumed, self._last = "begin", True, False, ""
        self._all.clear()
        return True

    def _say(self, found: list[Piece], at_end: bool) -> bool:
        if not self._watches:
            found += _piece("words", self._held)
            self._held = ""
            return False
        place, end = self._end(0, at_end=at_end)
        words, behind = self._held[:place], self._held[place + len(end) :]
        self._recent += words
        if _finder(_STARTS).search(self._recent):
            self._watches = False  # an answer about them
            return True
        self._recent = self._recent[-_LONGEST:]
        if end and _on_its_own("".join((*self._all, words)), behind):
            found.append(("were_thoughts", words.rstrip()))
            self._state, self._read, self._watches, self._held, self.knows = "begin", True, False, behind, True
            self._all.clear()
            return True
        found += _piece("words", words + end)
        self._all.append(words + end)
        self._last = (words + end)[-1:] or self._last
        self._held = behind
        return bool(end)

    def _is_spoken_of(self, place: int, end: str) -> bool:
        """Whether a tag in assumed thoughts is none: within a sentence, or in code."""
        before, behind = "".join((*self._all, self._held[:place])), self._held[place + len(end) :]
        return _in_code(before) or (before.endswith(_IN_PROSE_BEFORE) and behind.startswith(_IN_PROSE_AFTER))

    def _end(self, start: int, *, at_end: bool) -> tuple[int, str]:
        """Where the next closing tag stands, and the tag; else where what may become one begins, and ''."""
        text = self._held
        found = _finder(self._ends).search(text, start)
        if found is None:
            return len(text) - (0 if at_end else _length_of_start(text, self._ends)), ""
        place, end = found.span()
        before, behind = text[place - 1] if place else self._last, text[end : end + 1]
        if not at_end and not text[end:].lstrip(_TO_LINE_END):
            return place, ""  # what comes next tells whether it is a quotation
        return self._end(end, at_end=at_end) if before == behind == "`" else (place, found[0])


def _piece(kind: Kind, text: str) -> list[Piece]:
    return [(kind, text)] if text else []


@functools.cache
def _finder(tags: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, tags)), re.IGNORECASE)


def _length_of_start(text: str, ends: tuple[str, ...]) -> int:
    """How much of the text's end is the beginning of one of `ends`."""
    # Each piece of an answer passes here, and hardly one has such a sign.
    for found in _SIGN.finditer(text, max(len(text) - _LONGEST, 0)):
        tail = text[found.start() :].lower()
        if any(end.startswith(tail) for end in ends):
            return len(tail)
    return 0


def _on_its_own(before: str, behind: str) -> bool:
    """Whether a closing tag has a line for itself, outside of code."""
    line = before[before.rfind("\n") + 1 :]
    is_alone = not line.strip(" ") and len(line) < _CODE and behind.lstrip(_TO_LINE_END)[:1] in {"", "\n"}
    return is_alone and not _in_code(before)


def _in_code(before: str) -> bool:
    """Whether a text ends within a block of code, or between backticks."""
    fence, paragraph = "", ""
    *lines, last = before.split("\n")
    for line in lines:
        found = _FENCE.match(line)
        if found is not None and not fence:
            fence, paragraph = found[1], ""
        elif found is not None and found[1].startswith(fence) and not found[2].strip():
            fence, paragraph = "", ""
        else:
            paragraph = f"{paragraph}\n{line}" if line.strip() else ""
    return bool(fence) or (paragraph + last).count("`") % 2 == 1
