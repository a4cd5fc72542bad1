"""What an image is, by its own bytes: format and size in pixels; and whether it can be sent to a model.

Nothing is decoded and nothing is re-encoded. The limits are the strictest of the big providers', so that an image in
the history never makes a later request fail: platform.claude.com/docs/en/build-with-claude/vision (5 MB as base64
text, 8,000 pixels a side), and the four formats that all of them take.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from tools.light_dataclass import dataclass

MAX_IMAGE_BYTES = 5 * 1024 * 1024 // 4 * 3
"""Bytes of one image; as base64 text they are 5 MiB."""

MAX_SIDE = 8000
"""Pixels of its longer side."""

_OTHERS = (
    (b"BM", "BMP"),
    (b"II*\0", "TIFF"),
    (b"MM\0*", "TIFF"),
    (b"\0\0\1\0", "ICO"),
    (b"%PDF-", "PDF"),
    (b"8BPS", "PSD"),
)
_BRANDS = {b"heic": "HEIC", b"heix": "HEIC", b"mif1": "HEIF", b"avif": "AVIF", b"avis": "AVIF"}
_NO_SIZE_MARKERS = frozenset({0x01, *range(0xD0, 0xDA)})
_FRAME_MARKERS = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_SMALLER = "Make it smaller first, as with `magick IN -resize 2000x2000 OUT.png`, and use that file."


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """What an image is. `mime_type` as image/png; `width` and `height` in pixels, 0 where they are not found."""

    mime_type: str
    width: int = 0
    height: int = 0

    @property
    def format(self) -> str:
        """The format's name, as PNG."""
        return self.mime_type.removeprefix("image/").upper()

    def __str__(self) -> str:
        return f"{self.format}, {self.width}×{self.height} pixels" if self.width else self.format


def image_facts(data: bytes) -> ImageFacts | None:
    """What the bytes of a PNG, JPEG, GIF or WebP begin with say; None for anything else.

    Args:
        data: the image, or its beginning: 64 KiB nearly always tell.
    """
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return ImageFacts("image/png", *_numbers(">II", data, 16))
    if data[:6] in {b"GIF87a", b"GIF89a"}:
        return ImageFacts("image/gif", *_numbers("<HH", data, 6))
    if data.startswith(b"\xff\xd8\xff"):
        return ImageFacts("image/jpeg", *_jpeg_size(data))
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return ImageFacts("image/webp", *_webp_size(data))
    return None


def other_format(data: bytes) -> str:
    """The name of a format that models take no images in, as TIFF or SVG; '' if it is none that is known."""
    if data[4:8] == b"ftyp":
        return _BRANDS.get(data[8:12], "")
    if known := next((name for start, name in _OTHERS if data.startswith(start)), ""):
        return known
    head = data[:1024].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return "SVG" if head.startswith(b"<svg") or (head.startswith(b"<?xml") and b"<svg" in head) else ""


def refusal(facts: ImageFacts, size: int) -> str:
    """Why an image of `size` bytes cannot be sent to a model, and what to do; '' if it can.

    The sentence goes on after the image's name.
    """
    if size > MAX_IMAGE_BYTES:
        return f"has {size / 1e6:.1f} MB; models take images of {MAX_IMAGE_BYTES / 1e6:.1f} MB at most. {_SMALLER}"
    if max(facts.width, facts.height) > MAX_SIDE:
        return f"has {facts.width}×{facts.height} pixels; models take {MAX_SIDE} a side at most. {_SMALLER}"
    return ""


def _numbers(form: str, data: bytes, offset: int) -> tuple[int, int]:
    """Two numbers at `offset`; zeros where the data ends before."""
    try:
        first, second = struct.unpack_from(form, data, offset)
    except struct.error:
        return 0, 0
    return int(first), int(second)


def _jpeg_size(data: bytes) -> tuple[int, int]:
    for marker, at in _jpeg_segments(data):
        if marker in _FRAME_MARKERS:
            height, width = _numbers(">HH", data, at + 3)
            return width, height
    return 0, 0


def _jpeg_segments(data: bytes) -> Iterator[tuple[int, int]]:
    """The markers before the picture itself, each with the place of its segment."""
    at = 2
    while at + 4 <= len(data) and data[at] == 0xFF:  # noqa: PLR2004 - what begins a marker
        marker = data[at + 1]
        if marker == 0xFF:  # noqa: PLR2004 - padding
            at += 1
        elif marker in _NO_SIZE_MARKERS:
            at += 2
        else:
            yield marker, at + 2
            at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")


def _webp_size(data: bytes) -> tuple[int, int]:
    match data[12:16]:
        case b"VP8 ":
            width, height = _numbers("<HH", data, 26)
            return width & 0x3FFF, height & 0x3FFF
        case b"VP8L" if len(data) >= 25:  # noqa: PLR2004 - five bytes of its header
            bits = int.from_bytes(data[21:25], "little")
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X" if len(data) >= 30:  # noqa: PLR2004 - the end of its header
            return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    return 0, 0
