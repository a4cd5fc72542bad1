"""Text from an agent, made safe to print: nothing in it can steer the terminal or hide what it says."""

from __future__ import annotations

import re

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
