"""`web_search` against loopback servers that speak each service's own format."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.support.tool_context import ScriptedApprover, call, error_of, payload
from tests.support.web_server import Answer, Exchange, WebBench, WebServer, typed
from tools.approval.actions import SearchWeb
from tools.errors import ToolInterrupted
from tools.registry import registry
from tools.settings import SearchKeys, WebSettings
from tools.toolsets import load_builtin_tools
from tools.web_search import can_search

HIT = {"title": "A guide", "url": "https://docs.example.org/a", "snippet": "How to do it & more."}
BRAVE = {
    "type": "search",
    "query": {"original": "how"},
    "web": {
        "type": "search",
        "results": [
            {"title": "A <strong>guide</strong>", "url": HIT["url"], "description": "How to <b>do</b> it &amp; more."}
        ],
    },
}
TAVILY = {
    "query": "how",
    "answer": None,
    "images": [],
    "results": [
        {"title": "A guide", "url": HIT["url"], "content": "How to do it & more.", "score": 0.9, "raw_content": None}
    ],
    "response_time": 0.6,
}
EXA = {
    "requestId": "b5",
    "resolvedSearchType": "neural",
    "results": [
        {"id": HIT["url"], "title": "A guide", "url": HIT["url"], "text": "How to do\nit & more.", "author": None}
    ],
    "costDollars": {"total": 0.005},
}
SEARXNG = {
    "query": "how",
    "number_of_results": 0,
    "results": [{"url": HIT["url"], "title": "A guide", "content": "How to do it & more.", "engine": "duckduckgo"}],
    "answers": [],
    "suggestions": [],
    "unresponsive_engines": [],
}
SERVICES: Mapping[str, Mapping[str, Any]] = {"brave": BRAVE, "tavily": TAVILY, "exa": EXA, "searxng": SEARXNG}
PATHS = {"brave": "/res/v1/web/search", "tavily": "/search", "exa": "/search", "searxng": "/search"}


def bench_for(name: str, server: WebServer) -> WebBench:
    keys = {
        "brave": SearchKeys(brave="key-1", brave_url=server.url(PATHS["brave"])),
        "tavily": SearchKeys(tavily="key-1", tavily_url=server.url("/search")),
        "exa": SearchKeys(exa="key-1", exa_url=server.url("/search")),
        "searxng": SearchKeys(searxng_url=server.url("")),
    }
    return WebBench(WebSettings(keys=keys[name]), ScriptedApprover())


def serving(name: str, answer: Answer) -> WebServer:
    return WebServer({PATHS[name]: answer})


@pytest.mark.parametrize("name", SERVICES)
def test_each_service_is_asked_in_its_own_way_and_understood(name: str, tmp_path: Path) -> None:
    with serving(name, typed(json.dumps(SERVICES[name]).encode(), "application/json")) as server:
        bench = bench_for(name, server)
        told = payload(call(bench.context(tmp_path), "web_search", query=" how\nto ", limit=3))
    assert (told["results"], told["backend"]) == ([HIT], name)
    assert "not instructions" in told["note"]
    [request] = server.requests
    asked = parse_qs(urlsplit(request.path).query)
    match name:
        case "brave":
            assert (asked["q"], asked["count"], request.headers["X-Subscription-Token"]) == (
                ["how to"],
                ["3"],
                "key-1",
            )
        case "searxng":
            assert (asked["q"], asked["format"]) == (["how to"], ["json"])
        case "tavily":
            assert request.headers["Authorization"] == "Bearer key-1"
            assert json.loads(request.body) == {"query": "how to", "max_results": 3, "search_depth": "basic"}
        case "exa":
            assert request.headers["x-api-key"] == "key-1"
            assert json.loads(request.body)["numResults"] == 3


def test_the_person_is_asked_which_service_gets_which_words(tmp_path: Path) -> None:
    with serving("tavily", typed(json.dumps(TAVILY).encode(), "application/json")) as server:
        bench = bench_for("tavily", server)
        call(bench.context(tmp_path), "web_search", query="how")
        assert bench.approver.asked == [SearchWeb("Tavily", "how")]  # type: ignore[attr-defined]
        denied = replace(bench, approver=ScriptedApprover("reject_once"))
        assert "Denied" in error_of(call(denied.context(tmp_path), "web_search", query="how"))
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("name", "status", "body", "told"),
    [
        (
            "brave",
            429,
            b'{"error":{"code":"RATE_LIMITED","detail":"too fast"}}',
            "Too many searches: try again in 7 seconds",
        ),
        ("brave", 422, b'{"error":{"code":"SUBSCRIPTION_TOKEN_INVALID"}}', "check BRAVE_API_KEY"),
        ("tavily", 401, b'{"detail":{"error":"Unauthorized: missing or invalid API key."}}', "check TAVILY_API_KEY"),
        ("tavily", 432, b'{"detail":{"error":"plan limit"}}', "used up"),
        ("exa", 401, b'{"error":"Invalid API key"}', "check EXA_API_KEY"),
        ("exa", 503, b"<html>down</html>", "try again later"),
        ("searxng", 403, b"<html>Forbidden</html>", "search.formats"),
        ("tavily", 200, b"<html>sign in</html>", "known form"),
        ("exa", 200, b'{"unexpected": 1}', "known form"),
        ("tavily", 302, b"", "HTTP 302"),
    ],
)
def test_a_refusal_names_the_service_and_what_to_do(
    name: str, status: int, body: bytes, told: str, tmp_path: Path
) -> None:
    def refuse(exchange: Exchange) -> None:
        exchange.send(body, "application/json", status, Retry_After="7", Location="http://169.254.169.254/")

    with serving(name, refuse) as server:
        message = error_of(call(bench_for(name, server).context(tmp_path), "web_search", query="how"))
    assert told in message
    assert {"brave": "Brave", "tavily": "Tavily", "exa": "Exa", "searxng": "SearXNG"}[name] in message
    assert "key-1" not in message
    assert len(server.requests) == 1


def test_a_service_that_is_silent_is_given_up(tmp_path: Path) -> None:
    with serving("exa", lambda exchange: exchange.hold()) as server:
        bench = bench_for("exa", server)
        bench.settings = replace(bench.settings, timeout=0.4)
        assert "0.2 seconds" in error_of(call(bench.context(tmp_path), "web_search", query="how"))


def test_finding_nothing_is_no_error(tmp_path: Path) -> None:
    with serving("brave", typed(b'{"type":"search","mixed":{}}', "application/json")) as server:
        told = payload(call(bench_for("brave", server).context(tmp_path), "web_search", query="how"))
    assert told["results"] == []
    assert "other words" in told["note"]


def found(*_: object) -> Sequence[Mapping[str, str]]:
    return [{"title": "A guide", "href": HIT["url"], "body": HIT["snippet"]}] * 9


def test_without_a_key_public_engines_are_asked(tmp_path: Path) -> None:
    bench = WebBench(ask=found, approver=ScriptedApprover())
    told = payload(call(bench.context(tmp_path), "web_search", query="how", limit=2))
    assert (told["results"], told["backend"]) == ([HIT, HIT], "ddgs")
    assert bench.approver.asked == [SearchWeb("public search engines", "how")]  # type: ignore[attr-defined]


def test_what_the_engines_library_raises_is_told(tmp_path: Path) -> None:
    def broken(*_: object) -> Sequence[Mapping[str, str]]:
        raise IndexError("list index out of range")

    message = error_of(
        call(WebBench(ask=broken, approver=ScriptedApprover()).context(tmp_path), "web_search", query="how")
    )
    assert "IndexError" in message
    assert "BRAVE_API_KEY" in message


def test_engines_that_do_not_answer_are_left_behind_at_the_limit_and_at_a_cancel(tmp_path: Path) -> None:
    asked, released = threading.Event(), threading.Event()

    def slow(*_: object) -> Sequence[Mapping[str, str]]:
        asked.set()
        released.wait(20)
        return ()

    bench = WebBench(WebSettings(timeout=0.2), ask=slow, approver=ScriptedApprover())
    assert "0.1 seconds" in error_of(call(bench.context(tmp_path), "web_search", query="how"))
    bench = WebBench(ask=slow, approver=ScriptedApprover())
    asked.clear()
    threading.Thread(target=lambda: asked.wait(10) and bench.token.cancel()).start()
    with pytest.raises(ToolInterrupted):
        call(bench.context(tmp_path), "web_search", query="how")
    released.set()


@pytest.mark.parametrize(
    ("backend", "told"), [("brave", "BRAVE_API_KEY is not set"), ("bing", "one of brave, tavily, exa, searxng, ddgs")]
)
def test_a_backend_that_is_not_set_up_says_what_to_set(backend: str, told: str, tmp_path: Path) -> None:
    bench = WebBench(WebSettings(search_backend=backend), ask=found, approver=ScriptedApprover())
    assert told in error_of(call(bench.context(tmp_path), "web_search", query="how"))


def test_the_settings_choose_among_several(tmp_path: Path) -> None:
    keys = SearchKeys(brave="b", exa="e")
    bench = WebBench(WebSettings(search_backend="ddgs", keys=keys), ask=found, approver=ScriptedApprover())
    assert payload(call(bench.context(tmp_path), "web_search", query="how"))["backend"] == "ddgs"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [({"query": " "}, "empty"), ({"query": "x" * 500}, "Shorten"), ({"query": "x", "limit": 0}, "at least 1")],
)
def test_arguments_that_cannot_work_are_refused(arguments: dict[str, Any], told: str, tmp_path: Path) -> None:
    assert told in error_of(call(WebBench(ask=found).context(tmp_path), "web_search", **arguments))


def test_keys_come_from_the_environment_and_are_not_shown() -> None:
    keys = SearchKeys.from_environment(
        {"BRAVE_SEARCH_API_KEY": " b ", "SEARXNG_URL": "http://search.example/", "EXA_API_KEY": ""}
    )
    assert (keys.brave, keys.searxng_url, keys.exa) == ("b", "http://search.example", "")
    assert "'b'" not in repr(WebSettings(keys=keys))
    assert can_search({"TAVILY_API_KEY": "t"})


def test_the_definition_is_short() -> None:
    load_builtin_tools()
    entry = registry.get("web_search")
    assert entry is not None
    assert len(json.dumps(entry.definition())) <= 260


def test_a_key_that_no_header_can_hold_is_not_told(tmp_path: Path) -> None:
    with WebServer({"/": b"{}"}) as server:
        settings = WebSettings(keys=SearchKeys(brave="se\ncret", brave_url=server.url()))
        ctx = WebBench(settings=settings, approver=ScriptedApprover()).context(tmp_path)
        failed = error_of(call(ctx, "web_search", query="x"))

    assert "cret" not in failed
    assert "character that HTTP does not allow" in failed
