"""JSON by pydantic's core, which takes a third of the standard library's time.

The core is used once somebody has loaded it: that takes longer than all the JSON before the first prompt.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

_HALF_PAIR = re.compile("[\ud800-\udfff]")
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def loads(text: str | bytes) -> Any:
    """What `json.loads` makes of it; its errors too."""
    read = getattr(sys.modules.get("pydantic_core"), "from_json", None)
    if read is not None:
        try:
            return read(text, cache_strings="keys")
        except ValueError:
            pass  # the core is stricter: half of a surrogate pair, 200 levels
    return json.loads(text)


def dumps(value: Any) -> bytes:
    """A JSON value's text in UTF-8, without white space.

    Raises:
        ValueError: half of a surrogate pair has no UTF-8. NaN and infinities raise it too, or are null.
    """
    write = getattr(sys.modules.get("pydantic_core"), "to_json", None)
    if write is not None:
        text: bytes = write(value, inf_nan_mode="null")
        return text
    return _ENCODER.encode(value).encode()


def whole_text(text: str) -> str:
    """`text` with halves of surrogate pairs that follow each other joined, and U+FFFD for each that stands alone."""
    if text.isascii() or not _HALF_PAIR.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
