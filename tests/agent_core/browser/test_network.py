"""Where a real browser may go, how it is cancelled, and how it ends."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from agent_core.cancel import CancelToken
from tests.support.browsing import BrowserBench, needs_browser
from tests.support.tool_context import call, error_of, payload
from tests.support.waiting import wait_until
from tests.support.web_server import WebServer, redirect
from tools.approval.actions import ReachHost
from tools.environments.guardian import group_is_alive
from tools.errors import ToolInterrupted
from tools.settings import BrowserSettings

# Each has a browser of its own, which takes seconds.
pytestmark = [needs_browser, pytest.mark.slow]

LINKS = """<title>Links</title><a href="%(there)s">Out</a><a href="/away">Round</a><a href="file:///etc/passwd">Disk</a>"""
FETCHING = """<title>Before</title><script>
fetch("%(there)s", {mode: "no-cors"}).then(() => document.title = "got it", () => document.title = "refused")
</script>"""


@pytest.fixture
def bench() -> Iterator[BrowserBench]:
    bench = BrowserBench()
    yield bench
    bench.close()


@pytest.fixture
def there() -> Iterator[WebServer]:
    with WebServer({"/": b"<title>There</title>"}) as server:
        yield server


@pytest.fixture
def here(there: WebServer) -> Iterator[WebServer]:
    pages = {
        "/": (LINKS % {"there": there.url()}).encode(),
        "/away": redirect(there.url()),
        "/fetching": (FETCHING % {"there": there.url()}).encode(),
        "/slow": lambda exchange: exchange.hold(),
    }
    with WebServer(pages) as server:
        yield server


def place(server: WebServer) -> str:
    return f"127.0.0.1:{server.port}"


def navigate(bench: BrowserBench, url: str, token: CancelToken | None = None):
    return call(bench.context(token), "browser_navigate", url=url)


def test_redirects_and_clicks_to_other_places_are_asked_about(bench, here, there):
    assert payload(navigate(bench, here.url("/away")))["title"] == "There"
    assert [action.place for action in bench.asked()] == [place(here), place(there)]


def test_a_no_to_where_a_redirect_leads_leaves_nothing_there(bench, here, there):
    payload(navigate(bench, here.url()))
    bench.asked()
    bench.approver.choice = "reject_once"

    for name in ("Round", "Out"):
        page = payload(navigate(bench, here.url()))["page"]
        ref = next(line for line in page.splitlines() if f'"{name}"' in line).partition("@")[2].rstrip(":")
        assert "no" in error_of(call(bench.context(), "browser_click", ref=ref))
        assert {action.place for action in bench.asked()} == {place(there)}
    assert there.requests == []


def test_what_a_page_of_this_machine_gets_from_another_server_of_it_is_asked_about(bench, here, there):
    payload(navigate(bench, here.url("/fetching")))
    seen = payload(call(bench.context(), "browser_snapshot"))["title"]

    assert [action.place for action in bench.asked()] == [place(here), place(there)]
    assert seen == "got it"


def test_a_host_is_asked_about_once_for_a_browser(bench, here):
    for path in ("/", "/#there"):
        payload(navigate(bench, here.url(path)))

    assert bench.asked() == [ReachHost(here.url(), place(here), "this machine")]


def test_a_file_is_not_opened(bench, here):
    assert "http or https" in error_of(navigate(bench, "file:///etc/passwd"))
    assert not bench.browser.is_running or bench.asked() == []


def test_in_the_mode_without_questions_this_machine_is_not_reached(here):
    bench = BrowserBench(mode="dont_ask")
    try:
        assert place(here) in error_of(navigate(bench, here.url()))
    finally:
        bench.close()
    assert here.requests == []


def test_a_cancelled_call_ends_at_once_and_the_browser_goes_on(bench, here):
    token = CancelToken()
    ended = threading.Event()

    def wait() -> None:
        with pytest.raises(ToolInterrupted):
            bench.context(token).browser.navigate(here.url("/slow"), token)
        ended.set()

    thread = threading.Thread(target=wait)
    thread.start()
    assert here.heard.wait(40)
    token.cancel()
    thread.join(5)

    assert ended.is_set()
    assert payload(navigate(bench, here.url()))["title"] == "Links"


def test_a_page_that_does_not_come_is_given_up(here):
    bench = BrowserBench(settings=BrowserSettings(timeout=0.5))
    try:
        assert "longer than 0.5 seconds" in error_of(navigate(bench, here.url("/slow")))
    finally:
        bench.close()


def test_a_browser_that_nobody_uses_ends_and_starts_again(here):
    bench = BrowserBench(settings=BrowserSettings(idle_seconds=0.1))
    try:
        payload(navigate(bench, here.url()))
        wait_until(lambda: not bench.browser.is_running and not bench.guardian.groups(), 20)
        bench.asked()

        payload(navigate(bench, here.url()))
        assert bench.asked() == [ReachHost(here.url(), place(here), "this machine")]
    finally:
        bench.close()


def test_no_process_of_it_outlives_the_session(bench, here):
    payload(navigate(bench, here.url()))
    (group,) = bench.guardian.groups()
    bench.browser.close()

    wait_until(lambda: not group_is_alive(group), 10)
    assert not bench.guardian.groups()
    assert "closed" in error_of(navigate(bench, here.url()))


_DYING = """
import os, signal, sys
from tests.support.browsing import BrowserBench
bench = BrowserBench()
bench.context().browser.snapshot(bench.context().interrupt)
print(*bench.guardian.groups(), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_nor_this_process_when_that_is_killed():
    told = subprocess.run([sys.executable, "-c", _DYING], capture_output=True, text=True, timeout=50, check=False)
    group = int(told.stdout)

    wait_until(lambda: not group_is_alive(group), 10)


MAKING_PAGES = """<title>Public</title><button onclick="go()">go</button><script>function go() {
const page = `<title>Made</title><script>
fetch("%(there)s", {mode: "no-cors"}).then(() => document.title = "got it", () => document.title = "refused")
<\\/script>`
location = URL.createObjectURL(new Blob([page], {type: "text/html"}))
}</script>"""


@pytest.fixture
def public(bench, there, monkeypatch) -> Iterator[str]:
    """The address of a page that is on the public internet, as the browser sees it."""
    connect = asyncio.open_connection

    look_up = socket.getaddrinfo

    def find(host, port, *rest, **options):
        return look_up("93.184.216.34" if host == "public.test" else host, port, *rest, **options)

    async def connected(host, port, **options):
        return await connect("127.0.0.1" if host == "93.184.216.34" else host, port, **options)

    monkeypatch.setattr(socket, "getaddrinfo", find)
    monkeypatch.setattr(asyncio, "open_connection", connected)
    with WebServer({"/": (MAKING_PAGES % {"there": there.url()}).encode()}) as server:
        yield server.url("/", "public.test")


def test_a_page_that_a_public_one_makes_up_gets_nothing_from_inside(bench, there, public):
    navigate(bench, there.url())
    page = payload(navigate(bench, public))["page"]
    there.requests.clear()

    payload(call(bench.context(), "browser_click", ref=page.partition("@")[2].split()[0]))
    view = payload(call(bench.context(), "browser_snapshot"))

    assert view["title"] == "refused"
    assert there.requests == []


def test_what_an_expression_reaches_is_asked_about(bench, there, public):
    navigate(bench, there.url())
    bench.asked()
    call(bench.context(), "browser_console", expression=f"fetch('{public}?data', {{mode: 'no-cors'}}).then(() => 1)")

    assert [action.url for action in bench.asked()] == [f"{public}?data"]


def test_a_page_that_does_not_answer_ends_no_call_late_and_can_be_left(bench, here, monkeypatch):
    monkeypatch.setattr("agent_core.browser.gated_browser.EVALUATE_SECONDS", 0.5)
    with WebServer({"/": b"<title>Busy</title><script>setTimeout(() => { while (true); }, 1500)</script>"}) as busy:
        navigate(bench, busy.url())
        threading.Event().wait(2)
        assert "longer than" in error_of(call(bench.context(), "browser_scroll", direction="down"))
        assert payload(navigate(bench, here.url()))["title"] == "Links"


def test_a_result_that_holds_itself_is_told(bench, here):
    navigate(bench, here.url())
    failed = error_of(call(bench.context(), "browser_console", expression="const a = {}; a.a = a; a"))

    assert "cannot be written as JSON" in failed
