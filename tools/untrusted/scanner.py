"""Looks through text that others wrote for attacks on the agent. It warns and blocks; it proves nothing harmless."""

from __future__ import annotations

import base64
import binascii
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache

from tools.untrusted.attack_patterns import (
    LANGUAGES,
    OVERRIDING,
    Family,
    Kind,
    Pattern,
    ScanResult,
    Threat,
    disguises,
    folded,
)
from tools.untrusted.invisible import Hidden, hidden_in, made_visible, without_hidden
from tools.untrusted.payload_patterns import DEEDS, HIDING, ROLES

# Text that is hidden in an encoding: base64 and hexadecimal runs that decode to readable text.

_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{24,8000}={0,2}")
_HEX = re.compile(r"(?<![0-9A-Za-z])(?:[0-9A-Fa-f]{2}[ :]?){20,4000}(?![0-9A-Za-z])")
_LEAST = 24
_MOST_RUNS = 64
_MOST_CHARS = 40_000
_LEAST_LETTERS = 0.7


def decoded_runs(text: str) -> Iterator[tuple[int, str]]:
    """Where runs begin that decode to readable text, and that text; bounded in number and length."""
    seen = 0
    for count, (start, run) in enumerate(_runs(text)):
        seen += len(run)
        if count >= _MOST_RUNS or seen > _MOST_CHARS:
            return
        if readable := _readable(_decoded(run)):
            yield start, readable


def _runs(text: str) -> Iterator[tuple[int, str]]:
    for word in sorted(word for word in set(text.split()) if len(word) >= _LEAST):
        for found in _BASE64.finditer(word):
            yield text.find(found[0]), found[0]
    # A text in hexadecimal digits with spaces between has the space itself among them.
    if " 20 " in text or ":20:" in text:
        for found in _HEX.finditer(text):
            yield found.start(), found[0]


def _decoded(run: str) -> bytes:
    packed = run.replace(" ", "").replace(":", "")
    if all(sign in "0123456789abcdefABCDEF" for sign in packed):
        return bytes.fromhex(packed[: len(packed) // 2 * 2])
    plain = packed.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(plain[: len(plain) - (len(plain) % 4 == 1)] + "=" * (-len(plain) % 4))
    except (binascii.Error, ValueError):
        return b""


def _readable(data: bytes) -> str:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return ""
    letters = sum(sign.isalnum() or sign.isspace() for sign in text)
    return text if letters > len(text) * _LEAST_LETTERS and " " in text else ""


# Whether a text talks about attacks, and which places in it are quotations.

_ABOUT = re.compile(
    r"prompt[\W_]{0,3}injection|jailbreak|red[\W_]?team|adversarial"
    r"|injection (?:attack|attempt|test|pattern|detect)\w{0,4}"
    r"|untrusted (?:text|input|content|data)|\bowasp\b|malicious (?:prompt|instruction|input|content)s?"
)
_QUOTES = "\"'`"
_OPENING, _CLOSING = "“«„「『", "”»“」』"


class Quoting:
    """Of one folded text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._is_about: bool | None = None
        self._fences: list[int] | None = None

    def is_quoted(self, place: int) -> bool:
        """Whether the place is within quotes, code or a quoted line, in a text about attacks."""
        if self._is_about is None:
            self._is_about = _ABOUT.search(self._text) is not None
        return self._is_about and (self._is_in_line_quotes(place) or self._is_in_fence(place))

    def _is_in_line_quotes(self, place: int) -> bool:
        begin = self._text.rfind("\n", 0, place) + 1
        before = self._text[begin:place]
        if before.lstrip().startswith(">"):
            return True
        if any(before.count(quote) % 2 for quote in _QUOTES):
            return True
        opened = sum(before.count(sign) for sign in _OPENING)
        return opened > sum(before.count(sign) for sign in _CLOSING if sign not in _OPENING)

    def _is_in_fence(self, place: int) -> bool:
        if self._fences is None:
            self._fences = [found.start() for found in re.finditer(r"(?m)^[ \t]{0,8}(?:```|~~~)", self._text)]
        return sum(1 for fence in self._fences if fence < place) % 2 == 1


# The words of a folded text, and the places in it where words of several sets stand near each other.
# Looking for every pattern everywhere would take a hundred times as long.

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


# The scan.

_BEFORE_LINE = re.compile(r"\W*\n")
_BLOCKED: frozenset[Kind] = frozenset({"context", "skill", "memory"})
_PATTERNS: tuple[Pattern, ...] = (*OVERRIDING, *HIDING, *ROLES, *DEEDS)
_MOST = 20
_MOST_OF_ONE = 3
_EXCERPT = 100
_FAMILIES_TO_BLOCK = 2


def scan(text: str, kind: Kind) -> ScanResult:
    """What in `text` looks like an attack.

    A context file, a skill or a memory is blocked for one strong finding, or for weak ones of two families. What only
    quotes attacks, in a text about them, does not block. The time grows with the length of the text only.
    """
    hidden = hidden_in(text)
    findings = [*_invisible(text, hidden), *_written(text, kind)]
    findings.sort(key=lambda threat: (threat.line, not threat.strong))
    kept = tuple(_without_repeats(findings))[:_MOST]
    return ScanResult(kept, kind in _BLOCKED and _blocks(kept), without_hidden(text) if hidden else text)


def _blocks(findings: Iterable[Threat]) -> bool:
    told = [threat for threat in findings if not threat.quoted]
    weak: set[Family] = {threat.family for threat in told}
    return any(threat.strong for threat in told) or len(weak) >= _FAMILIES_TO_BLOCK


def _invisible(text: str, hidden: Iterable[Hidden]) -> Iterator[Threat]:
    for count, found in enumerate(hidden):
        if count >= _MOST_OF_ONE:
            return
        why = f"holds {found.what}" + (f" that spell «{made_visible(found.says)[:_EXCERPT]}»" if found.says else "")
        begin = max(text.rfind("\n", 0, found.start) + 1, found.start - _EXCERPT // 4)
        excerpt = _short(text[begin : found.end + _EXCERPT // 4].partition("\n")[0])
        yield Threat("invisible", _line(text, found.start), excerpt, why, found.strong)


def _written(text: str, kind: Kind) -> Iterator[Threat]:
    plain = folded(text)
    spoken = Words(plain)
    readings = [spoken, *map(Words, disguises(text, plain, spoken.words, spoken.known))]
    for reading in readings:
        quoting = Quoting(reading.text)
        for pattern, found in _matches(reading, kind):
            before = _BEFORE_LINE.match(found[0])
            start = found.start() + (before.end() if before else 0)
            shown = text if len(reading.text) == len(text) else reading.text
            yield Threat(
                pattern.family,
                _line(reading.text, start),
                _short(shown[start : found.end()]),
                pattern.why,
                pattern.strong,
                quoting.is_quoted(start),
            )
    for start, decoded in decoded_runs(text):
        for pattern, found in _matches(Words(folded(decoded)), kind):
            if pattern.strong:
                why = f"hides in an encoding a text that {pattern.why}"
                yield Threat("payload", _line(text, start), _short(decoded[found.start() : found.end()]), why)


def _matches(reading: Words, kind: Kind) -> Iterator[tuple[Pattern, re.Match[str]]]:
    for pattern in _PATTERNS:
        if kind in pattern.kinds:
            yield from _of_pattern(pattern, reading.text, reading.places_for(pattern.needs))
    for pattern in LANGUAGES:
        if pattern.needs:
            yield from _of_pattern(pattern, reading.text, reading.places_for(pattern.needs))
        elif any(part in reading.text for part in _folded_parts(pattern)):
            yield from _of_pattern(pattern, reading.text, [(0, len(reading.text))])


@cache
def _folded_parts(pattern: Pattern) -> tuple[str, ...]:
    return tuple(folded(part) for part in pattern.inside)


def _of_pattern(
    pattern: Pattern, text: str, places: Iterable[tuple[int, int]]
) -> Iterator[tuple[Pattern, re.Match[str]]]:
    taken_back = pattern.taken_back()
    count = 0
    for start, end in places:
        for found in pattern.compiled().finditer(text, start, end):
            if found.end() == end != len(text):  # perhaps only because the stretch ends there
                continue
            if taken_back is not None and taken_back.search(text, max(0, found.start() - 80), found.start()):
                continue
            yield pattern, found
            count += 1
            if count >= _MOST_OF_ONE:
                return


def _without_repeats(findings: Iterable[Threat]) -> Iterator[Threat]:
    seen: set[tuple[Family, int]] = set()
    for threat in findings:
        if (threat.family, threat.line) not in seen:
            seen.add((threat.family, threat.line))
            yield threat


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _short(text: str) -> str:
    shown = made_visible(text)
    return shown if len(shown) <= _EXCERPT else f"{shown[: _EXCERPT - 1]}…"
