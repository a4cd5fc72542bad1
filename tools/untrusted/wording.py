"""The words of a folded text, and the places in it where words of several sets stand near each other.

Looking for every pattern everywhere would take a hundred times as long.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

_WORD = re.compile(r"\w+")
_NEAR, _STEP = 120, 60
"""Characters between two words that belong together, at most; and how far each look for a word goes."""


class Words:
    """Of one text. Not safe for several threads."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.words: list[str] = _WORD.findall(text)
        self._counts = Counter(self.words)
        self.known = frozenset(self._counts)
        self._present: dict[frozenset[str], frozenset[str]] = {}
        self._frequency: dict[frozenset[str], int] = {}
        self._around: dict[frozenset[str], list[tuple[int, int]]] = {}

    def places_for(self, needs: Sequence[frozenset[str]]) -> list[tuple[int, int]]:
        """The stretches of the text, apart from each other, with a word of each set of `needs` close together."""
        groups = []
        for need in needs:
            present = self._present.get(need)
            if present is None:
                present = self._present[need] = need & self.known
                self._frequency[present] = sum(self._counts[word] for word in present)
            if not present:
                return []
            groups.append(present)
        groups.sort(key=self._frequency.__getitem__)
        return [
            (start, end)
            for start, end in self._stretches(groups[0])
            if all(self._has_one(group, start, end) for group in groups[1:])
        ]

    def _has_one(self, group: Collection[str], start: int, end: int) -> bool:
        return any(self.text.find(word, start, end) >= 0 for word in group)

    def _stretches(self, group: frozenset[str]) -> list[tuple[int, int]]:
        """What is around the words of `group`, also where they are parts of other words."""
        if group not in self._around:
            merged: list[tuple[int, int]] = []
            for start, end in sorted(stretch for word in group for stretch in self._around_word(word)):
                if merged and start <= merged[-1][1]:
                    merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
                else:
                    merged.append((start, end))
            self._around[group] = merged
        return self._around[group]

    def _around_word(self, word: str) -> Iterator[tuple[int, int]]:
        place = self.text.find(word)
        while place >= 0:
            # Wide enough for what is passed over, too.
            yield max(0, place - _NEAR), min(len(self.text), place + _STEP + _NEAR)
            place = self.text.find(word, place + _STEP)
