"""Small images as bytes, made by hand: whole PNGs, and of other formats what their beginning says."""

from __future__ import annotations

import struct
import zlib


def png(width: int = 1, height: int = 1, *, padding: int = 0) -> bytes:
    """A whole PNG, black; `padding` bytes of a chunk that is not shown make it larger."""
    rows = (b"\0" + b"\0" * width) * height if width * height <= 1_000_000 else b""
    return b"".join(
        (
            b"\x89PNG\r\n\x1a\n",
            _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)),
            _chunk(b"prVt", b"\0" * padding) if padding else b"",
            _chunk(b"IDAT", zlib.compress(rows)),
            _chunk(b"IEND", b""),
        )
    )


def gif(width: int, height: int) -> bytes:
    """The beginning of a GIF."""
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\0\0\0;"


def jpeg(width: int, height: int, *, before: bytes = b"") -> bytes:
    """A JPEG up to its frame, behind segments of its camera's."""
    segment = b"\xff\xe1" + struct.pack(">H", len(before) + 2) + before if before else b""
    frame = b"\xff\xc2" + struct.pack(">HBHHB", 11, 8, height, width, 1) + b"\0\0\0"
    return b"\xff\xd8" + segment + b"\xff" + frame + b"\xff\xd9"


def webp(width: int, height: int, kind: bytes = b"VP8 ") -> bytes:
    """The beginning of a WebP of one of its three kinds."""
    match kind:
        case b"VP8 ":
            head = b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", width, height)
        case b"VP8L":
            head = b"\x2f" + ((width - 1) | (height - 1) << 14).to_bytes(4, "little")
        case _:
            head = b"\0\0\0\0" + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    body = b"WEBP" + kind + struct.pack("<I", len(head)) + head
    return b"RIFF" + struct.pack("<I", len(body)) + body


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
