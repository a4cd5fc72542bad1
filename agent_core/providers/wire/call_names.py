"""Ids and names of tool calls as strict servers take them, whichever server made them.

A conversation goes from model to model; each has rules of its own for what another one has put into it.
"""

from __future__ import annotations

import hashlib
import re

_USUAL_ID = re.compile(r"[a-zA-Z0-9_.:-]{1,40}")
_NINE = re.compile(r"[a-zA-Z0-9]{9}")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_NAME = 64
_KEPT, _DIGEST = 24, 12


def usual_id(call_id: str) -> str:
    """`call_id`, or, where it is longer than the 40 characters that OpenAI takes or odd, one that stands for it."""
    if _USUAL_ID.fullmatch(call_id):
        return call_id
    return f"{_NOT_IN_NAMES.sub('_', call_id)[:_KEPT]}_{_digest(call_id)}"


def id_of_nine(call_id: str) -> str:
    """`call_id` as Mistral wants it: nine letters and digits (its error 3280 says so)."""
    return call_id if _NINE.fullmatch(call_id) else _digest(call_id)[:9]


def fitting_name(name: str) -> str:
    """A tool's name in the characters that every server takes; a model may have made up another."""
    return name if _NAME.fullmatch(name) else _NOT_IN_NAMES.sub("_", name)[:_LONGEST_NAME] or "_"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
