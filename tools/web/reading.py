"""A response as text: its media type, HTML and PDF, cut to what fits."""

from __future__ import annotations

import codecs
import http
import importlib.util
import io
import json
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tools.environments.output import save_text
from tools.errors import ToolInterrupted, install_line
from tools.light_dataclass import dataclass
from tools.ports import Interrupt, WebError, WebResponse
from tools.result import SavedOutput
from tools.text.encoding import guess_encoding, is_mostly_utf8
from tools.web import can_read_html

if TYPE_CHECKING:
    from pypdf import PdfReader


# What a response holds, by its content type and its first bytes, and its text in the right encoding.

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


# A PDF's text, page by page. Imported only where the library is installed.

_MAX_SECONDS = 20.0
_MAX_CHARS = 2_000_000


def pdf_text(body: bytes, interrupt: Interrupt, max_seconds: float = _MAX_SECONDS) -> str:
    """The text with a mark before each page; what takes too long ends with a note.

    Raises:
        WebError: the library is missing, or the file is damaged, locked or holds no text. ToolInterrupted.
    """
    if importlib.util.find_spec("pypdf") is None:
        raise WebError(
            "This is a PDF, and the library that reads it is missing. The user can install it: "
            f"{install_line('web')}",
            "answer",
        )
    import pypdf  # noqa: PLC0415 - an extra, and heavy

    try:
        reader = pypdf.PdfReader(io.BytesIO(body))
        locked = reader.is_encrypted and not reader.decrypt("")
        parts = [] if locked else _pages(reader, interrupt, time.monotonic() + max_seconds)
    except (ToolInterrupted, WebError):
        raise
    except Exception as problem:
        # The library lets slip whatever a damaged or unusual file makes its own code raise.
        raise WebError(f"This PDF cannot be read: {type(problem).__name__}: {problem}.", "answer") from problem
    if locked:
        raise WebError("This PDF is locked with a password: nothing can be read of it.", "answer")
    if not parts:
        raise WebError("This PDF holds no text, only images of it: look for another form of it.", "answer")
    return "\n\n".join(parts)


def _pages(reader: PdfReader, interrupt: Interrupt, end: float) -> list[str]:
    pages = reader.pages
    total, size = len(pages), 0
    parts: list[str] = []
    for number in range(total):
        if interrupt.is_set():
            raise ToolInterrupted
        if time.monotonic() > end or size > _MAX_CHARS:
            parts.append(f"[… {total - number} more pages were not read …]")
            break
        text = pages[number].extract_text().strip()
        if text:
            parts.append(f"[page {number + 1} of {total}]\n{text}")
            size += len(text)
    return parts


# HTML as Markdown: `page_cleaning` finds what the page is about, a library writes it. Imported only when needed.

_GAPS = re.compile(r"\n{3,}")
_FENCE = re.compile(r"^ *(`{3,}|~{3,}).*?^ *\1`*~* *$", re.MULTILINE | re.DOTALL)


def html_to_text(text: str, url: str) -> tuple[str, str]:
    """Title and Markdown of a page; `url` is where its relative links begin.

    Raises:
        WebError: the libraries are missing, or the page cannot be read.
    """
    if not can_read_html():
        raise WebError(
            "This is an HTML page, and the libraries that read it are missing. The user can install them: "
            f"{install_line('web')}",
            "answer",
        )
    import html_to_markdown  # noqa: PLC0415 - an extra

    from tools.web.page_cleaning import clean  # noqa: PLC0415 - needs lxml

    try:
        title, main = clean(text, url)
        options = html_to_markdown.ConversionOptions(
            extract_metadata=False, skip_images=True, compact_tables=True, expand_abbreviations=False, autolinks=False
        )
        converted = html_to_markdown.convert(main, options).content
    except (ValueError, RecursionError, html_to_markdown.ConversionError) as problem:
        raise WebError(f"The page cannot be read as HTML: {problem}.", "answer") from problem
    return title, _tightened(converted or "")


def _tightened(markdown: str) -> str:
    """Without blank lines that say nothing, but for those in code."""
    parts, end = [], 0
    for fence in _FENCE.finditer(markdown):
        parts += [_GAPS.sub("\n\n", markdown[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, _GAPS.sub("\n\n", markdown[end:])]).strip()


# From a response to text for a model: pages and PDFs as Markdown, JSON and plain text as they are.

_OK = range(200, 300)
_ADVICE = {
    401: "it asks for a sign-in; look for a public source",
    403: "it does not let programs in, or asks for a sign-in; look for another source",
    404: "there is no such page; check the address, or find it with web_search",
    410: "the page is gone; look for another source",
    429: "it was asked too often; try again later, or another source",
}
_LONGEST_LINE = 2_000


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read. `url` is where it came from in the end; `title` is '' where it has none."""

    url: str
    title: str
    text: str


def read(response: WebResponse, interrupt: Interrupt) -> Reading:
    """Read a response.

    Raises:
        WebError: it is an error page, or nothing that can be shown as text. ToolInterrupted.
    """
    if response.status not in _OK:
        raise WebError(_refused(response), "answer")
    media_type, charset = content_type(response.headers)
    kind = kind_of(media_type, response.body)
    match kind:
        case "binary":
            size = len(response.body)
            raise WebError(
                f"{response.url} is no text, but {media_type or 'something binary'} ({size:,} bytes). If you need "
                "the file itself, download it with the terminal (curl -o).",
                "answer",
            )
        case "pdf":
            return Reading(response.url, "", pdf_text(response.body, interrupt))
    text = text_of(response.body, charset)
    if kind == "html":
        title, text = html_to_text(text, response.url)
        if not text:
            raise WebError(
                f"{response.url} holds no text: scripts make this page in a browser. Look for another form of it "
                "(its API, its repository, a raw file).",
                "answer",
            )
        return Reading(response.url, title, text)
    return Reading(response.url, "", _unfolded(text) if kind == "json" else text)


def _refused(response: WebResponse) -> str:
    status = response.status
    try:
        name = f" {http.HTTPStatus(status).phrase}"
    except ValueError:
        name = ""
    otherwise = (
        "it has a fault of its own; try again later" if status >= http.HTTPStatus.INTERNAL_SERVER_ERROR else ""
    )
    advice = _ADVICE.get(status) or otherwise or "look for another source"
    return f"{response.url} answered with HTTP {status}{name}: {advice}."


def _unfolded(text: str) -> str:
    """JSON that is all on one line is written over many, so that pages of it can be read."""
    if any(len(line) > _LONGEST_LINE for line in text.splitlines()):
        try:
            return json.dumps(json.loads(text), ensure_ascii=False, indent=1)
        except (ValueError, RecursionError):
            return text
    return text


# What a page is cut to for the model; all of a longer one goes into a file that can be read on.

MAX_SAVED_CHARS = 2_000_000


@dataclass(frozen=True, slots=True)
class Cut:
    """The beginning of a text.

    Attributes:
        next_line: the first line (from 1) that is not in it; None where all is.
        saved: the file with all of it; None where nothing could be saved.
    """

    text: str
    next_line: int | None = None
    saved: SavedOutput | None = None


def cut(text: str, limit: int, path: Path | None) -> Cut:
    """The first `limit` characters at most, whole lines of it; the file `path` gets all of a longer text."""
    if len(text) <= limit:
        return Cut(text)
    end = text.rfind("\n", 0, limit + 1)
    # One line longer than everything else is cut where it must be.
    end = limit if end < limit // 2 else end
    head = text[:end]
    saved = None if path is None else save_text(text[:MAX_SAVED_CHARS], path)
    return Cut(head, head.count("\n") + (2 if text[end : end + 1] == "\n" else 1), saved)


def file_for(path: Path | None, number: int) -> Path | None:
    """The file for the `number`-th page of a call, beside that of the call."""
    return path if path is None or number == 1 else path.with_name(f"{path.stem}-{number}{path.suffix}")
