"""The exported page as text; tests/e2e/test_export_page.py shows it to a browser."""

import base64
import hashlib
import re
from datetime import UTC
from html.parser import HTMLParser

from acp_adapter.export.html import to_html
from agent_core.events import SaidAudio, SaidDocument, SaidImage, SaidText, UserSaid
from tests.support.sample_transcript import TranscriptMaker, call, long_transcript, sample_transcript
from tools.result import ShownOutput, ToolResult

VOID = {"meta", "input", "br", "hr", "img"}


class Outline(HTMLParser):
    """Every element with its attributes; fails where one is closed that is not the last that was opened."""

    def __init__(self, page):
        super().__init__()
        self.elements = []
        self.open = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def page_of(*events):
    maker = TranscriptMaker()
    maker.turn(events)
    return to_html(maker.made(), UTC)


def test_every_element_is_closed_in_its_turn_whatever_the_text_holds():
    elements = Outline(to_html(sample_transcript(), UTC)).elements
    tags = [tag for tag, _ in elements]
    assert tags.count("section") == 5
    assert tags.count("script") == 1
    assert tags.count("img") == 1


def test_nothing_is_loaded_from_elsewhere_and_no_attribute_is_a_script_or_a_style():
    for tag, attributes in Outline(to_html(sample_transcript(), UTC)).elements:
        assert not {name for name in attributes if name.startswith("on")} | ({"style"} & set(attributes))
        assert tag not in {"link", "iframe", "object", "embed", "form", "base"}
        assert attributes.get("src", "data:").startswith("data:")
        assert re.match(r"#|https?://|mailto:", attributes.get("href", "#"))


def test_only_the_pages_own_style_and_script_are_allowed():
    page = to_html(sample_transcript(), UTC)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1].replace("&#x27;", "'")
    assert policy.startswith("default-src 'none'; img-src data:; style-src 'sha256-")
    assert "unsafe" not in policy
    for kind, source in re.findall(r"<(style|script)>(.*?)</\1>", page, re.DOTALL):
        digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy, kind


def test_every_link_to_a_turn_has_its_place():
    page = to_html(long_transcript(70, calls=0), UTC)
    places = set(re.findall(r'id="([^"]*)"', page))
    targets = re.findall(r'href="#([^"]*)"', page)
    assert len(targets) == 1 + 2 * 70
    assert set(targets) <= places


def test_only_pictures_that_are_pictures_are_shown():
    page = page_of(
        UserSaid(
            "u",
            (
                SaidImage("image/png", "AAAA"),
                SaidImage("image/svg+xml", "AAAA"),
                SaidImage("image/png", 'AAAA" onerror="x'),
                SaidAudio("audio/wav", "AAAA"),
                SaidDocument("file:///srv/a.pdf", None, "AAAA"),
            ),
        )
    )
    assert page.count("<img ") == 1
    assert page.count('class="mention"') == 4


def test_what_is_too_long_is_cut_and_said():
    page = page_of(
        call("c", "terminal", {"command": "x"}, ToolResult("{}", (ShownOutput("y" * 300_000, 0),))),
    )
    assert "100,000 more characters are left out." in page


def test_a_session_without_turns_is_a_page_too():
    page = to_html(TranscriptMaker(title="Empty").made(), UTC)
    Outline(page)
    assert "Nothing was said yet." in page


def test_words_that_look_like_places_in_the_template_are_words():
    assert "$title ${facts} $$" in page_of(UserSaid("u", (SaidText("$title ${facts} $$"),)))


def test_the_readers_zone_decides_about_the_times():
    assert '<time datetime="2026-09-21T14:13:20+00:00">2026-09-21 14:13</time>' in to_html(sample_transcript(), UTC)
