"""Looks through text that others wrote for attacks on the agent. It warns and blocks; it proves nothing harmless."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache

from tools.untrusted.encoded import decoded_runs
from tools.untrusted.folding import disguises, folded
from tools.untrusted.invisible import Hidden, hidden_in, made_visible, without_hidden
from tools.untrusted.patterns.deeds import DEEDS
from tools.untrusted.patterns.hiding import HIDING
from tools.untrusted.patterns.languages import LANGUAGES
from tools.untrusted.patterns.overriding import OVERRIDING
from tools.untrusted.patterns.pattern import Pattern
from tools.untrusted.patterns.roles import ROLES
from tools.untrusted.quoting import Quoting
from tools.untrusted.threats import Family, Kind, ScanResult, Threat
from tools.untrusted.wording import Words

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
