"""A text that comes in pieces, as the chunks of a message do, is judged as one: a secret may be in several."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import Any

from tools.light_dataclass import dataclass
from tools.redaction import Redact

Entry = dict[str, Any]
"""A line of a recording: `dir`, `t`, and `frame` (the message) or `line` (what was none)."""

_SEEN = 20_000
# A secret is made of these; where one cannot go on, nothing more needs to be known.
_OF_SECRETS = "".join(map(chr, range(33, 127)))


@dataclass(slots=True, eq=False)
class Held:
    """A line that waits to be written. `settled`: nothing that may come changes it any more."""

    entry: Entry
    settled: bool = True

    def put(self, text: str, path: tuple[str, ...]) -> None:
        """The line is complete with `text` in its place."""
        holder = self.entry["frame"]["params"]["update"]
        for name in path[:-1]:
            holder = holder[name]
        holder[path[-1]] = text
        self.settled = True


@dataclass(frozen=True, slots=True, eq=False)
class _Piece:
    held: Held
    text: str
    path: tuple[str, ...]


class Stream:
    """One text. It keeps the end of what it has judged, to see secrets that go on from there.

    Attributes:
        size: how many characters wait to be judged.
        latest: when its last piece came.
    """

    def __init__(self, redact: Redact) -> None:
        self._redact = redact
        self._seen = ""
        self._pieces: list[_Piece] = []
        self.size = 0
        self.latest = 0.0

    def add(self, held: Held, text: str, path: tuple[str, ...], at: float) -> None:
        """Take the next piece; its clean text will stand in its line's update, at `path`."""
        held.settled = False
        self._pieces.append(_Piece(held, text, path))
        self.size += len(text)
        self.latest = at

    def settle(self, *, is_over: bool) -> None:
        """Judge the pieces; unless the text `is_over`, not those with its last word, which may go on."""
        if not self._pieces:
            return
        whole = "".join(piece.text for piece in self._pieces)
        certain = len(whole) if is_over else len(whole.rstrip(_OF_SECRETS))
        ends = list(accumulate(len(piece.text) for piece in self._pieces))
        count = bisect_right(ends, certain)
        judged, self._pieces = self._pieces[:count], self._pieces[count:]
        self.size = len(whole) - (ends[count - 1] if count else 0)
        new = whole[: len(whole) - self.size]
        for piece, text in zip(judged, _spread(self._clean(new), [piece.text for piece in judged]), strict=True):
            piece.held.put(text, piece.path)
        self._seen = (self._seen + new)[-_SEEN:]

    def _clean(self, new: str) -> str:
        """`new` without secrets, also without the end of one that began in what came before."""
        before, whole = self._redact(self._seen), self._redact(self._seen + new)
        return whole[len(before) if whole.startswith(before) else _common(before, whole) :]


def _spread(clean: str, texts: list[str]) -> list[str]:
    """`clean` over the pieces that it was made of: those before and behind every secret stay as they came."""
    whole = "".join(texts)
    if clean == whole:
        return texts
    before = _common(clean, whole)
    behind = _common(clean[before:][::-1], whole[before:][::-1])
    ends = list(accumulate(map(len, texts)))
    first = min(bisect_right(ends, before), len(texts) - 1)
    last = max(bisect_left(ends, len(whole) - behind), first)
    begin = ends[first - 1] if first else 0
    changed = clean[begin : len(clean) - (len(whole) - ends[last])]
    return [*texts[:first], changed, *[""] * (last - first), *texts[last + 1 :]]


def _common(one: str, other: str) -> int:
    """How many characters both begin with."""
    for place, (sign, beside) in enumerate(zip(one, other, strict=False)):
        if sign != beside:
            return place
    return min(len(one), len(other))
