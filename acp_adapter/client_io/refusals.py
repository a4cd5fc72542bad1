"""What it means that an editor answers a write with an error: it cannot do that, or the file is not to be changed.

Most editors have one code for everything, so their words count too. Whoever is not sure has heard a no.
"""

from __future__ import annotations

import re

from acp_adapter.editor_calls import EditorRefused

# JSON-RPC's own codes and ACP's «resource not found»; 0 is ours for an answer that is no object.
_UNABLE = frozenset({-32700, -32600, -32601, -32602, -32603, -32002, 0})
# A file that is not the editor's business is not one that it protects.
_NOT_ITS_OWN = re.compile(r"outside|not (?:in|inside|within|part of|below|under) |not found|no such", re.IGNORECASE)
_NO = re.compile(
    r"read[- _]?only|permission|e(?:acces|perm|rofs)\b|denied|den(?:y|ies)|reject|refus|declin|forbid|disallow"
    r"|(?:not|n't) (?:be )?(?:allow|permit|writable|edit|modif)|protect|\block|cancel|abort"
    r"|conflict|unsaved|dirty|changed|modified",
    re.IGNORECASE,
)
_MOST_CHARS = 300


def means_no(refusal: EditorRefused) -> bool:
    """Whether the file must not be written at all, in whatever way."""
    if refusal.code not in _UNABLE:
        return True
    return _NO.search(refusal.text) is not None and _NOT_ITS_OWN.search(refusal.text) is None


def in_its_words(refusal: EditorRefused) -> str:
    """The error as the editor told it, on one line and bounded: «buffer is read-only» (-32603)."""
    text = " ".join(refusal.text.split())
    told = text if len(text) <= _MOST_CHARS else f"{text[:_MOST_CHARS]}…"
    return f"«{told}» ({refusal.code})"
