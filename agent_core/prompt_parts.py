"""What a person sent in one prompt, in no protocol's words: a stored session shows it again as it was.

Data is base64 text, as it came.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SaidText:
    """Words."""

    text: str


@dataclass(frozen=True, slots=True)
class SaidImage:
    """A picture. `uri` tells where it is from, '' if that is not known."""

    mime_type: str
    data: str
    uri: str = ""


@dataclass(frozen=True, slots=True)
class SaidAudio:
    """A recording."""

    mime_type: str
    data: str


@dataclass(frozen=True, slots=True)
class SaidLink:
    """A mention of something by its address: a file, a symbol."""

    uri: str
    name: str
    mime_type: str = ""
    title: str = ""
    description: str = ""
    size: int | None = None


@dataclass(frozen=True, slots=True)
class SaidDocument:
    """Something with an address and its content: `text`, or `data` for what is not text; the other is None."""

    uri: str
    text: str | None
    data: str | None = None
    mime_type: str = ""


SaidPart = SaidText | SaidImage | SaidAudio | SaidLink | SaidDocument
