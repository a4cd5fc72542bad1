"""The exported page in a real browser."""

from __future__ import annotations

import html
from dataclasses import replace
from datetime import UTC

import pytest

from acp_adapter.export.html import to_html
from tests.support.browser import CONTRASTS, MISSING, Browser, find_browser
from tests.support.sample_transcript import long_transcript, sample_transcript

pytestmark = [pytest.mark.long, pytest.mark.skipif(find_browser() is None, reason=MISSING)]

OPEN_ALL = "document.querySelectorAll('details').forEach((each) => { each.open = true; })"
SHOWN_TURNS = (
    "[...document.querySelectorAll('.turn')].filter((turn) => turn.checkVisibility()).map((turn) => turn.id)"
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(find_browser(), tmp_path_factory.mktemp("browser")) as browser:
        yield browser


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "session.html"
    path.write_text(to_html(sample_transcript(), UTC), "utf-8")
    return path


@pytest.fixture(scope="module")
def long_page(tmp_path_factory):
    path = tmp_path_factory.mktemp("long") / "session.html"
    path.write_text(to_html(long_transcript(200), UTC), "utf-8")
    return path


def test_every_prompt_and_card_is_seen_and_nothing_is_complained_about(browser, page):
    browser.open(page)
    unseen = browser.run(
        "[...document.querySelectorAll('.prompt, .card > summary, .answer, .plan, .ending')]"
        ".filter((each) => !each.checkVisibility() || each.getBoundingClientRect().height < 10).length"
    )
    assert unseen == 0
    assert browser.run("document.querySelectorAll('.prompt').length") == 5
    assert browser.run("document.querySelectorAll('.card').length") == 7
    assert browser.run("document.querySelector('h1').innerText") == "Why the sum is wrong"
    assert browser.complaints == []


def test_hostile_text_is_text(browser, page):
    browser.open(page)
    browser.run(OPEN_ALL)
    assert browser.run("document.title") == "Why the sum is wrong"
    assert browser.run("document.scripts.length") == 1
    assert (
        browser.run(
            "document.querySelectorAll('[onerror], [onmouseover], img:not([src^=\"data:image/png\"])').length"
        )
        == 0
    )
    assert browser.run("document.querySelector('#turn-4 .said').textContent").startswith("</script></style>")
    assert browser.run(
        "[...document.links].every((link) => /^(https?:|file:.*#turn-|file:.*#conversation)/.test(link.href))"
    )
    assert browser.complaints == []


def test_a_script_that_came_in_all_the_same_would_not_run(browser, page, tmp_path):
    hurt = tmp_path / "hurt.html"
    hurt.write_text(page.read_text("utf-8").replace("<main", "<script>document.title='owned'</script><main"), "utf-8")
    browser.open(hurt)
    assert browser.run("document.title") == "Why the sum is wrong"
    assert any("Content Security Policy" in complaint for complaint in browser.complaints)


def test_the_list_of_turns_leads_to_each_also_to_one_that_the_search_hides(browser, page):
    browser.open(page, height=500)
    browser.run("document.getElementById('search').value = 'changelog'")
    browser.run("document.getElementById('search').dispatchEvent(new Event('input'))")
    browser.wait_until("document.getElementById('found').value == '1 of 5'")
    browser.click(".contents > summary")
    told = browser.run("document.querySelector('.contents li:nth-child(2)').innerText")
    assert told == "Turn 2: Run it a hundred times."
    browser.click(".contents li:nth-child(4) a")
    assert browser.run("location.hash") == "#turn-4"
    assert browser.run("document.getElementById('turn-4').checkVisibility()")


def test_the_search_shows_the_turns_with_all_words(browser, page):
    browser.open(page)
    browser.press("/")
    browser.type("HUNDRED run")
    browser.wait_until("document.getElementById('found').value == '1 of 5'")
    assert browser.run(SHOWN_TURNS) == ["turn-2"]
    browser.run("document.getElementById('search').value = ''")
    browser.type(" ")
    browser.wait_until("document.getElementById('found').value == ''")
    assert len(browser.run(SHOWN_TURNS)) == 5


def test_all_folds_open_and_close_at_once(browser, page):
    browser.open(page)
    many = browser.run("document.querySelectorAll('main details').length")
    browser.click("#unfold")
    assert browser.run("document.querySelectorAll('main details[open]').length") == many
    assert browser.run("document.querySelector('.diff .add').getBoundingClientRect().height") > 10
    browser.click("#unfold")
    assert browser.run("document.querySelectorAll('main details[open]').length") == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_can_be_read_in_both_colour_schemes(browser, page, scheme):
    browser.open(page, prefers_color_scheme=scheme)
    browser.run(OPEN_ALL)
    browser.settle()
    light = browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(250, 249, 247)"
    assert light == (scheme == "light")
    assert browser.run(CONTRASTS) == []


@pytest.mark.parametrize("width", [320, 360, 768, 1600])
def test_nothing_is_wider_than_the_window(browser, page, width):
    browser.open(page, width=width)
    browser.run(OPEN_ALL)
    assert browser.run("document.documentElement.scrollWidth") <= width
    wide = browser.run(
        "[...document.querySelectorAll('main *')].filter((each) => each.checkVisibility()"
        " && !each.closest('pre, .table') && each.getBoundingClientRect().right > innerWidth + 1)"
        ".map((each) => each.outerHTML.slice(0, 200))"
    )
    assert wide == []


def test_lines_of_an_answer_do_not_get_too_long_to_read(browser, page):
    browser.open(page, width=1600)
    assert browser.run("document.querySelector('.answer').getBoundingClientRect().width") < 900


def test_everything_is_there_without_scripts(browser, page):
    browser.open(page, scripts=False)
    assert browser.run("document.querySelectorAll('.prompt').length") == 5
    assert not browser.run("document.querySelector('.search').checkVisibility()")
    browser.click(".contents > summary")
    browser.click(".contents li:nth-child(2) a")
    assert browser.run("location.hash") == "#turn-2"
    browser.click("#turn-2 .card > summary")
    assert browser.run("document.querySelector('#turn-2 .body pre').checkVisibility()")


def test_on_paper_every_fold_is_open_and_nothing_is_cut(browser, page):
    browser.open(page, media="print")
    assert not browser.run("document.querySelector('.tools').checkVisibility()")
    assert browser.run("document.querySelector('.diff .add').getBoundingClientRect().height") > 10
    assert browser.run("getComputedStyle(document.querySelector('.turn')).contentVisibility") == "visible"


def test_a_long_session_can_be_jumped_in_and_searched(browser, long_page):
    browser.open(long_page)
    browser.run("location.hash = '#turn-150'")
    assert abs(browser.run("document.getElementById('turn-150').getBoundingClientRect().top")) < 250
    browser.press("/")
    browser.type("number 123 ")
    browser.wait_until("document.querySelectorAll('.turn[hidden]').length > 100")
    assert "turn-124" in browser.run(SHOWN_TURNS)
    assert browser.complaints == []


def test_ampersands_and_quotes_are_shown_once_escaped(browser, page, tmp_path):
    odd = tmp_path / "odd.html"
    transcript = sample_transcript()
    title = "a & b < \"c\" 'd' &amp; $title"
    named = replace(transcript, session=replace(transcript.session, title=title))
    odd.write_text(to_html(named, UTC), "utf-8")
    browser.open(odd)
    assert browser.run("document.querySelector('h1').textContent") == title
    assert html.escape(title, quote=False) in browser.run("document.querySelector('h1').outerHTML")
