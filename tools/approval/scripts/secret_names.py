"""Texts in scripts that name a place of secrets."""

from __future__ import annotations

import re
from pathlib import Path

from tools.approval.sensitive import why_sensitive

_MAX_PATH = 200
_SECRET = re.compile(r"/proc/[^/]+/environ|/etc/g?shadow|/run/secrets")
# Skipped by many scripts, and named by none that reads passwords.
_OFTEN_SKIPPED = re.compile(r"(?:^|/)\.(?:git|docker)(?:/|$)")


def names_secret(text: str) -> bool:
    """Whether a text of a script is the path of something secret."""
    if not text or len(text) > _MAX_PATH or re.search(r"[\s\0]", text):
        return False
    return bool(_SECRET.search(text)) or (bool(why_sensitive(Path(text))) and not _OFTEN_SKIPPED.search(text))
