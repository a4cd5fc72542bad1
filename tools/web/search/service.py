"""One search service that speaks JSON over HTTP: what is sent to it, and what comes back."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tools.light_dataclass import dataclass
from tools.ports import Interrupt
from tools.web.port import SearchHit, Web, WebError, WebRequest, WebResponse

_MAX_SNIPPET = 500
_MAX_REASON = 200
_MAX_BYTES = 4 * 1024 * 1024
_TAGS = re.compile(r"<[^>]{1,80}>")
_UNAUTHORISED = frozenset({401, 403})
_OUT_OF_QUOTA = frozenset({402, 432, 433})
_TOO_MANY = 429
_SERVER_FAULT = 500
_OK = 200


@dataclass(frozen=True, slots=True)
class Service:
    """A search service.

    Attributes:
        name: as settings call it; `title` is what people call it.
        request: what is sent for a query and a number of results.
        results: the entries in the answer's JSON.
        snippet: the text of an entry.
        variable: the environment variable with its key or address.
        forbidden: what a 403 means, where it is not the key.
    """

    name: str
    title: str
    request: Callable[[str, int], WebRequest]
    results: Callable[[Mapping[str, Any]], object]
    snippet: Callable[[Mapping[str, Any]], object]
    variable: str
    forbidden: str = ""

    def search(self, web: Web, query: str, limit: int, timeout: float, interrupt: Interrupt) -> Sequence[SearchHit]:
        """At most `limit` results; `timeout` in seconds.

        Raises:
            WebError: it did not answer, or not with results. Denied, ToolInterrupted.
        """
        response = web.fetch(self._request(query, limit, timeout), interrupt)
        if response.status != _OK:
            raise WebError(self._refused(response), "answer")
        try:
            entries = self.results(json.loads(response.body))
            found = [_hit(entry, self.snippet(entry)) for entry in entries] if isinstance(entries, list) else []
        except (ValueError, KeyError, TypeError, AttributeError) as problem:
            raise WebError(
                f"{self.title} answered, but not with results in its known form ({type(problem).__name__}). Try "
                "another search backend.",
                "answer",
            ) from problem
        return [hit for hit in found if hit.url][:limit]

    def _request(self, query: str, limit: int, timeout: float) -> WebRequest:
        asked = self.request(query, limit)
        return WebRequest(
            asked.url,
            method=asked.method,
            headers={"Accept": "application/json", **asked.headers},
            body=asked.body,
            max_redirects=0,
            max_bytes=_MAX_BYTES,
            timeout=timeout,
            service=self.title,
            query=query,
        )

    def _refused(self, response: WebResponse) -> str:
        status, reason = response.status, _reason(response.body)
        told = f"{self.title} answered with HTTP {status}{f' ({reason})' if reason else ''}."
        if status == _TOO_MANY:
            after = response.headers.get("retry-after", "")
            wait = f"in {after} seconds" if after.isdigit() else "in a minute"
            return f"{told} Too many searches: try again {wait}."
        if status in _OUT_OF_QUOTA:
            return f"{told} The plan's searches are used up: the user has to look at the account."
        if status in _UNAUTHORISED or "TOKEN_INVALID" in reason:
            return f"{told} {self.forbidden or f'The key is not accepted: the user has to check {self.variable}.'}"
        if status >= _SERVER_FAULT:
            return f"{told} The service has a fault of its own: try again later."
        return f"{told} Use fewer or simpler words; if that fails too, the user has to check {self.variable}."


def _hit(entry: Mapping[str, Any], snippet: object) -> SearchHit:
    return SearchHit(_plain(entry.get("title")), str(entry.get("url") or ""), _plain(snippet)[:_MAX_SNIPPET])


def _plain(value: object) -> str:
    """One line of text without marks: services highlight the words that they found."""
    text = " … ".join(map(str, value)) if isinstance(value, list) else str(value or "")
    return " ".join(html.unescape(_TAGS.sub("", text)).split())


def _reason(body: bytes) -> str:
    try:
        value = json.loads(body)
    except ValueError:
        return ""
    for key in ("error", "detail", "message", "code", "error_message"):
        while isinstance(value, dict) and key in value:
            value = value[key]
    if isinstance(value, dict | list):
        return ""
    return " ".join(str(value).split())[:_MAX_REASON]
