"""`--record`: what goes over the wire of a real process is kept, and the page of it works in a real browser."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from acp_adapter.cli.inspect.main import main as inspect
from acp_adapter.cli.inspect.recordings import read_recordings
from tests.e2e.conftest import EditorFactory
from tests.support.browser import CONTRASTS, MISSING, Browser, find_browser
from tests.support.recordings import sample_lines
from tests.support.waiting import PATIENCE

in_a_browser = pytest.mark.skipif(find_browser() is None, reason=MISSING)
SHOWN = "[...document.querySelectorAll('.row')].filter((row) => row.checkVisibility()).map((row) => row.id)"


async def test_the_servers_recording_is_what_the_editor_saw(
    editor: EditorFactory, tmp_path: Path, workspace: Path
) -> None:
    path = tmp_path / "wire.jsonl"
    agent = await editor("--offline", "--record", str(path))
    await agent.initialize()
    session = await agent.new_session(workspace)
    await agent.prompt(session, "say hello\nread README.md")
    await agent.close()
    (recording,) = read_recordings(path.read_text("utf-8").splitlines()).recordings
    for way, is_ours in (("in", False), ("out", True)):
        kept = [message for row in recording.rows if row.direction == way for message in row.messages]
        assert kept == [frame.message for frame in agent.frames if frame.ours is is_ours]


def test_a_recording_that_cannot_be_written_is_told_before_anything_starts(home: Path, tmp_path: Path) -> None:
    path = tmp_path / "no" / "such" / "folder.jsonl"
    ran = subprocess.run(
        [sys.executable, "-P", "-m", "acp_adapter", "--offline", "--record", str(path)],
        check=False, env=os.environ, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE,
    )  # fmt: skip
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "--record" in ran.stderr
    assert str(path) in ran.stderr


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recording") / "session.jsonl"
    path.write_text("\n".join([*sample_lines(run="r1"), *sample_lines(run="r2")]), encoding="utf-8")
    assert inspect([str(path)]) == 0
    return path.with_suffix(".html")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> object:
    with Browser(str(find_browser()), tmp_path_factory.mktemp("browser")) as browser:
        yield browser


@pytest.mark.long
@in_a_browser
def test_every_message_is_on_the_page_as_text_and_nothing_is_loaded(browser: Browser, page: Path) -> None:
    browser.open(page)
    assert len(browser.run(SHOWN)) == 30
    assert browser.run("document.querySelectorAll('.remarkable li').length") == 10
    assert browser.run("document.images.length + document.querySelectorAll('[onerror]').length") == 0
    browser.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert browser.run("document.querySelector('.diff .add').innerText.trim()") == "+return a + b"
    assert browser.run("document.querySelector('#c1-6 .text').textContent.trim()").endswith("onerror=alert(1)>")
    assert browser.complaints == []


@pytest.mark.long
@in_a_browser
def test_the_keyboard_gets_everywhere(browser: Browser, page: Path) -> None:
    browser.open(page)
    browser.press("/")
    browser.type("DISK full")
    browser.wait_until("document.getElementById('found').value == '2 of 30'")
    # A link to a row that the search hides shows it all the same, and the focus goes along.
    browser.run("location.hash = '#c1-5'")
    browser.wait_until("document.activeElement === document.querySelector('#c1-5 > summary')")
    assert browser.run("document.getElementById('c1-5').open")
    assert browser.run(
        "[...document.querySelectorAll('a, button, input, summary')].every((each) => each.tabIndex >= 0)"
    )


@pytest.mark.long
@in_a_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_of_the_page_can_be_read(browser: Browser, page: Path, scheme: str) -> None:
    browser.open(page, prefers_color_scheme=scheme)
    browser.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    browser.settle()
    assert browser.run(CONTRASTS) == []


@pytest.mark.long
@in_a_browser
@pytest.mark.parametrize("width", [320, 768, 1600])
def test_the_page_fits_the_window(browser: Browser, page: Path, width: int) -> None:
    browser.open(page, width=width)
    browser.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert browser.run("document.documentElement.scrollWidth") <= width
