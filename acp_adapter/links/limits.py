"""How much of what a prompt links to is read."""

from __future__ import annotations

from tools.light_dataclass import dataclass

MIB = 1024 * 1024

MAX_ATTACHMENT = 32 * MIB
"""Bytes of one image, document or recording."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of one prompt's links.

    Attributes:
        places: different files and directories that are looked at.
        text, all_text: characters of one text and of all, line numbers included.
        attachment, all_attachments: bytes of one image or document and of all.
        names: of one directory.
    """

    places: int = 20
    text: int = 64 * 1024
    all_text: int = 256 * 1024
    attachment: int = MAX_ATTACHMENT
    all_attachments: int = 64 * MIB
    names: int = 200
