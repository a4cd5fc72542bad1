"""Finds how the indentation of a file differs from that of a text that was sent, so that new lines can be shifted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction

from tools.light_dataclass import dataclass
from tools.patching.likeness import indent_of, is_blank


@dataclass(frozen=True, slots=True)
class Shift:
    """How the indentation of a line as it was sent becomes that of the file.

    Attributes:
        known: indentations that both have, as sent → as in the file.
        add, drop: what comes before every indentation, or is taken from its beginning.
        unit: a character of the file's indentation, where it is of other characters or of another width.
        ratio: how many of those stand for one that was sent.
        least: what is indented by less than these many characters, as sent, cannot be known.
    """

    known: tuple[tuple[str, str], ...] = ()
    add: str = ""
    drop: str = ""
    unit: str = ""
    ratio: Fraction = Fraction(1)
    least: int = 0

    def line(self, line: str) -> str | None:
        """The line with the file's indentation, None where that cannot be known."""
        if is_blank(line) or self == SAME:
            return line
        sent = indent_of(line)
        found = dict(self.known).get(sent)
        has = self._indentation(sent) if found is None else found
        return None if has is None else has + line[len(sent) :]

    def _indentation(self, sent: str) -> str | None:
        if len(sent) < self.least:
            return None
        if not self.unit:
            shifted = self.add + sent.removeprefix(self.drop)
            is_mixture = " " in shifted and "\t" in shifted
            return shifted if sent.startswith(self.drop) and (not is_mixture or self._mixes()) else None
        units = len(sent) * self.ratio
        return self.unit * units.numerator if units.denominator == 1 and len(set(sent)) <= 1 else None

    def _mixes(self) -> bool:
        return any(" " in has and "\t" in has for _, has in self.known)


SAME = Shift()


def shift_between(pairs: Iterable[tuple[str, str]]) -> Shift | None:
    """The one way in which the indentation of all lines differs, None where they do not differ alike.

    Args:
        pairs: lines as they were sent, each with the same line in the file. Blank ones say nothing.
    """
    known = dict.fromkeys((indent_of(sent), indent_of(has)) for sent, has in pairs if not is_blank(sent))
    if len({sent for sent, _ in known}) != len(known):
        return None
    if all(sent == has for sent, has in known):
        return SAME
    uniform, scaled = _uniform(tuple(known)), _scaled(tuple(known))
    if uniform is None or scaled is None:
        return uniform or scaled
    # Two spaces for four: shifted or of another width? What is within is the same block in either case.
    return replace(uniform, least=min(len(sent) for sent, _ in known))


def _uniform(known: tuple[tuple[str, str], ...]) -> Shift | None:
    """All lines have the same blanks more, or less."""
    sent, has = known[0]
    add, drop = has.removesuffix(sent), sent.removesuffix(has)
    if has.endswith(sent) and all(other == add + one for one, other in known):
        return Shift(known, add=add)
    if sent.endswith(has) and all(one == drop + other for one, other in known):
        return Shift(known, drop=drop)
    return None


def _scaled(known: tuple[tuple[str, str], ...]) -> Shift | None:
    """Each level is of other characters or of another width: a tab for four spaces."""
    units = {character for _, has in known for character in has}
    deep = [(sent, has) for sent, has in known if sent or has]
    if len(units) != 1 or any(not sent or not has or len(set(sent)) != 1 for sent, has in deep):
        return None
    ratios = {Fraction(len(has), len(sent)) for sent, has in deep}
    return Shift(known, unit=units.pop(), ratio=ratios.pop()) if len(ratios) == 1 else None
