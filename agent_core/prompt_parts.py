"""What a person sent in one prompt, in no protocol's words: a stored session shows it again as it was.

Data is base64 text, as it came.
"""

from __future__ import annotations

import re

from tools.light_dataclass import dataclass

_WAV = frozenset({"wav", "wave", "vnd.wave"})
_MP3 = frozenset({"mp3", "mpeg", "mpeg3"})
_NOT_IN_FORMATS = re.compile(r"[^a-z0-9.+-]")
_LONGEST_FORMAT = 32


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


def audio_format(mime_type: str) -> str:
    """The short name of a recording's format, as model servers know it: `wav`, `mp3`, else what the type says."""
    kind = mime_type.partition(";")[0].strip().lower().removeprefix("audio/").removeprefix("x-")
    if kind in _WAV:
        return "wav"
    return "mp3" if kind in _MP3 else _NOT_IN_FORMATS.sub("", kind)[:_LONGEST_FORMAT] or "unknown"


def audio_mime(name: str) -> str:
    """The media type of a recording's format."""
    return "audio/mpeg" if name == "mp3" else f"audio/{name}"
