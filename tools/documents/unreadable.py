"""The error of a document that has no text for us."""

from __future__ import annotations


class Unreadable(Exception):
    """The document cannot be read; the message says why, as what follows «it cannot be read: »."""
