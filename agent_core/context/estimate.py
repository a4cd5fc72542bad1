"""About how many tokens a text, a message or a tool's definition is, without a tokenizer.

Tokenizers of today agree on what is cheap (common words with their space) and what is dear (digits, odd signs, other
scripts than Latin). So each sign adds a weight that depends on its class and on that of the sign before it. The
weights were fitted once to two public vocabularies (o200k and cl100k) over code and prose in several languages,
JSON, logs, diffs and random text; `tests/data/tokens/README.md` says how.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from agent_core.messages import Message, Part
from tools.images import image_facts

_NAMES = "lUdstnpxgraiycwf"
"""Small and capital letters, digits, spaces, tabs, line ends, punctuation; by their first byte of UTF-8: other Latin,
Greek and the like, Cyrillic, Semitic, Indic and Thai, typographic signs, Chinese with Japanese and Korean, full-width
signs, and what is beyond, as emoji."""

_LEADS = (
    (0xF0, "f"), (0xEE, "w"), (0xE3, "c"), (0xE1, "y"), (0xE0, "i"), (0xD4, "a"), (0xD0, "r"), (0xC6, "g"),
    (0xC0, "x"),
)  # fmt: skip
# In 64ths of a token: a row for the class of the sign before, a column for the sign's own, both as in `_NAMES`.
_WEIGHTS = bytes.fromhex(
    "00 2d 25 21 36 3c 1d 5c 2e 20 25 2e 40 40 43 cd"  # l
    "23 09 58 00 32 40 23 6f 2c 20 25 2e 41 37 41 cd"  # U
    "70 ab 04 00 34 45 1c 59 2c 20 25 2e 40 37 40 cd"  # d
    "22 25 73 04 37 25 2d 82 2b 00 2a 2e 3e 32 40 c9"  # s
    "00 16 05 08 2d 1d 27 5a 2c 20 25 2e 40 37 40 cd"  # t
    "3a 54 00 42 2f 0b 38 59 2c 1e 25 2e 40 38 40 cd"  # n
    "41 0b 82 1f 3e 05 19 57 2d 33 26 2f 41 42 41 cd"  # p
    "3e 0d 01 0d 31 1d 0d 52 2d 20 25 2e 41 37 40 cd"  # x
    "0d 0e 02 00 31 1d 11 5a 2b 20 25 2e 40 36 40 cd"  # g
    "0c 0e 02 00 31 23 01 5a 2c 1b 25 2e 40 36 40 cd"  # r
    "0c 0e 02 05 31 1d 11 5a 2c 20 22 2e 40 36 40 cd"  # a
    "0c 0e 02 00 31 1d 11 5a 2c 20 25 2e 40 36 40 cd"  # i
    "0d 0e 02 00 31 1e 13 5a 2c 20 25 2e 46 37 40 cd"  # y
    "0d 0f 02 05 31 2d 03 5a 2c 20 25 2e 41 37 4b cd"  # c
    "0c 0e 02 01 31 1d 15 5a 2c 20 25 2e 40 3f 42 cd"  # w
    "0c 0e 02 00 31 1d 0f 5a 2c 20 25 2e 3f 36 3f cd"  # f
)
_UNIT = 64
_KNOWN_SIGNS = 256


def _class_of(byte: int) -> str:
    if byte >= 0xC0:  # noqa: PLR2004 - the first byte of a longer sign
        return next(name for first, name in _LEADS if byte >= first)
    sign = chr(byte)
    if sign.isascii() and sign.isalpha():
        return "l" if sign.islower() else "U"
    if sign.isascii() and sign.isdigit():
        return "d"
    return {" ": "s", "\t": "t", "\n": "n", "\r": "n"}.get(sign, "p")


_CLASSES = bytes(_NAMES.index(_class_of(byte)) for byte in range(256))
_CONTINUATIONS = bytes(range(0x80, 0xC0))
_BEGINNING = bytes([_NAMES.index("n")])

_LONG, _WINDOWS, _WINDOW = 2_400, 4, 400
_EACH_THIRD = int.from_bytes(b"\0\0\xff" * (_LONG // 3))
_PER_MESSAGE, _PER_CALL, _PER_RESULT, _PER_TOOL = 4, 9, 8, 8

# platform.claude.com/docs/en/build-with-claude/vision: pixels / 750, and larger images are made smaller first.
_PIXELS_A_TOKEN, _LEAST_IMAGE, _MOST_IMAGE, _USUAL_IMAGE = 750, 85, 1_600, 1_200
_HEAD_OF_IMAGE = 4_096
_PAGE_BYTES, _PAGE_TOKENS = 40_000, 2_000
_AUDIO_BYTES_A_TOKEN = {"wav": 2_000}
_USUAL_AUDIO = 800
_MOST_ATTACHMENT = 100_000


def text_tokens(text: str) -> float:
    """About the tokens of a text; of a long one some pieces are looked at."""
    size = len(text)
    if size <= _LONG:
        return _counted(text)
    step = (size - _WINDOW) // (_WINDOWS - 1)
    pieces = "\n".join(text[start : start + _WINDOW] for start in range(0, step * _WINDOWS, step))
    return _counted(pieces) * size / len(pieces)


def texts_tokens(texts: Iterable[str]) -> float:
    """About what `text_tokens` makes of all of them together; many short ones take half of the time."""
    total, lines, size = 0.0, list[str](), 0
    for text in texts:
        if len(text) >= _LONG:
            total += text_tokens(text)
            continue
        size += len(text) + 1
        if size > _LONG:
            total += _of_lines(lines)
            lines, size = [], len(text) + 1
        if text:
            lines.append(text)
    return total + _of_lines(lines)


def _of_lines(texts: Sequence[str]) -> float:
    """The tokens of texts, none of them empty, that are counted as lines: each counts as one that stands alone."""
    between = sum(_line_end_behind(text[-1]) for text in texts[:-1])
    return _counted("\n".join(texts)) - between / _UNIT


@lru_cache(_KNOWN_SIGNS)
def _line_end_behind(sign: str) -> int:
    """What a line's end costs behind a sign."""
    lead = sign.encode("utf-8", "surrogatepass")[:1]
    return _WEIGHTS[lead.translate(_CLASSES)[0] << 4 | _BEGINNING[0]]


def message_tokens(message: Message, text: Callable[[str], float] = text_tokens) -> float:
    """About the tokens of a message with all that is sent of it.

    Args:
        text: counts a text; `text_tokens`, or what remembers its answers.
    """
    content = message["content"]
    total: float = _PER_RESULT if message["role"] == "tool" else _PER_MESSAGE
    if isinstance(content, str):
        total += text(content)
    elif content:
        total += sum(_part_tokens(part, text) for part in content)
    for call in message.get("tool_calls", ()):
        total += _PER_CALL + text(call["function"]["arguments"])
    if "sealed" in message:
        # What is sealed goes back with its reasoning; servers count the reasoning.
        total += text(message.get("reasoning", ""))
    return total


def tools_tokens(tools: Sequence[Mapping[str, Any]]) -> float:
    """About the tokens of tool definitions."""
    return sum(_PER_TOOL + text_tokens(json.dumps(tool, ensure_ascii=False)) for tool in tools)


def _counted(text: str) -> float:
    raw = text.encode("utf-8", "surrogatepass")
    classes = raw.translate(_CLASSES, b"" if len(raw) == len(text) else _CONTINUATIONS)
    if not classes:
        return 0.0
    # Each class has four bits: as one long number, the signs and the signs before them make a byte a pair.
    before = int.from_bytes(_BEGINNING + classes[:-1])
    pairs = (before << 4 | int.from_bytes(classes)).to_bytes(len(classes))
    return max(_sum_of(pairs.translate(_WEIGHTS)) / _UNIT, 1.0)


def _sum_of(numbers: bytes) -> int:
    """The sum of at most `_LONG` bytes; `sum` would take most of the time of all this.

    Of a number whose digits have 24 bits, the remainder by 2**24 - 1 is the sum of its digits.
    """
    whole = int.from_bytes(numbers)
    return ((whole & _EACH_THIRD) + (whole >> 8 & _EACH_THIRD) + (whole >> 16 & _EACH_THIRD)) % 0xFFFFFF


def _part_tokens(part: Part, text: Callable[[str], float]) -> float:
    match part["type"]:
        case "text":
            return text(part["text"])
        case "image_url":
            return _image_tokens(part["image_url"]["url"])
        case "input_audio":
            data = part["input_audio"]
            each = _AUDIO_BYTES_A_TOKEN.get(data["format"], _USUAL_AUDIO)
            return min(len(data["data"]) * 3 / 4 / each, _MOST_ATTACHMENT)
        case "file":
            pages = math.ceil(len(part["file"]["file_data"]) * 3 / 4 / _PAGE_BYTES)
            return min(_PAGE_TOKENS * max(pages, 1), _MOST_ATTACHMENT)


def _image_tokens(url: str) -> float:
    head, comma, data = url.partition(",") if url.startswith("data:") else ("", "", "")
    if not comma or ";base64" not in head:
        return _USUAL_IMAGE
    start = data[:_HEAD_OF_IMAGE]
    try:
        facts = image_facts(base64.b64decode(start[: len(start) // 4 * 4]))
    except (binascii.Error, ValueError):
        return _USUAL_IMAGE
    if facts is None or not facts.width:
        return _USUAL_IMAGE
    return min(max(facts.width * facts.height / _PIXELS_A_TOKEN, _LEAST_IMAGE), _MOST_IMAGE)
