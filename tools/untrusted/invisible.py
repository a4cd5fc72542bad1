"""Characters that nobody sees: found, taken out, made visible. What writing systems and emoji need stays."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from tools.light_dataclass import dataclass

_TAGS = range(0xE0000, 0xE0080)
_TAG_BASE = 0xE0000
_ASCII = range(0x20, 0x7F)
_DATA_SELECTORS = 2
_RUN = 8

# Zero-width and format characters, bidi controls, tags, variation selectors, fillers that are blank, private use.
_SUSPECT = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\ue000-\uf8ff\U0001d173-\U0001d17a\U000e0000-\U000e01ef"
    "\U000f0000-\U0010fffd]+"
)
# No description needs these, whatever it is written in: control characters, marks and controls of the direction of
# writing, what has no width, tags, selectors that choose no emoji's form.
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0d\ufeff\ufff9-\ufffb\U000e0000-\U000e01ef]+"
)
_LINE_BREAKS = re.compile("\r\n?|[\v\f\x85\u2028\u2029]")
_HALVES = re.compile("[\ud800-\udfff]")
_FLAG = re.compile("\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{2,8}\U000e007f")
_OPENS = {"\u202a": "\u202c", "\u202b": "\u202c", "\u202d": "\u202c", "\u202e": "\u202c"}
_OPENS |= {"\u2066": "\u2069", "\u2067": "\u2069", "\u2068": "\u2069"}
_CLOSES = frozenset(_OPENS.values())
_OVERRIDES = frozenset("\u202d\u202e")
_MARKS = frozenset("\u061c\u200e\u200f")
_SELECTORS = frozenset(map(chr, [*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0), *range(0x180B, 0x1810)]))


@dataclass(frozen=True, slots=True)
class Hidden:
    """Invisible characters at one place. `says` is the text that they spell, '' where they spell none."""

    start: int
    end: int
    what: str
    says: str = ""
    strong: bool = True


def hidden_in(text: str) -> list[Hidden]:
    """The invisible characters in `text` that no writing system or emoji there needs."""
    if text.isascii() or not _SUSPECT.search(text):
        return []
    flags = {found.span() for found in _FLAG.finditer(text)}
    runs = [run for run in _SUSPECT.finditer(text) if not _is_in_flag(run, flags)]
    return [*_in_runs(text, runs), *_unbalanced(text)]


def without_hidden(text: str) -> str:
    """`text` without what `hidden_in` finds."""
    found = hidden_in(text)
    if not found:
        return text
    spots = {place for hidden in found for place in range(hidden.start, hidden.end)}
    return "".join(sign for place, sign in enumerate(text) if place not in spots)


def without_controls(text: str) -> str:
    """`text` as a description may be: without what `hidden_in` finds, control characters other than line feeds and
    tabs, and signs that have no width or turn the direction of writing. It can be encoded, whatever it was.
    """
    if text.isascii() and not _CONTROLS.search(text):
        return text
    lines = _HALVES.sub("\ufffd", _LINE_BREAKS.sub("\n", text))
    return without_hidden(_CONTROLS.sub("", lines))


def made_visible(text: str) -> str:
    """`text` on one line, with `<U+200B>` for each character that has no shape of its own."""
    return "".join(_shown(sign) for sign in " ".join(text.split()))


def _shown(sign: str) -> str:
    if sign.isascii() and sign.isprintable():
        return sign
    category = unicodedata.category(sign)
    return f"<U+{ord(sign):04X}>" if category[0] == "C" or _SUSPECT.match(sign) else sign


def _is_in_flag(run: re.Match[str], flags: set[tuple[int, int]]) -> bool:
    return (run.start() - 1, run.end()) in flags


def _in_runs(text: str, runs: list[re.Match[str]]) -> Iterator[Hidden]:
    soft: list[re.Match[str]] = []
    for run in runs:
        signs = run[0]
        tags = [sign for sign in signs if ord(sign) in _TAGS]
        if tags:
            yield Hidden(run.start(), run.end(), "tag characters", _spelled(tags))
        elif (says := _from_selectors(signs)) is not None:
            yield Hidden(run.start(), run.end(), "variation selectors used as data", says)
        elif _is_private(signs):
            # Icon fonts use them one by one.
            if len(signs) >= _RUN:
                yield Hidden(run.start(), run.end(), "private characters", "", strong=False)
        elif not _is_needed(text, run):
            soft.append(run)
    many = sum(len(run[0]) for run in soft) >= _RUN
    for run in soft:
        inside_word = _is_word(text[run.start() - 1 : run.start()]) and _is_word(text[run.end() : run.end() + 1])
        yield Hidden(run.start(), run.end(), "zero-width characters", "", strong=many or inside_word)


def _is_private(signs: str) -> bool:
    return all(unicodedata.category(sign) == "Co" for sign in signs)


def _spelled(tags: list[str]) -> str:
    return "".join(chr(ord(tag) - _TAG_BASE) for tag in tags if ord(tag) - _TAG_BASE in _ASCII)


def _from_selectors(signs: str) -> str | None:
    """What a run of variation selectors spells, one byte each; None where they select variations."""
    selectors = [sign for sign in signs if sign in _SELECTORS]
    if len(selectors) <= _DATA_SELECTORS:
        return None
    data = bytes(_byte_of(sign) for sign in selectors)
    text = data.decode("utf-8", "replace")
    return text if text.isprintable() and "\ufffd" not in text else ""


def _byte_of(sign: str) -> int:
    number = ord(sign)
    if number in range(0xFE00, 0xFE10):
        return number - 0xFE00
    return (number - 0xE0100 + 16) & 0xFF if number >= 0xE0100 else number & 0x0F  # noqa: PLR2004 - the second block


def _is_needed(text: str, run: re.Match[str]) -> bool:
    """Whether a writing system, an emoji or a file's beginning wants these characters there."""
    signs, before, after = run[0], text[run.start() - 1 : run.start()], text[run.end() : run.end() + 1]
    if signs == "\ufeff":
        return run.start() == 0
    if all(sign in _SELECTORS or sign == "\u200d" for sign in signs):
        # An emoji or an ideograph with its variant, joined to the next: 👩‍💻, ❤️.
        return _carries(before) if signs[0] in _SELECTORS else _joins(before) and _joins(after)
    if signs in {"\u200b", "\u200c"}:
        return _joins(before) and _joins(after)
    if all(sign in _OPENS or sign in _CLOSES for sign in signs):
        return True  # looked at as pairs
    if signs in _MARKS:
        return _is_rtl_near(text, run.start(), run.end())
    return signs == "\u00ad" and (before + after).isalpha()


def _carries(before: str) -> bool:
    return before != "" and (not before.isascii() or before in "#*0123456789©®") and not before.isspace()


def _joins(sign: str) -> bool:
    """Letters of scripts that are joined (Persian, Hindi …) or have no spaces (Thai …), and emoji."""
    return sign != "" and not sign.isascii() and unicodedata.category(sign) in {"Lo", "Mn", "Mc", "So", "Sk"}


def _is_rtl_near(text: str, start: int, end: int) -> bool:
    near = text[max(0, start - 80) : start] + text[end : end + 80]
    return any(unicodedata.bidirectional(sign) in {"R", "AL"} for sign in near)


def _is_word(sign: str) -> bool:
    return sign.isalnum()


def _unbalanced(text: str) -> Iterator[Hidden]:
    """Bidi controls that change how a line reads: overrides, and what is opened and not closed on its line."""
    place = 0
    for line in text.split("\n"):
        if not line.isascii():
            yield from _bidi_of_line(line, place)
        place += len(line) + 1


def _bidi_of_line(line: str, place: int) -> Iterator[Hidden]:
    is_rtl = any(unicodedata.bidirectional(sign) in {"R", "AL"} for sign in line)
    # Before nothing that is written they have no effect: left over from a name that was copied.
    last = max((offset for offset, sign in enumerate(line) if sign.isalnum()), default=-1)
    for offset in sorted(_odd_controls(line, is_rtl)):
        start = place + offset
        yield Hidden(start, start + 1, "controls of the direction of writing", "", strong=offset < last)


def _odd_controls(line: str, is_rtl: bool) -> Iterator[int]:
    open_ones: list[tuple[int, str]] = []
    for offset, sign in enumerate(line):
        if sign in _OPENS:
            open_ones.append((offset, sign))
            if sign in _OVERRIDES or not is_rtl:
                yield offset
        elif sign in _CLOSES:
            opened = open_ones.pop() if open_ones and _OPENS[open_ones[-1][1]] == sign else None
            if opened is None or opened[1] in _OVERRIDES or not is_rtl:
                yield offset
    if is_rtl:
        yield from (offset for offset, sign in open_ones if sign not in _OVERRIDES)
