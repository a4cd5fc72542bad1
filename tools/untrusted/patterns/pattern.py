"""One pattern, and the short form in which patterns are written."""

from __future__ import annotations

import re
from functools import cache

from tools.light_dataclass import dataclass
from tools.untrusted.folding import folded
from tools.untrusted.threats import FAMILY_WORDS, Family, Kind

OUTSIDE: frozenset[Kind] = frozenset({"memory", "tool_result", "web"})
"""Texts whose writers have no wishes to express: those of projects and skills may say «do not ask»."""

_EVERYWHERE: frozenset[Kind] = frozenset({"context", "skill", "memory", "tool_result", "web"})
_GAP = r"(?:[^\w.!?;]{1,8})"
_SKIP = r"(?:[\w'’]{1,24}[^\w.!?;]{1,8})"
_SKIP_MARK = re.compile(r"~(\d) ?")


@dataclass(frozen=True, slots=True)
class Pattern:
    """What one kind of attack says, looked for in folded text.

    Attributes:
        needs: of each of these sets of words, one is in every such text; nothing is searched where it is not.
        inside: for languages with endings or without spaces: beginnings of words instead, one of which is there.
        written: the regular expression; a space in it stands for what may be between two words, `~3` for up to
            three words.
        strong: enough alone.
        kinds: the texts in which it counts.
        not_after: takes it back where this stands before it in the same sentence.
    """

    family: Family
    needs: tuple[frozenset[str], ...]
    written: str
    strong: bool = True
    kinds: frozenset[Kind] = _EVERYWHERE
    inside: tuple[str, ...] = ()
    not_after: str = ""

    @property
    def why(self) -> str:
        """Completes «it …»."""
        return FAMILY_WORDS[self.family]

    def compiled(self) -> re.Pattern[str]:
        """The expression; compiled at its first use, since most texts need none."""
        return _compiled(self.written)

    def taken_back(self) -> re.Pattern[str] | None:
        """What takes it back."""
        return _compiled(rf"{self.not_after}[^.!?;]{{0,60}}$") if self.not_after else None


def words(text: str) -> frozenset[str]:
    """The words of `text`, as folded text has them."""
    return frozenset(folded(text).split())


def _folded(written: str) -> str:
    """The expression with its letters folded as texts are, so that it finds words of scripts with look-alikes."""
    return "".join(sign if sign.isascii() else folded(sign) for sign in written)


@cache
def _compiled(written: str) -> re.Pattern[str]:
    with_skips = _SKIP_MARK.sub(lambda found: f"{_SKIP}{{0,{found[1]}}}?", _folded(written))
    return re.compile(with_skips.replace(" ", _GAP))
