"""What a response holds, by its content type and its first bytes, and its text in the right encoding."""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from typing import Literal

from tools.text.encoding import is_mostly_utf8
from tools.text.legacy import guess_encoding

Kind = Literal["html", "markdown", "json", "text", "pdf", "binary"]

_HEAD = 2048
_NOT_OF_PAGES = frozenset({"idna", "punycode", "unicode-escape", "raw-unicode-escape", "utf-7", "mbcs", "oem"})
_CHARSET = re.compile(r""";\s*charset\s*=\s*["']?([^\s"';]{1,40})""", re.IGNORECASE)
_META_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]{1,40})""", re.IGNORECASE)
_XML_CHARSET = re.compile(rb"""^\s*<\?xml[^>]{0,100}?encoding\s*=\s*["']([\w.:-]{1,40})""")
_TAG = re.compile(rb"<(?:!doctype\s+html|html|head|body)[\s>]", re.IGNORECASE)
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_TEXT_TYPES = frozenset(
    {
        "application/javascript",
        "application/x-javascript",
        "application/ecmascript",
        "application/xml",
        "application/yaml",
        "application/x-yaml",
        "application/toml",
        "application/sql",
        "application/graphql",
        "application/x-sh",
        "application/rtf",
        "application/x-ndjson",
        "image/svg+xml",
    }
)
_UNTOLD = frozenset({"", "application/octet-stream", "binary/octet-stream", "text/plain"})
# Control characters that no text has; form feed and escape it may.
_BINARY = bytes(set(range(0x20)) - set(b"\t\n\r\f\x1b\b"))


def content_type(headers: Mapping[str, str]) -> tuple[str, str]:
    """The media type in lower case and the charset that a `content-type` header tells; '' for what it does not."""
    told = headers.get("content-type", "")
    media_type = told.partition(";")[0].strip().lower()
    found = _CHARSET.search(told)
    return media_type if "/" in media_type else "", found[1].lower() if found else ""


def kind_of(media_type: str, body: bytes) -> Kind:
    """What the body is. A type that says little, or that servers give to everything, is checked against the bytes."""
    if body.startswith(b"%PDF-"):
        return "pdf"
    if media_type in _UNTOLD:
        return _sniffed(body)
    if media_type in {"text/html", "application/xhtml+xml"}:
        return "html"
    if media_type in {"text/markdown", "text/x-markdown"}:
        return "markdown"
    if media_type == "application/json" or media_type.endswith("+json"):
        return "json"
    is_text = media_type.startswith("text/") or media_type in _TEXT_TYPES or media_type.endswith(("+xml", "+yaml"))
    return "text" if is_text and not _looks_binary(body) else "binary"


def text_of(body: bytes, charset: str) -> str:
    """The body as text: by its byte order mark, else by what the header says, else by what it says of itself."""
    for mark, encoding in _MARKS:
        if body.startswith(mark):
            return body.decode("utf-8-sig" if encoding == "utf-8" else encoding, "replace")
    told = _known(charset) or _told(body[:_HEAD])
    try:
        return body.decode(told or "utf-8")
    except UnicodeDecodeError:
        return _otherwise(body, told)


def _otherwise(body: bytes, told: str) -> str:
    """Not what it says it is, or it says nothing: UTF-8 if it can be, else with marks where a byte is wrong."""
    if told and told != "utf-8":
        try:
            return body.decode("utf-8")
        except UnicodeDecodeError:
            return body.decode(told, "replace")
    if told:
        return body.decode("utf-8", "replace")
    return body.decode("utf-8" if is_mostly_utf8(body) else guess_encoding(body).encoding, "replace")


def _told(head: bytes) -> str:
    found = _META_CHARSET.search(head) or _XML_CHARSET.search(head)
    name = _known(found[1].decode("ascii")) if found else ""
    # It was read as ASCII to find this, so it cannot be so.
    return "utf-8" if name.startswith(("utf-16", "utf-32")) else name


def _known(name: str) -> str:
    try:
        found = codecs.lookup(name.strip().strip("'\"")).name if name else ""
    except (LookupError, ValueError):
        return ""
    # As browsers have it: pages that say Latin-1 mean Windows' variant of it.
    found = "cp1252" if found in {"iso8859-1", "ascii"} else found
    try:
        "x".encode(found or "ascii")
    except (LookupError, ValueError):  # base64 and its like are codecs, but none of text
        return ""
    return "" if found in _NOT_OF_PAGES else found


def _sniffed(body: bytes) -> Kind:
    head = body[:_HEAD]
    if _TAG.search(head):
        return "html"
    if any(head.startswith(mark) for mark, _ in _MARKS):
        return "text"
    if _looks_binary(body):
        return "binary"
    return "json" if head.lstrip()[:1] in {b"{", b"["} else "text"


def _looks_binary(body: bytes) -> bool:
    if any(body.startswith(mark) for mark, _ in _MARKS):
        return False
    head = body[:_HEAD]
    return b"\0" in head or len(head.translate(None, _BINARY)) < len(head) * 0.97
