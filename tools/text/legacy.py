"""Which encoding a text has that is neither UTF-8 nor marked: found by how its bytes stand together.

Western text has single bytes above 127 between ASCII letters, every other script has runs of them. A run is tried as
Cyrillic, Japanese, Korean and Chinese, each judged by the share of what is frequent in that script. What fits nothing
is taken for Western, which reads any byte.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable

WESTERN = "latin-1"
_SAMPLE_BYTES = 1 << 14
_MIN_PAIRED = 0.5

_CYRILLIC = ("cp1251", "koi8-r", "cp866")
_FREQUENT_CYRILLIC = frozenset("оеаинтсрвлкмдпу")
_MIN_FREQUENT = 0.55

_RUNS = re.compile(rb"[\x80-\xff]+")
_WINDOWS_ONLY = re.compile(rb"[\x80-\x9f]")
_MIN_SHARE = 0.75
_MIN_KANA = 0.15
_MIN_SYLLABLES = 0.85


def guess_encoding(data: bytes) -> str:
    """The name of the codec for text that is not UTF-8; it reads all of `data`, and writes it as it was."""
    guess = _guess(data)
    return guess if guess != WESTERN and _reads(data, guess) else WESTERN


def _guess(data: bytes) -> str:
    sample = _sample(data)
    runs = _RUNS.findall(sample)
    high = sum(map(len, runs))
    if not high or sum(len(run) for run in runs if len(run) > 1) < high * _MIN_PAIRED:
        return "cp1252" if _WINDOWS_ONLY.search(data) else WESTERN
    return _cyrillic(b"".join(runs)) or _east_asian(sample) or ("cp1252" if _WINDOWS_ONLY.search(data) else WESTERN)


def _sample(data: bytes) -> bytes:
    """The lines around the first byte that is not ASCII."""
    first = _RUNS.search(data)
    if first is None:
        return b""
    start = data.rfind(b"\n", 0, first.start()) + 1
    if first.start() - start > _SAMPLE_BYTES // 2:
        start = first.start()
    return data[start : start + _SAMPLE_BYTES]


def _reads(data: bytes, encoding: str) -> bool:
    try:
        return data.decode(encoding).encode(encoding) == data
    except UnicodeError:
        return False


def _cyrillic(letters: bytes) -> str:
    best, encoding = max((_frequent_share(letters.decode(name, "replace")), name) for name in _CYRILLIC)
    return encoding if best >= _MIN_FREQUENT else ""


def _frequent_share(text: str) -> float:
    return sum(char in _FREQUENT_CYRILLIC for char in text) / len(text)


def _east_asian(sample: bytes) -> str:
    found = [(share(text), name) for name, share in _EAST_ASIAN if (text := _decoded(sample, name))]
    best, encoding = max(found, default=(0.0, ""))
    return encoding if best >= _MIN_SHARE else ""


def _decoded(sample: bytes, encoding: str) -> str:
    """What is not ASCII of the sample, '' where it cannot be in this encoding."""
    try:
        # The sample may end inside a character.
        text = codecs.getincrementaldecoder(encoding)().decode(sample)
    except UnicodeDecodeError:
        return ""
    return "".join(char for char in text if char >= "\x80")


def _japanese(text: str) -> float:
    kana = sum("\u3041" <= char <= "\u30fe" for char in text) / len(text)
    usual = sum("\u3000" <= char <= "\u30fe" or "\u4e00" <= char <= "\u9fff" or char >= "\uff01" for char in text)
    narrow = sum("\uff61" <= char <= "\uff9f" for char in text)
    # Chinese has no kana: with them, a text is Japanese rather than what else its bytes could be.
    return (usual - narrow) / len(text) + kana if kana >= _MIN_KANA else 0.0


def _korean(text: str) -> float:
    syllables = sum("\uac00" <= char <= "\ud7a3" for char in text) / len(text)
    # Korean bytes also read as usual Chinese; Chinese ones are syllables for the smaller half.
    return syllables + 1 if syllables >= _MIN_SYLLABLES else 0.0


def _chinese(codec: str, first: int, last: int, punctuation: tuple[int, ...]) -> Callable[[str], float]:
    """Judges by the share of the characters that the standard has at its beginning, which are the frequent ones."""

    def share(text: str) -> float:
        usual = 0
        for char in text:
            lead, *trail = char.encode(codec, "replace")
            usual += bool(trail) and (first <= lead <= last or lead in punctuation)
        return usual / len(text)

    return share


_EAST_ASIAN: tuple[tuple[str, Callable[[str], float]], ...] = (
    ("cp932", _japanese),
    ("euc_jp", _japanese),
    ("cp949", _korean),
    ("gb18030", _chinese("gb2312", 0xB0, 0xD7, (0xA1, 0xA3))),
    ("big5", _chinese("big5", 0xA4, 0xC6, (0xA1,))),
)
