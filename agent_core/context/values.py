"""What in a person's words must not be lost to a summary: addresses, paths, ids, versions, numbers with units."""

from __future__ import annotations

import re
from collections.abc import Iterator

_LONGEST = 120
_LONGEST_TEXT = 30_000
_UNITS = (
    r"(?:ms|µs|ns|s|sec(?:onds?)?|min(?:utes?)?|h|hours?|days?|weeks?|[KMGT]i?B|bytes?|px|%|€|\$|USD|EUR|Hz|[kMG]Hz"
    r"|tokens?|lines?|rows?|times|users?|requests?|retries|workers?|threads?|°C|mm|cm|km|m|kg|g)"
)
# In each, what may begin it is looked for only where no sign of it stands before, and what repeats is bounded: else a
# long text without spaces (base64, Chinese) would be looked through again from each of its signs.
_KINDS = (
    r"https?://[^\s<>\"'`«»)\]]+",
    r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}\.[\w.-]{1,120}(?<=\w)",
    r"`[^`\n]{1,120}`",
    r"«[^»\n]{1,120}»",
    r"\"[^\"\n]{2,80}\"",
    r"(?<![\w/])(?:~|\.{1,2})?(?:/[\w.@+~-]+)+/?",
    r"(?<![\w/.@+-])(?:[\w.@+-]+/)+[\w.@+-]+",
    r"(?<![\w-])[\w-]+\.(?:[a-z]{1,4}|json|yaml|toml|lock|[a-z]\w{1,3})\b",
    r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b",
    r"\b(?=[0-9a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,64}\b",
    r"\b[A-Z][A-Z0-9]{1,9}-\d+\b",
    r"(?<!\w)#\d+\b",
    r"\bv?\d+(?:\.\d+){1,4}(?:-[\w.]+)?(?:\s?" + _UNITS + r"(?!\w))?",
    r"\b(?<!\d,)\d[\d,_]*\s?" + _UNITS + r"(?!\w)",
    r"(?<![\w.-])[A-Za-z_][\w.-]{0,80}\s?[=:]\s?[\w./:-]{0,80}\d[\w./:-]{0,80}",
    r"\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b",
    r"\b\d{3,}\b",
)
_VALUE = re.compile("|".join(_KINDS))


def values_in(text: str) -> Iterator[str]:
    """The values in `text`, in order; of a very long text those of its two ends."""
    if len(text) > _LONGEST_TEXT:
        half = _LONGEST_TEXT // 2
        text = f"{text[:half]}\n{text[-half:]}"
    for found in _VALUE.finditer(text):
        value = " ".join(found[0].split()).rstrip(".,;:")
        if 1 < len(value) <= _LONGEST:
            yield value
