"""A page fetched and turned into Markdown, over what the bytes alone take on the same loopback server."""

from __future__ import annotations

import http.client
from pathlib import Path

from benchmarks.in_turns import Pair, in_turns
from tests.support.tool_context import ScriptedApprover, call
from tests.support.web_server import WebBench, WebServer
from tools.settings import WebSettings

REPETITIONS = 30
_TEXT = '<h2>Part</h2><p>Some <b>words</b> and <a href="x">a link</a>.</p>'
_BLOCK = f'{_TEXT}<pre><code class="language-py">x = 1\n</code></pre>'
_PAGE = f"<html><head><title>T</title></head><body><nav>menu</nav><main>{_BLOCK * 400}</main></body></html>".encode()


def extract_a_page(folder: Path) -> Pair:
    """Seconds of `web_extract` for a page of 50 KB, and of a bare GET of it in the same run."""
    bench = WebBench(WebSettings(allow_private=True), ScriptedApprover())
    with WebServer({"/": _PAGE}) as server:
        ctx = bench.context(folder)

        def bare() -> None:
            connection = http.client.HTTPConnection("127.0.0.1", server.port)
            connection.request("GET", "/")
            connection.getresponse().read()
            connection.close()

        def extract() -> None:
            assert not call(ctx, "web_extract", urls=[server.url()]).failed

        return in_turns(extract, bare, REPETITIONS)
