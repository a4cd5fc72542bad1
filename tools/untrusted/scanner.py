"""Looks through text that others wrote for attacks on the agent. It warns and blocks; it proves nothing harmless."""

from __future__ import annotations

import base64
import binascii
import html
import re
from collections.abc import Iterable, Iterator

from tools.light_dataclass import dataclass
from tools.untrusted.attack_patterns import FAMILY_WORDS, PATTERNS, Family, Kind, Pattern, folded
from tools.untrusted.invisible import Hidden, hidden_in, made_visible, without_hidden

_BLOCKED: frozenset[Kind] = frozenset({"context", "skill", "memory"})
_MOST = 20
_MOST_OF_ONE = 3
_EXCERPT = 100
_FAMILIES_TO_BLOCK = 2


@dataclass(frozen=True, slots=True)
class Threat:
    """One place that looks like an attack.

    Attributes:
        line: counted from 1.
        excerpt: what stands there, one line, short, safe to show.
        why: completes «it …».
        strong: enough to block a file alone; of weak ones it takes two families.
        quoted: it stands in quotes or in code, in a text about such attacks; it blocks nothing.
    """

    family: Family
    line: int
    excerpt: str
    why: str
    strong: bool = True
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class ScanResult:
    """What was found in a text.

    Attributes:
        findings: by line.
        is_blocked: the text must not become a part of what the model is told; only for context, skill and memory.
        cleaned: the text without the characters that nobody sees.
    """

    findings: tuple[Threat, ...]
    is_blocked: bool
    cleaned: str

    @property
    def reason(self) -> str:
        """The findings in one sentence for people: «it … (line 3: «…»)»; '' where there are none."""
        told = dict.fromkeys(threat.family for threat in sorted(self.findings, key=lambda found: not found.strong))
        parts = []
        for family in list(told)[:3]:
            first = next(threat for threat in self.findings if threat.family == family)
            parts.append(f"it {first.why} (line {first.line}: «{first.excerpt}»)")
        return ", and ".join(parts)


def scan(text: str, kind: Kind) -> ScanResult:
    """What in `text` looks like an attack.

    A context file, a skill or a memory is blocked for one strong finding, or for weak ones of two families. What only
    quotes attacks, in a text about them, does not block. The time grows with the length of the text only.
    """
    hidden = hidden_in(text)
    findings = [*_invisible(text, hidden), *_written(text, kind)]
    findings.sort(key=lambda threat: (threat.line, not threat.strong))
    kept = tuple({(threat.family, threat.line): threat for threat in reversed(findings)}.values())[::-1][:_MOST]
    return ScanResult(kept, kind in _BLOCKED and _blocks(kept), without_hidden(text) if hidden else text)


def _blocks(findings: Iterable[Threat]) -> bool:
    told = [threat for threat in findings if not threat.quoted]
    return any(threat.strong for threat in told) or len({threat.family for threat in told}) >= _FAMILIES_TO_BLOCK


def _invisible(text: str, hidden: list[Hidden]) -> Iterator[Threat]:
    for found in hidden[:_MOST_OF_ONE]:
        why = f"holds {found.what}" + (f" that spell «{made_visible(found.says)[:_EXCERPT]}»" if found.says else "")
        begin = max(text.rfind("\n", 0, found.start) + 1, found.start - _EXCERPT // 4)
        excerpt = _short(text[begin : found.end + _EXCERPT // 4].partition("\n")[0])
        yield Threat("invisible", _line(text, found.start), excerpt, why, found.strong)


def _written(text: str, kind: Kind) -> Iterator[Threat]:
    plain = folded(html.unescape(text) if "&" in text else text)
    quoting = _ABOUT.search(plain) is not None
    shown = text if len(plain) == len(text) else plain
    for pattern, start, end in _matches(plain, kind):
        quoted = quoting and _is_quoted(plain, start)
        why, excerpt = FAMILY_WORDS[pattern.family], _short(shown[start:end])
        yield Threat(pattern.family, _line(plain, start), excerpt, why, pattern.strong, quoted)
    for place, decoded in _decoded_runs(text):
        for pattern, start, end in _matches(folded(decoded), kind):
            if pattern.strong:
                why = f"hides in an encoding a text that {FAMILY_WORDS[pattern.family]}"
                yield Threat("payload", _line(text, place), _short(decoded[start:end]), why)


def _matches(text: str, kind: Kind) -> Iterator[tuple[Pattern, int, int]]:
    """Each pattern with where it begins and ends, from its first word on."""
    for pattern in PATTERNS:
        if kind not in pattern.kinds or not pattern.may_be_in(text):
            continue
        taken_back, count = pattern.taken_back(), 0
        for found in pattern.compiled().finditer(text):
            if taken_back is not None and taken_back.search(text, max(0, found.start() - 80), found.start()):
                continue
            before = _BEFORE_LINE.match(found[0])
            yield pattern, found.start() + (before.end() if before else 0), found.end()
            count += 1
            if count >= _MOST_OF_ONE:
                break


_BEFORE_LINE = re.compile(r"\W*\n")

# Whether a text talks about attacks, and which places in it are quotations.
_ABOUT = re.compile(
    r"prompt[\W_]{0,3}injection|jailbreak|red[\W_]?team|adversarial|injection (?:attack|attempt|test|pattern|detect)"
    r"|untrusted (?:text|input|content|data)|\bowasp\b|malicious (?:prompt|instruction|input|content)"
)
_FENCE = re.compile(r"(?m)^[ \t]{0,8}(?:```|~~~)")


def _is_quoted(text: str, place: int) -> bool:
    """Whether the place is within quotes, in code or in a quoted line."""
    before = text[text.rfind("\n", 0, place) + 1 : place]
    if before.lstrip().startswith(">") or any(before.count(quote) % 2 for quote in "\"'`"):
        return True
    if sum(map(before.count, "“«„「『")) > sum(map(before.count, "”»」』")):
        return True
    return len(_FENCE.findall(text, 0, place)) % 2 == 1


# Text that is hidden in base64: runs that decode to readable text, bounded in number and length.
_BASE64 = re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{24,8000}={0,2}")
_MOST_RUNS = 64
_MOST_CHARS = 40_000
_LEAST_LETTERS = 0.7


def _decoded_runs(text: str) -> Iterator[tuple[int, str]]:
    seen = 0
    for count, found in enumerate(_BASE64.finditer(text)):
        seen += len(found[0])
        if count >= _MOST_RUNS or seen > _MOST_CHARS:
            return
        plain = found[0].rstrip("=").replace("-", "+").replace("_", "/")
        try:
            decoded = base64.b64decode(plain + "=" * (-len(plain) % 4)).decode()
        except (binascii.Error, ValueError):
            continue
        letters = sum(sign.isalnum() or sign.isspace() for sign in decoded)
        if letters > len(decoded) * _LEAST_LETTERS and " " in decoded:
            yield found.start(), decoded


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _short(text: str) -> str:
    shown = made_visible(text)
    return shown if len(shown) <= _EXCERPT else f"{shown[: _EXCERPT - 1]}…"
