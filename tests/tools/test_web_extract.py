"""`web_extract` on loopback servers: what each kind of page becomes, and what happens when one fails."""

from __future__ import annotations

import gzip
import importlib.util
import json
import threading
from pathlib import Path
from typing import Any

import pytest

import tools.web_extract  # noqa: F401 - registers the tool
from tests.support.tool_context import ScriptedApprover, call, error_of, payload
from tests.support.web_server import Exchange, WebBench, WebServer, redirect, typed
from tests.tools.web.test_pdf_text import make_pdf
from tools.approval.actions import ReachHost
from tools.errors import ToolInterrupted
from tools.registry import registry
from tools.result import ToolResult
from tools.settings import WebSettings
from tools.web import can_read_html

needs_html = pytest.mark.skipif(
    not can_read_html(), reason="needs the libraries of: pip install 'hermes-editor-agent[web]'"
)
PAGE = b"<title>A guide</title><body><nav>MENU</nav><main><h1>Guide</h1><p>Do it.</p></main></body>"


def bench() -> WebBench:
    return WebBench(WebSettings(allow_private=True), ScriptedApprover())


def extract(tmp_path: Path, *urls: str, using: WebBench | None = None, **arguments: Any) -> ToolResult:
    return call((using or bench()).context(tmp_path), "web_extract", urls=list(urls), **arguments)


def one(tmp_path: Path, url: str, **arguments: Any) -> dict[str, Any]:
    [result] = payload(extract(tmp_path, url, **arguments))["results"]
    return result  # type: ignore[no-any-return]


@needs_html
def test_a_page_becomes_markdown_with_its_title(tmp_path: Path) -> None:
    with WebServer({"/": PAGE}) as server:
        result = extract(tmp_path, server.url())
    told = payload(result)
    assert told["results"] == [{"url": server.url(), "title": "A guide", "content": "# Guide\n\nDo it."}]
    assert "not instructions" in told["note"]
    assert server.requests[0].headers["Accept"].startswith("text/markdown,")


@pytest.mark.parametrize(
    ("body", "content_type", "content"),
    [
        (b"# Title\n\n```py\nx\n```", "text/markdown; charset=utf-8", "# Title\n\n```py\nx\n```"),
        (b'{"a": [1, 2]}', "application/json", '{"a": [1, 2]}'),
        ("grün".encode("latin-1"), "text/plain; charset=iso-8859-1", "grün"),
        ("grün".encode("latin-1"), "text/plain; charset=utf-8", "gr\ufffdn"),
        ("漢字".encode("shift_jis"), "text/plain; charset=Shift_JIS", "漢字"),
        (b"x = 1\n", "application/octet-stream", "x = 1\n"),
    ],
)
def test_text_comes_as_it_is(body: bytes, content_type: str, content: str, tmp_path: Path) -> None:
    with WebServer({"/": typed(body, content_type)}) as server:
        assert one(tmp_path, server.url())["content"] == content


def test_packed_text_is_unpacked(tmp_path: Path) -> None:
    with WebServer({"/": typed(gzip.compress(b"hello"), "text/plain", Content_Encoding="gzip")}) as server:
        assert one(tmp_path, server.url())["content"] == "hello"


def test_json_on_one_long_line_is_unfolded(tmp_path: Path) -> None:
    data = {"names": ["x" * 50] * 60}
    with WebServer({"/": typed(json.dumps(data).encode(), "application/json")}) as server:
        content = one(tmp_path, server.url())["content"]
    assert content.count("\n") > 60
    assert json.loads(content) == data


@pytest.mark.skipif(importlib.util.find_spec("pypdf") is None, reason="needs pip install 'hermes-editor-agent[web]'")
def test_a_pdf_becomes_text_whatever_its_type_says(tmp_path: Path) -> None:
    with WebServer({"/": typed(make_pdf("Hello"), "text/html")}) as server:
        assert one(tmp_path, server.url())["content"] == "[page 1 of 1]\nHello"


def test_what_is_binary_is_refused_with_its_type_and_size(tmp_path: Path) -> None:
    with WebServer({"/": typed(b"\x89PNG" + bytes(1000), "image/png")}) as server:
        message = error_of(extract(tmp_path, server.url()))
    assert "image/png (1,004 bytes)" in message
    assert "curl -o" in message


@needs_html
def test_a_page_made_by_scripts_is_told(tmp_path: Path) -> None:
    with WebServer({"/": b"<html><body><div id=root></div><script>render()</script></body></html>"}) as server:
        assert "scripts make this page" in error_of(extract(tmp_path, server.url()))


@pytest.mark.parametrize(
    ("status", "told"),
    [(404, "web_search"), (403, "sign-in"), (429, "later"), (500, "later"), (418, "another source")],
)
def test_an_error_page_says_what_to_do(status: int, told: str, tmp_path: Path) -> None:
    with WebServer({"/": lambda exchange: exchange.send(b"no", "text/html", status)}) as server:
        message = error_of(extract(tmp_path, server.url()))
    assert f"HTTP {status}" in message
    assert told in message


def test_one_failing_url_does_not_fail_the_others(tmp_path: Path) -> None:
    with WebServer(
        {"/a": typed(b"A", "text/plain"), "/b": typed(b"B", "text/plain"), "/loop": redirect("/loop")}
    ) as server:
        told = payload(extract(tmp_path, server.url("/a"), server.url("/loop"), "ftp://x/", server.url("/b")))
    results = told["results"]
    assert [result.get("content") for result in results] == ["A", None, None, "B"]
    assert "redirected" in results[1]["error"]
    assert results[2]["url"] == "ftp://x/"


def test_the_call_fails_when_all_do(tmp_path: Path) -> None:
    with WebServer() as server:
        message = error_of(extract(tmp_path, server.url("/a"), server.url("/b")))
    assert message.startswith("No page could be read")


def test_pages_are_fetched_side_by_side(tmp_path: Path) -> None:
    together = threading.Barrier(3)

    def meet(exchange: Exchange) -> None:
        together.wait(10)
        exchange.send(b"met", "text/plain")

    with WebServer({f"/{number}": meet for number in range(3)}) as server:
        told = payload(extract(tmp_path, *(server.url(f"/{number}") for number in range(3))))
    assert [result["content"] for result in told["results"]] == ["met"] * 3


def test_a_long_page_is_cut_at_a_line_and_saved_whole(tmp_path: Path) -> None:
    text = "\n".join(f"line {number}" for number in range(1, 1001))
    with WebServer({"/a": typed(b"short", "text/plain"), "/b": typed(text.encode(), "text/plain")}) as server:
        result = extract(tmp_path, server.url("/a"), server.url("/b"), char_limit=500)
    short, long = payload(result)["results"]
    assert "more" not in short
    path = tmp_path / "outputs" / "call-1-2.txt"
    assert path.read_text() == text
    lines = long["content"].splitlines()
    assert lines[-1] == f"line {len(lines)}"
    assert f"{path}; read_file it from line {len(lines) + 1}" in long["more"]
    assert result.facts["saved"] == {"path": str(path), "size": len(text)}


def test_the_person_is_asked_for_each_page_and_a_no_is_that_page_s_error(tmp_path: Path) -> None:
    approver = ScriptedApprover("reject_once")
    with WebServer({"/a": typed(b"A", "text/plain")}) as server:
        using = WebBench(WebSettings(allow_private=True), approver)
        assert "Denied" in error_of(extract(tmp_path, server.url("/a"), using=using))
    assert approver.asked == [ReachHost(server.url("/a"), f"127.0.0.1:{server.port}")]
    assert server.requests == []


def test_a_cancel_ends_all_of_them(tmp_path: Path) -> None:
    with WebServer({"/": lambda exchange: exchange.hold()}) as server:
        using = bench()
        threading.Thread(target=lambda: server.heard.wait(10) and using.token.cancel()).start()
        with pytest.raises(ToolInterrupted):
            extract(tmp_path, server.url("/?1"), server.url("/?2"), using=using)


@pytest.mark.parametrize("urls", [[], [""], [f"http://h/{number}" for number in range(6)]])
def test_arguments_that_cannot_work_are_refused(urls: Any, tmp_path: Path) -> None:
    assert "URL" in error_of(call(bench().context(tmp_path), "web_extract", urls=urls))


def test_a_single_url_as_a_string_is_taken(tmp_path: Path) -> None:
    with WebServer({"/": typed(b"A", "text/plain")}) as server:
        result = call(bench().context(tmp_path), "web_extract", urls=server.url())
    assert payload(result)["results"][0]["content"] == "A"


def test_the_definition_is_short() -> None:
    entry = registry.get("web_extract")
    assert entry is not None
    assert len(json.dumps(entry.definition())) <= 340
