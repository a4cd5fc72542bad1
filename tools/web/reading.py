"""From a response to text for a model: pages and PDFs as Markdown, JSON and plain text as they are."""

from __future__ import annotations

import http
import json

from tools.light_dataclass import dataclass
from tools.ports import Interrupt
from tools.web.markdown import html_to_text
from tools.web.media import content_type, kind_of, text_of
from tools.web.pdf_text import pdf_text
from tools.web.port import WebError, WebResponse

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
