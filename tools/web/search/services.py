"""The search services with a documented HTTP interface: Brave, Tavily, Exa, SearXNG."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from tools.web.port import WebRequest
from tools.web.search.service import Service
from tools.web.settings import SearchKeys

_SNIPPET_CHARS = 400
_MOST_OF_BRAVE = 20


def configured(keys: SearchKeys) -> Sequence[Service]:
    """The services that the user has set up, in the order in which they are preferred."""
    found = (
        (keys.brave, _brave),
        (keys.tavily, _tavily),
        (keys.exa, _exa),
        (keys.searxng_url, _searxng),
    )
    return [make(keys) for value, make in found if value]


def _brave(keys: SearchKeys) -> Service:
    """https://api-dashboard.search.brave.com/app/documentation/web-search."""

    def request(query: str, limit: int) -> WebRequest:
        asked = {"q": query, "count": min(limit, _MOST_OF_BRAVE), "text_decorations": "false"}
        return WebRequest(f"{keys.brave_url}?{urlencode(asked)}", headers={"X-Subscription-Token": keys.brave})

    def results(answer: Mapping[str, Any]) -> object:
        return answer["web"]["results"] if "web" in answer else []

    return Service("brave", "Brave Search", request, results, lambda entry: entry.get("description"), "BRAVE_API_KEY")


def _tavily(keys: SearchKeys) -> Service:
    """https://docs.tavily.com/documentation/api-reference/endpoint/search."""

    def request(query: str, limit: int) -> WebRequest:
        asked = {"query": query, "max_results": limit, "search_depth": "basic"}
        return _posted(keys.tavily_url, asked, {"Authorization": f"Bearer {keys.tavily}"})

    return Service("tavily", "Tavily", request, _results, lambda entry: entry.get("content"), "TAVILY_API_KEY")


def _exa(keys: SearchKeys) -> Service:
    """https://docs.exa.ai/reference/search."""

    def request(query: str, limit: int) -> WebRequest:
        contents = {"text": {"maxCharacters": _SNIPPET_CHARS}}
        asked = {"query": query, "numResults": limit, "contents": contents}
        return _posted(keys.exa_url, asked, {"x-api-key": keys.exa})

    def snippet(entry: Mapping[str, Any]) -> object:
        return entry.get("highlights") or entry.get("summary") or entry.get("text")

    return Service("exa", "Exa", request, _results, snippet, "EXA_API_KEY")


def _searxng(keys: SearchKeys) -> Service:
    """https://docs.searxng.org/dev/search_api.html."""

    def request(query: str, limit: int) -> WebRequest:  # noqa: ARG001 - it has pages of a fixed length
        return WebRequest(f"{keys.searxng_url}/search?{urlencode({'q': query, 'format': 'json'})}")

    return Service(
        "searxng",
        "SearXNG",
        request,
        _results,
        lambda entry: entry.get("content"),
        "SEARXNG_URL",
        "This instance does not give results as JSON: `json` has to be among `search.formats` in its settings.yml.",
    )


def _results(answer: Mapping[str, Any]) -> object:
    return answer["results"]


def _posted(url: str, body: Mapping[str, Any], headers: Mapping[str, str]) -> WebRequest:
    content = json.dumps(body).encode()
    return WebRequest(url, method="POST", headers={"Content-Type": "application/json", **headers}, body=content)
