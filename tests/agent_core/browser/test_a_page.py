"""A page in a real browser: opened after a question, told as an outline, used by its references."""

from __future__ import annotations

import re

import pytest

from tests.support.browsing import BrowserBench, needs_browser
from tests.support.tool_context import call, error_of, payload
from tests.support.web_server import WebServer
from tools.approval.actions import ReachHost

pytestmark = pytest.mark.long

PAGES = {
    "/": b'<title>Shop</title><h1>Welcome</h1><a href="/next">Further</a>'
    b'<label>Secret <input type="password" value="hidden"></label>',
    "/next": b"<title>Next</title><p>the next page",
}


@needs_browser
def test_a_page_is_asked_about_told_and_used():
    bench = BrowserBench()
    try:
        with WebServer(PAGES) as server:
            page = payload(call(bench.context(), "browser_navigate", url=server.url()))["page"]
            assert [type(action) for action in bench.asked()] == [ReachHost]
            assert '- heading "Welcome"' in page
            assert "hidden" not in page
            link = re.search(r'- link "Further" (@e\d+)', page)
            assert link is not None
            found = payload(call(bench.context(), "browser_click", ref=link[1]))
            assert (found["title"], bench.asked()) == ("Next", [])
            assert "browser_snapshot" in error_of(call(bench.context(), "browser_click", ref="@e9999"))
            assert "file" in error_of(call(bench.context(), "browser_navigate", url="file:///etc/passwd"))
    finally:
        bench.close()
