"""Bytes to text and back: encodings, line endings, and guesses at legacy encodings."""

from __future__ import annotations

import codecs
import difflib
import hashlib
import re
from collections.abc import Iterable
from typing import Literal

from tools.light_dataclass import dataclass

# Which encoding from before Unicode a text has: charset-normalizer's guess, told with what it could be as well. The
# library judges by how letters stand together. What it needs for that is done here: it gets the lines that have such
# letters, and of a short text enough of them; where several encodings are equally likely, the usual one wins.

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
    found = _known.get(_key(data))
    if found is None:
        found = _guess(data)
        know_encoding(data, found)
    return found


def know_encoding(data: bytes, guess: Guess) -> None:
    """Remember how `data` was encoded: too little may be left in it to find that out."""
    if len(_known) >= _MOST_KNOWN:
        _known.clear()
    _known[_key(data)] = guess


def _key(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


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


# Bytes to text and back without loss: byte order marks, encodings, line endings, and what is not text.

SAMPLE_BYTES = 8192

# The longer marks first: UTF-32's begins with UTF-16's.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_HARMLESS_CONTROLS = b"\t\n\r\f\b\x1b"
_CONTROLS = bytes(set(range(32)) - set(_HARMLESS_CONTROLS)) + b"\x7f"
_LATE_CONTROLS = re.compile("[\x80-\x9f\ufffe\uffff]")
_MAX_CONTROL_SHARE = 0.15
_MOST_JUDGED = 1 << 18
_MAX_ALIKE, _MAX_ALIKE_CHARS = 100, 2000  # who compares more keeps a turn waiting
_MAX_LEGACY_CONTROL_SHARE = 0.02
_MIN_NULS = 0.3
_MAX_STRAY_NULS = 0.02
_ODD = re.compile("[\udc80-\udcff]")
_ODD_IN_RUN = re.compile("[\udc80-\udcff][^\0-\x7f]|[^\0-\x7f][\udc80-\udcff]")
_LEAST_BYTES_FOR_ONE = 100
_HALF_PAIR = re.compile("[\ud800-\udfff]")
_NOT_ASCII = re.compile("[^\0-\x7f]")
_ESCAPED_ODD = re.compile(r"\\u(dc[89a-f][0-9a-f])")
_REPLACEMENT = "\ufffd"
_UNICODE = frozenset({"utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"})


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file's content as text. `text` has no byte order mark and the line endings of the file.

    Attributes:
        others: where the encoding was guessed, what it may be as well.
        has_odd_bytes: it is UTF-8 but for some bytes, which `text` has as lone surrogates.
    """

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""
    others: tuple[str, ...] = ()
    has_odd_bytes: bool = False

    @property
    def is_guessed(self) -> bool:
        """Whether the encoding was guessed: it is none of Unicode's."""
        return self.encoding not in _UNICODE

    @property
    def is_unmarked(self) -> bool:
        """Whether another program may read other characters: nothing but the bytes tells the encoding."""
        return self.has_odd_bytes or (not self.mark and self.encoding != "utf-8")

    @property
    def note(self) -> str:
        """What a model should know of the encoding; '' for UTF-8."""
        return encoding_note(self.encoding, self.others, odd_bytes_in(self.text))

    @property
    def kept_note(self) -> str:
        """What a model should know after a change in an encoding that was guessed; '' for any other."""
        return f"The file's encoding was kept. {self.note}" if self.is_guessed else ""

    @property
    def newline(self) -> Literal["\n", "\r\n"] | None:
        """The line ending that every line has; None for a mixture, or where there is none."""
        windows = self.text.count("\r\n")
        if windows:
            return "\r\n" if self.text.count("\n") == windows else None
        return "\n" if "\n" in self.text else None

    def as_meant(self, text: str) -> str:
        r"""`text` with the odd bytes of this file where it has their escapes, as they are shown: `\udcff`."""
        if not self.has_odd_bytes or _ESCAPED_ODD.search(self.text):
            return text
        return _ESCAPED_ODD.sub(lambda found: chr(int(found[1], 16)), text)

    def encode(self, text: str) -> bytes:
        """`text` in the encoding of this file, with its mark, and with the odd bytes that it has.

        Raises:
            UnicodeEncodeError: the encoding lacks one of the characters.
        """
        if self.has_odd_bytes:
            text = self.as_meant(text)
            if _REPLACEMENT in text:
                text = _with_odd_bytes(text, self.text)
            data = self.mark + text.encode(self.encoding, "surrogateescape")
        else:
            data = self.mark + text.encode(self.encoding)
        if self.is_guessed or self.has_odd_bytes:
            know_encoding(data, Guess(self.encoding, self.others))
        return data


def decode(data: bytes) -> TextFile | None:
    """The text that `data` is, None when it is not text. Encoding its text again gives `data`.

    What is not valid UTF-8 and has no mark is UTF-16 where every other byte is NUL, UTF-8 all the same where most of
    it is, and else in one of the encodings that were used before Unicode.
    """
    mark, encoding = byte_order_mark(data)
    if not mark:
        sample = data[:SAMPLE_BYTES]
        encoding = unmarked_wide(sample) or encoding
        if encoding == "utf-8" and looks_binary(sample):
            return None
    try:
        return TextFile(data[len(mark) :].decode(encoding), encoding, mark)
    except UnicodeDecodeError:
        if encoding != "utf-8":
            return None
    guess = Guess("utf-8") if mark or is_mostly_utf8(data) else guess_encoding(data)
    if guess.encoding == "utf-8":
        return TextFile(data[len(mark) :].decode("utf-8", "surrogateescape"), mark=mark, has_odd_bytes=True)
    return TextFile(data.decode(guess.encoding), guess.encoding, others=guess.others)


def is_mostly_utf8(data: bytes) -> bool:
    """Whether a text that is not valid UTF-8 is meant as it: beyond ASCII it has no more odd bytes than characters.

    Or more, at most one in a hundred bytes, where each stands alone: texts in other encodings, in which bytes that
    stand together are characters of UTF-8 by chance, have others that stand together and are none.
    """
    text = lines_not_ascii(data, _MOST_JUDGED).decode("utf-8", "surrogateescape")
    odd, not_ascii = odd_bytes_in(text), len(_NOT_ASCII.findall(text))
    if odd <= not_ascii // 2:
        return True
    return odd < not_ascii and odd * _LEAST_BYTES_FOR_ONE <= len(data) and not _ODD_IN_RUN.search(text)


def encoding_note(encoding: str, others: Iterable[str] = (), odd_bytes: int = 0) -> str:
    """What a model should know of an encoding and of bytes that are not of it; '' for plain UTF-8."""
    if odd_bytes:
        which = "1 byte is" if odd_bytes == 1 else f"{odd_bytes} bytes are"
        return f"{which} not UTF-8, shown as an escape of the form \\udcff: kept in what you send, it stays as it is."
    if encoding == "utf-8":
        return ""
    if encoding in _UNICODE:
        return f"Not UTF-8: decoded as {encoding}."
    also = " or ".join(others)
    also = f"; {also} would be about as likely. If words look wrong, ask the user before you edit" if also else ""
    return f"Not UTF-8: decoded as {encoding}, which is a guess{also}."


def with_escapes(text: str) -> str:
    """`text` with each lone surrogate, which UTF-8 does not have, as JSON's escape for it."""
    if text.isascii():
        return text
    return _HALF_PAIR.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def odd_bytes_in(text: str) -> int:
    """How many bytes that are not UTF-8 a decoded text has."""
    return 0 if text.isascii() else len(_ODD.findall(text))


def _with_odd_bytes(text: str, old: str) -> str:
    """`text` with the odd bytes of `old` where it has U+FFFD for them, in lines that are the same or much alike."""
    known: dict[str, list[str]] = {}
    for line in old.split("\n"):
        if _ODD.search(line):
            known.setdefault(_ODD.sub(_REPLACEMENT, line), []).append(line)
    lines = text.split("\n")
    for at, line in enumerate(lines):
        if known.get(line):
            lines[at] = known[line].pop(0)
    for at, line in enumerate(lines):
        if _REPLACEMENT in line and len(line) <= _MAX_ALIKE_CHARS:
            left = [shown for shown, having in known.items() if having and len(shown) <= _MAX_ALIKE_CHARS]
            for shown in difflib.get_close_matches(line, left[:_MAX_ALIKE], 1):
                lines[at] = _aligned(line, shown, known[shown].pop(0))
    return "\n".join(lines)


def _aligned(line: str, shown: str, has: str) -> str:
    """`line` with the characters of `has` where it is the same as `shown`, which is how `has` was shown."""
    parts: list[str] = []
    for tag, start, end, new_start, new_end in difflib.SequenceMatcher(None, shown, line, False).get_opcodes():
        parts.append(has[start:end] if tag == "equal" else line[new_start:new_end])
    return "".join(parts)


def byte_order_mark(data: bytes) -> tuple[bytes, str]:
    """The mark that `data` begins with and the encoding it names; `(b"", "utf-8")` without one."""
    return next(((mark, encoding) for mark, encoding in _MARKS if data.startswith(mark)), (b"", "utf-8"))


def looks_binary(sample: bytes) -> bool:
    """True when the beginning of a file has NUL bytes or many characters that no text has."""
    if not sample:
        return False
    if b"\0" in sample:
        return unmarked_wide(sample) is None
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    if sample.isascii():
        return controls > len(sample) * _MAX_CONTROL_SHARE
    try:
        # The sample may end inside a character.
        text = codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        # Its bytes above 127 say nothing in an encoding that is not known yet.
        return controls > len(sample) * _MAX_LEGACY_CONTROL_SHARE
    return controls + len(_LATE_CONTROLS.findall(text)) > len(text) * _MAX_CONTROL_SHARE


def unmarked_wide(sample: bytes) -> str | None:
    """UTF-16 without a mark, by the NUL bytes that its ASCII characters have; None where it is not that."""
    pairs = len(sample) // 2
    if b"\0" not in sample or pairs < 2:  # noqa: PLR2004 - one character proves nothing
        return None
    even, odd = sample[: pairs * 2 : 2].count(0), sample[1 : pairs * 2 : 2].count(0)
    if max(even, odd) < pairs * _MIN_NULS or min(even, odd) > pairs * _MAX_STRAY_NULS:
        return None
    encoding = "utf-16-le" if odd > even else "utf-16-be"
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(sample)
    except UnicodeDecodeError:
        return None
    controls = sum(ord(char) < ord(" ") and ord(char) not in _HARMLESS_CONTROLS for char in text)
    return encoding if controls <= len(text) * _MAX_LEGACY_CONTROL_SHARE else None


def with_newlines(text: str, newline: str) -> str:
    """`text` with every line ending made `newline`."""
    unix = text.replace("\r\n", "\n")
    return unix if newline == "\n" else unix.replace("\n", newline)


def count_lines(text: str) -> int:
    """How many lines `text` has; the last may lack its line ending."""
    return text.count("\n") + (0 if not text or text.endswith("\n") else 1)
