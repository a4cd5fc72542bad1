"""Pages in a real browser: looking at them, using them, and what a tool tells of it."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.support.browsing import BrowserBench, needs_browser
from tests.support.tool_context import call, error_of, payload
from tests.support.web_server import WebServer, redirect

# A browser takes seconds to start: what everything else stands on is in test_a_page.py, and runs each time.
pytestmark = [needs_browser, pytest.mark.slow]

FORM = b"""<!doctype html><title>Shop</title><h1>Welcome</h1>
<a href="/next">Further</a>
<form action="/sent"><label>Name <input name="name"></label>
<label>Secret <input type="password" name="secret"></label><button>Send</button></form>
<button onclick="document.body.append('pressed it')">Press</button>
<button onclick="alert('hello there')">Ask</button>
<button onclick="window.open('/next')">Tab</button>
<button onclick="this.remove()">Gone</button>
<a href="/file" download>Get</a><img src="/pixel.png" alt="a dot" width="5" height="5">
<div style="height:4000px"></div>
<script>console.warn("careful"); setTimeout(() => { throw new Error("broken") });</script>"""
PAGES = {
    "/": FORM,
    "/next": b"<title>Next</title><p>the next page",
    "/moved": redirect("/next"),
    "/sent": b"<title>Sent</title><p>thanks",
    "/long": b"<title>Long</title>" + b"".join(b"<p>paragraph number %d" % number for number in range(1000)),
    "/missing.html": lambda exchange: exchange.send(b"<p>not here", "text/html", 404),
}


@pytest.fixture(scope="module")
def bench() -> Iterator[BrowserBench]:
    bench = BrowserBench()
    yield bench
    bench.close()


@pytest.fixture(scope="module")
def server() -> Iterator[WebServer]:
    with WebServer(PAGES) as server:
        yield server


@pytest.fixture
def use(bench):
    """Call a tool on the module's browser."""
    return lambda name, **args: call(bench.context(), f"browser_{name}", **args)


@pytest.fixture
def page(use, server):
    """The form's outline."""
    return payload(use("navigate", url=server.url()))["page"]


def ref(page: str, name: str) -> str:
    found = re.search(rf'"{name}".* (@\w+)', page)
    assert found, page
    return found[1]


def test_a_page_is_told_as_an_outline_with_references_where_something_can_be_done(page):
    assert re.search(r'- heading "Welcome" \[level=1\]$', page, re.MULTILINE)
    assert re.search(r'- link "Further" @e\d+:', page)
    assert re.search(r'- textbox "Name" @e\d+', page)


def test_a_click_that_leads_to_another_page_shows_that(use, page, server):
    found = payload(use("click", ref=ref(page, "Further")))

    assert (found["url"], found["title"]) == (server.url("/next"), "Next")
    assert "the next page" in found["page"]


def test_a_click_that_stays_tells_no_page_twice(use, page):
    assert "page" not in payload(use("click", ref=ref(page, "Press")))
    assert "pressed it" in payload(use("snapshot"))["page"]


def test_references_stay_until_the_next_look(use, page):
    payload(use("click", ref=ref(page, "Press")))

    assert payload(use("click", ref=ref(page, "Further")))["title"] == "Next"


@pytest.mark.parametrize("name", ["@e9999", "e9999"])
@pytest.mark.usefixtures("page")
def test_a_reference_to_nothing_is_told_with_what_to_do(use, name):
    assert "browser_snapshot" in error_of(use("click", ref=name))


def test_a_reference_of_the_page_before_is_not_taken_for_another_element(use, page):
    payload(use("click", ref=ref(page, "Further")))

    assert "no element" in error_of(use("click", ref=ref(page, "Press")))


def test_an_element_that_has_gone_is_told(use, page):
    payload(use("click", ref=ref(page, "Gone")))

    assert "no element" in error_of(use("click", ref=ref(page, "Gone")))


@pytest.mark.usefixtures("page")
def test_what_is_no_reference_is_told(use):
    assert "look like @e12" in error_of(use("click", ref="#send >> nth=0"))


def test_what_is_typed_is_sent_and_passwords_are_never_told(use, page, server, caplog):
    payload(use("type", ref=ref(page, "Name"), text="Ada"))
    typed = use("type", ref=ref(page, "Secret"), text="open sesame")
    looked = payload(use("snapshot"))["page"]
    sent = payload(use("press", key="Enter"))

    assert "Ada" in looked
    assert "sesame" not in typed.text + str(typed.shown) + looked + caplog.text
    assert "••••" in looked
    assert sent["title"] == "Sent"
    assert server.requests[-1].path == "/sent?name=Ada&secret=open+sesame"


def test_typing_where_nothing_can_be_typed_does_not_tell_the_text(use, page, caplog):
    failed = use("type", ref=ref(page, "Press"), text="open sesame")

    assert "could not be typed into" in error_of(failed)
    assert "sesame" not in failed.text + caplog.text


def test_a_key_that_is_none_is_told(use, page):
    assert "'Entr'" in error_of(use("press", key="Entr"))


def test_dialogs_are_dismissed_and_told_once(use, page):
    found = payload(use("click", ref=ref(page, "Ask")))

    assert found["notes"] == ["The page showed a dialog (alert), which was dismissed: hello there"]
    assert "notes" not in payload(use("snapshot"))


def test_a_new_tab_comes_to_the_front_and_is_told(use, page):
    found = payload(use("click", ref=ref(page, "Tab")))

    assert found["title"] == "Next"
    assert "new tab" in found["notes"][0]


def test_downloads_are_refused_and_told(use, page, server):
    found = payload(use("click", ref=ref(page, "Get")))

    assert any("download" in note and "refused" in note for note in found["notes"]), found


def test_back_leads_to_the_page_before(use, page, server):
    payload(use("click", ref=ref(page, "Further")))

    assert payload(use("back"))["title"] == "Shop"


@pytest.mark.usefixtures("page")
def test_scrolling_says_where_the_window_is(use):
    down = payload(use("scroll", direction="down"))["notes"][0]
    up = payload(use("scroll", direction="up"))["notes"][0]

    assert re.match(r"Shown are the pixels [1-9]\d+ to", down)
    assert up.startswith("Shown are the pixels 0 to")


@pytest.mark.usefixtures("page")
def test_the_console_keeps_messages_and_exceptions_until_they_are_cleared(use):
    messages = payload(use("console", clear=True))["messages"]

    assert any(message.startswith("warning: careful") for message in messages)
    assert any(message.startswith("exception: ") and "broken" in message for message in messages)
    assert payload(use("console"))["messages"] == []


@pytest.mark.usefixtures("page")
def test_an_expression_is_evaluated_in_the_page(use):
    assert payload(use("console", expression="({title: document.title})"))["result"] == '{"title": "Shop"}'
    assert "broken on purpose" in error_of(
        use("console", expression="(() => { throw Error('broken on purpose') })()")
    )


@pytest.mark.usefixtures("page")
def test_images_are_listed(use, server):
    images = payload(use("get_images"))["images"]

    assert [(image["url"], image["alt"]) for image in images] == [(server.url("/pixel.png"), "a dot")]


def test_a_model_that_sees_gets_a_picture(bench, page):
    result = call(replace(bench.context(), images=lambda: True), "browser_vision", question="What is there?")

    (image,) = result.images
    assert image.data.startswith(b"\x89PNG")
    assert struct.unpack(">II", image.data[16:24]) == (1280, 900)


def test_a_long_page_is_cut_at_a_line_and_full_shows_more(use, server):
    short = payload(use("navigate", url=server.url("/long")))
    full = payload(use("snapshot", full=True))

    assert len(short["page"]) <= 8000
    assert "full" in short["more"]
    assert "paragraph number 999" in full["page"]


def test_an_error_of_the_server_is_told_with_its_page(use, server):
    found = payload(use("navigate", url=server.url("/missing.html")))

    assert found["status"] == 404
    assert "not here" in found["page"]


def test_a_redirect_on_the_same_host_is_followed_without_a_question(bench, use, page, server):
    bench.asked()

    assert payload(use("navigate", url=server.url("/moved")))["url"] == server.url("/next")
    assert bench.asked() == []


def test_a_server_that_is_down_is_told(use):
    with WebServer({}) as gone:
        url = gone.url()

    assert "Is the server up?" in error_of(use("navigate", url=url))
