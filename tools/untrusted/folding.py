"""Text in the one form in which patterns are looked for: small letters, without disguise. Line breaks stay."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Collection, Sequence
from functools import lru_cache

# Letters that look like others, each under the one that it looks like; forms that Unicode itself calls compatible
# (fullwidth, mathematical, circled) are not here.
_LOOK_ALIKES = {
    "a": "аαɑᴀ", "b": "ьвƅʙ", "c": "сϲᴄ", "d": "ԁɗᴅ", "e": "еєεҽᴇ", "f": "ғƒꜰ", "g": "ɡԍɢց",
    "h": "һнʜհ", "i": "іιɩıӏɪ", "j": "јϳᴊ", "k": "кκᴋ", "l": "ⅼʟ", "m": "мᴍ", "n": "пηɴո",
    "o": "оοσօᴏ", "p": "рρᴘ", "q": "ԛզ", "r": "гʀꭇ", "s": "ѕꜱ", "t": "тτᴛ", "u": "υսᴜ", "v": "ѵνᴠ",
    "w": "ѡωԝᴡ", "x": "хχ", "y": "уүγʏ", "z": "ᴢʐ", "'": "’‘ʼ`´", "-": "‐‑‒–—−",
}  # fmt: skip
_FOLDS = {ord(sign): plain for plain, signs in _LOOK_ALIKES.items() for sign in signs}
_LEET = str.maketrans("013457@$", "oieastas")
_LEET_WORD = re.compile(r"[a-z][013457@$]+[a-z]")
_SPACED = re.compile(r"(?<![^\W_])[^\W_](?:[ ._*|~-]{1,3}[^\W_](?![^\W_])){7,400}")
_SEPARATED = re.compile(r"([^\W_])[ ._*|~-](?=[^\W_])")
_SINGLE = frozenset("abcdefghijklmnopqrstuvwxyz013457")
_LEAST_SPACED = 8
_ENTITY = re.compile(r"&(?:#\d{2,7}|#x[0-9a-f]{2,6}|[a-z]{2,8});", re.IGNORECASE)
_ESCAPE = re.compile(r"\\(?:u\{?([0-9a-fA-F]{4})\}?|x([0-9a-fA-F]{2}))")
_TAGS = ("<!--", "</b>", "</i>", "</em>", "</span>", "</strong>", "<wbr")
_IN_WORD = re.compile(r"\*\*(?<=\w\*\*)\w")
_BREAKS = re.compile(r"<!--\s{0,40}-->|</?(?:b|i|em|strong|span|wbr|s|u)\b[^<>\n]{0,80}>|\*\*")
_MOST_LEET = 2
_FEW = 40


def folded(text: str) -> str:
    """`text` in small letters, without what is invisible or decorates letters; look-alikes as what they look like."""
    if text.isascii():
        return text.lower()
    unusual = [sign for sign in set(text) if not sign.isascii()]
    if len(unusual) > _FEW:
        return text.translate({ord(sign): _fold_sign(sign) for sign in unusual}).lower()
    for sign in unusual:
        plain = _fold_sign(sign)
        if plain != sign:
            text = text.replace(sign, plain)
    return text.lower()


def disguises(text: str, plain: str, words: Sequence[str], known: Collection[str]) -> list[str]:
    """Other readings of a text, where it has some: with entities and escapes read, letters pulled together, digits
    as letters. All have its line breaks.

    Args:
        plain: the folded text.
        words: the words of that, in order; `known` has each of them once.
    """
    readings = []
    undone = _undone(text)
    if undone != text:
        readings.append(folded(undone))
    if b"\1" * _LEAST_SPACED in bytes(map(_SINGLE.__contains__, words)):
        readings.append(_SPACED.sub(_together, plain))
    mixed = [word for word in known if not word.isalpha() and _LEET_WORD.search(word)]
    if len(mixed) >= _MOST_LEET:
        readings.append(plain.translate(_LEET))
    return readings


def _undone(text: str) -> str:
    """The text with entities, escapes and marks within words taken as what is shown of them."""
    if "&" in text and _ENTITY.search(text):
        text = html.unescape(text)
    if "\\u" in text or "\\x" in text:
        text = _ESCAPE.sub(lambda found: chr(int(found[1] or found[2], 16)), text)
    if any(tag in text for tag in _TAGS) or _IN_WORD.search(text):
        text = _BREAKS.sub("", text)
    return text


def _together(found: re.Match[str]) -> str:
    """`i g n o r e   a l l` as `ignore all`: what separates the letters of a word is shorter than what ends it."""
    return _SEPARATED.sub(r"\1", found[0])


@lru_cache(maxsize=4096)
def _fold_sign(sign: str) -> str:
    parts = unicodedata.normalize("NFKD", sign).lower()
    return "".join(
        _FOLDS.get(ord(part), part) for part in parts if unicodedata.category(part) not in {"Mn", "Cf", "Me"}
    )
