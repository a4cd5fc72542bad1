"""Text that is hidden in an encoding: base64 and hexadecimal runs that decode to readable text."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

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
