"""How alike two lines have to be, from the same characters to what only looks the same."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from enum import IntEnum

_BLANKS = " \t"
_PLAIN = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u02bc", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe63\uff0d", "-"),
    # A byte that is not UTF-8, as servers and editors send it back.
    **dict.fromkeys(map(chr, range(0xDC80, 0xDD00)), "\ufffd"),
    **dict.fromkeys("\u00a0\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000", " "),
}
_LOOKALIKE = re.compile(f"[{''.join(_PLAIN)}]")
_MAX_COMPARED_CHARS = 2000


class Likeness(IntEnum):
    """What may differ between a line as it was sent and as the file has it; each step allows those before too."""

    EXACT = 0
    TRAILING = 1
    INDENTATION = 2
    LOOKALIKES = 3

    @property
    def told(self) -> str:
        """What was not taken seriously, for the model to read."""
        return ("", "trailing blanks", "indentation", "look-alike characters (quotes, dashes, spaces)")[self]


def folded(text: str) -> str:
    """The text with quotes, dashes and spaces of all kinds made plain; every character stays where it is."""
    return text if text.isascii() else _LOOKALIKE.sub(lambda found: _PLAIN[found[0]], text)


def keys(lines: Sequence[str], likeness: Likeness) -> list[str]:
    """Lines in a form in which those that are alike enough are the same."""
    match likeness:
        case Likeness.EXACT:
            return list(lines)
        case Likeness.TRAILING:
            return [line.rstrip(_BLANKS) for line in lines]
        case Likeness.INDENTATION:
            return [line.strip(_BLANKS) for line in lines]
    return [folded(line).strip(_BLANKS) for line in lines]


def runs(lines: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """Every index at which the lines `wanted` come one after the other. `wanted` is not empty."""
    # The longest line is the rarest, mostly; looking for one string in a list is quick.
    rare = max(range(len(wanted)), key=lambda index: len(wanted[index]))
    starts = (index - rare for index in indexes(lines, wanted[rare]))
    wanted = list(wanted)
    return [start for start in starts if start >= 0 and list(lines[start : start + len(wanted)]) == wanted]


def indexes(lines: Sequence[str], wanted: str) -> list[int]:
    """Where the line `wanted` is."""
    found: list[int] = []
    start = 0
    try:
        while True:
            start = lines.index(wanted, start) + 1
            found.append(start - 1)
    except ValueError:
        return found


def indent_of(line: str) -> str:
    """The blanks that a line begins with."""
    return line[: len(line) - len(line.lstrip(_BLANKS))]


def is_blank(line: str) -> bool:
    """Whether a line has nothing but blanks."""
    return not line.strip(_BLANKS)


def with_characters_of(has: str, wrote: str, new: str) -> str:
    """`new`, with the file's own characters where it does not differ from what was sent.

    Args:
        has: what the file has; as long as `wrote`, and alike.
        wrote: how the old text was sent.
        new: what shall be there, written in the same manner as `wrote`.
    """
    if has == wrote or len(has) != len(wrote) or max(len(wrote), len(new)) > _MAX_COMPARED_CHARS:
        return new
    parts: list[str] = []
    for tag, start, end, new_start, new_end in SequenceMatcher(None, wrote, new, autojunk=False).get_opcodes():
        if tag != "equal":
            parts.append(new[new_start:new_end])
        elif not _runs_on(has[start:end], new, new_start, new_end):
            parts.append(has[start:end])
        else:
            # «–» kept beside a new «-» is neither of the two.
            return new
    return "".join(parts)


def _runs_on(kept: str, new: str, start: int, end: int) -> bool:
    """Whether the file's own character at an end of what is kept would stand beside the same one as it was sent."""
    first = kept[0] != new[start] and start > 0 and new[start - 1] == new[start]
    return first or (kept[-1] != new[end - 1] and end < len(new) and new[end] == new[end - 1])
