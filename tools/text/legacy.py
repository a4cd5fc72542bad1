"""Which encoding from before Unicode a text has: charset-normalizer's guess, told with what it could be as well.

The library judges by how letters stand together. What it needs for that is done here: it gets the lines that have
such letters, and of a short text enough of them; where several encodings are equally likely, the usual one wins.
"""

from __future__ import annotations

import hashlib
import re

from tools.light_dataclass import dataclass

_WESTERN = "cp1252"
_LATIN = (_WESTERN, "cp1254", "cp1250", "iso8859-2", "cp1257")
_EAST_ASIAN = ("gb18030", "big5", "cp949", "euc_jp", "cp932")
_OTHERS = ("cp1251", "koi8-r", "cp866", "koi8-u", "cp1253", "cp1255", "cp1256", "iso8859-6", "iso8859-5", "cp874")
_CENTRAL = ("Croatian", "Czech", "Polish", "Romanian", "Serbian", "Slovak", "Slovene")
_LANGUAGES = {"cp1254": ("Turkish",), "cp1250": _CENTRAL, "iso8859-2": _CENTRAL, "cp1257": ("Latvian", "Lithuanian")}
_ELSEWHERE = frozenset(language for languages in _LANGUAGES.values() for language in languages)
_SAMPLE_BYTES = 1 << 14
_LEAST_BYTES = 256  # of less the library judges the characters alone, not the language
_HIGH = re.compile(rb"[\x80-\xff]+")
_WINDOWS_ONLY = bytes(range(0x80, 0xA0))
_BLOCK = 1 << 16
_BEFORE, _BEHIND = 200, 1 << 16  # an even number: most East Asian characters have two bytes
_AS_TIDY, _AS_COHERENT = 0.05, 0.1
_MOST_OTHERS = 3
_MOST_KNOWN = 256


@dataclass(frozen=True, slots=True)
class Guess:
    """An encoding that reads and writes all bytes of a text; `others` are about as likely and read other letters."""

    encoding: str
    others: tuple[str, ...] = ()


_known: dict[bytes, Guess] = {}


def guess_encoding(data: bytes) -> Guess:
    """The encoding of a text that is not UTF-8. Of bytes that were written by us it is known."""
    key = _key(data)
    found = _known.get(key)
    if found is None:
        found = _guess(data)
        _know(key, found)
    return found


def know_encoding(data: bytes, guess: Guess) -> None:
    """Remember how `data` was encoded: too little may be left in it to find that out."""
    _know(_key(data), guess)


def _key(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


def _know(key: bytes, guess: Guess) -> None:
    if len(_known) >= _MOST_KNOWN:
        _known.clear()
    _known[key] = guess


def _guess(data: bytes) -> Guess:
    sample = lines_not_ascii(data, _SAMPLE_BYTES)
    likely = _likely(sample)
    first = next((name for name in (*likely, _WESTERN) if _reads(data, name)), "latin-1")
    text = sample.decode(first, "replace")
    # Of those that read the same letters, the one that has most of the others that may be written later.
    first = next((name for name in _LATIN if sample.decode(name, "replace") == text and _reads(data, name)), first)
    if first == _WESTERN and not _has_windows_only(data):
        first = "latin-1"
    others = [name for name in likely if sample.decode(name, "replace") != text]
    return Guess(first, tuple(others[:_MOST_OTHERS]))


def _likely(sample: bytes) -> list[str]:
    """The likeliest encoding and those that are about as likely, best first."""
    from charset_normalizer import from_bytes  # noqa: PLC0415 - few files need it

    runs = [found.span() for found in _HIGH.finditer(sample)]
    longest = max((end - start for start, end in runs), default=0)
    # Latin letters stand in words with ASCII ones; those of other scripts among themselves.
    in_words = sum(sample[start - 1 : start].isalpha() or sample[end : end + 1].isalpha() for start, end in runs)
    is_latin = in_words * 2 > len(runs)
    if longest <= 1 and (len(runs) <= 1 or not is_latin):
        return list(_LATIN[:3])  # a letter, or signs: the library would judge the English around them
    usual = [*_LATIN, *_EAST_ASIAN, *_OTHERS] if is_latin else [*_EAST_ASIAN, *_OTHERS, *_LATIN]
    if longest == 1 and not _has_windows_only(sample):
        usual = list(_LATIN)
    enough = (sample + b"\n") * -(-_LEAST_BYTES // (len(sample) + 1))
    found = list(from_bytes(enough, cp_isolation=usual, enable_fallback=False))
    if not found:
        return []
    names = {name.replace("-", "_"): name for name in usual}
    tidy, coherent = found[0].chaos, found[0].coherence
    ranked: list[tuple[bool, bool, int, str]] = []
    for place, match in enumerate(found):
        name = names[match.encoding]
        # It knows no frequent letters of Korean: that is as coherent as whatever is as tidy.
        is_best = match.chaos == tidy and (match.coherence == coherent or name == "cp949")
        if is_best or (match.chaos - tidy <= _AS_TIDY and coherent - match.coherence <= _AS_COHERENT):
            order = usual.index(name) if is_best else place
            ranked.append((not is_best, not _is_used_for(name, match.language), order, name))
    return [name for *_, name in sorted(ranked)]


def _is_used_for(encoding: str, language: str) -> bool:
    """Whether texts of the language are usually in this encoding, as far as it is one of those for Latin letters."""
    if encoding == _WESTERN:
        return language not in _ELSEWHERE
    return language in _LANGUAGES.get(encoding, (language,))


def lines_not_ascii(data: bytes, most: int) -> bytes:
    """The first lines with a byte that is not ASCII, about `most` bytes; of long lines what is around such bytes."""
    lines: list[bytes] = []
    end = 0
    while most > 0 and (found := _next_high(data, end)):
        start = max(data.rfind(b"\n", end, found.start()) + 1, found.start() - _BEFORE, end)
        line_end = data.find(b"\n", found.start())
        end = min(line_end if line_end >= 0 else len(data), found.start() + _BEHIND)
        lines.append(data[start:end])
        most -= end - start
    return b"\n".join(lines)


def _next_high(data: bytes, start: int) -> re.Match[bytes] | None:
    # Much faster than the expression, where much is ASCII.
    while data[start : start + _BLOCK].isascii() and start < len(data):
        start += _BLOCK
    return _HIGH.search(data, start)


def _has_windows_only(data: bytes) -> bool:
    """Whether it has bytes that are letters or signs in Windows' encodings alone."""
    return len(data.translate(None, _WINDOWS_ONLY)) < len(data)


def _reads(data: bytes, encoding: str) -> bool:
    try:
        return data.decode(encoding).encode(encoding) == data
    except UnicodeError:
        return False
