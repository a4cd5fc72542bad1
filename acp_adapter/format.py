"""Text, numbers and times as people read them: safe to print, short, in words."""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo

# Text from an agent: nothing in it can steer the terminal or hide what it says.

_SEQUENCES = re.compile(
    r"\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)"  # operating system commands: titles, links, the clipboard
    r"|(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours and cursor movements
    r"|\x1b[ -/]*[0-~]"
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Control characters but tab and newline, and those that change the direction of writing."""
_UNSEEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    r"\U000e0000-\U000e007f]"
)
"""Those, and the others that a person does not see."""
_LAST_OF_TWO_DIGITS = 0xFF
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def safe_text(text: str) -> str:
    """`text` without escape sequences and control characters; carriage returns end a line."""
    text = _SEQUENCES.sub("", text)
    return _CONTROLS.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def visible_text(text: str) -> str:
    """`text` with each sign that steers a terminal or is not seen told by its number: what a person says yes to.

    Nothing is taken away, because what is not shown would be done all the same.
    """
    return _UNSEEN.sub(_number, text.replace("\r\n", "\n"))


def visible_line(text: str) -> str:
    """The whole of `text` on one line, as `visible_text` shows it."""
    return " ".join(visible_text(text).split())


def one_line(text: str) -> str:
    """The first line of `text`, safe, with an ellipsis where there are more."""
    lines = safe_text(text).replace("\t", " ").strip().splitlines()
    if not lines:
        return ""
    return lines[0] if len(lines) == 1 else f"{lines[0]} ..."


def whole(value: str) -> str:
    """`value` with a replacement character for what no encoding can hold."""
    return _LONE_SURROGATE.sub("\ufffd", value)


def _number(sign: re.Match[str]) -> str:
    number = ord(sign[0])
    return f"\\x{number:02x}" if number <= _LAST_OF_TWO_DIGITS else f"\\u{{{number:x}}}"


# Figures and times.

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_SHORT = 10
_THOUSAND, _MILLION = 1_000, 1_000_000
_CENT = 0.01


def duration(seconds: float) -> str:
    """`0.4 s`, `42 s`, `1 min 12 s`, `2 h 5 min`, `3 d 4 h`."""
    if seconds < _SHORT:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    for size, name, smaller, small_name in ((_DAY, "d", _HOUR, "h"), (_HOUR, "h", _MINUTE, "min")):
        if whole >= size:
            return _two(whole // size, name, whole % size // smaller, small_name)
    return _two(whole // _MINUTE, "min", whole % _MINUTE, "s")


def count(number: int) -> str:
    """`950`, `3.4k`, `120k`, `1.2M`."""
    for size, name in ((_MILLION, "M"), (_THOUSAND, "k")):
        if number >= size:
            digits = f"{number / size:.1f}".removesuffix(".0") if number < 100 * size else str(number // size)
            return digits + name
    return str(number)


def size_text(number: float) -> str:
    """A number of bytes: `512 bytes`, `3.4 KB`, `1.2 MB`."""
    if number < _THOUSAND:
        return f"{number:.0f} bytes"
    units = ("KB", "MB", "GB", "TB")
    power = next((power for power in range(1, len(units)) if number < _THOUSAND ** (power + 1)), len(units))
    return f"{number / _THOUSAND**power:.1f} {units[power - 1]}"


def dollars(cost: float) -> str:
    """`$0.0042`, `$0.12`, `$3.50`."""
    return f"${cost:.4f}" if 0 < cost < _CENT else f"${cost:.2f}"


def moment(seconds: float, zone: tzinfo | None = None) -> str:
    """`2026-11-21 16:05`, in `zone` (None: where this runs)."""
    return local(seconds, zone).strftime("%Y-%m-%d %H:%M")


def local(seconds: float, zone: tzinfo | None = None) -> datetime:
    """Seconds since the epoch as a time in `zone` (None: where this runs)."""
    return datetime.fromtimestamp(seconds, UTC).astimezone(zone)


def _two(many: int, name: str, few: int, small: str) -> str:
    return f"{many} {name} {few} {small}" if few else f"{many} {name}"
