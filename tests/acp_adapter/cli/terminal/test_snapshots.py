"""What a person sees, whole, at 80 and 120 columns, with and without colours, and in a pipe.

`make golden` writes the files anew; what changed is for a person to review.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from acp_adapter.cli.console import columns
from acp_adapter.cli.prompt import main
from tests.support.at_terminal import at_terminal
from tests.support.screen import screen_of
from tests.support.scripted import agent_command
from tests.support.terminal_snapshots import CONVERSATIONS, MARKDOWN, STYLES, readable, shown

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("conversation", CONVERSATIONS)
def test_a_conversation_looks_as_it_did(conversation):
    sections = (f"=== {name} ===\n{readable(shown(conversation, style))}" for name, style in STYLES.items())
    now = "\n".join(sections)
    golden = GOLDEN / f"{conversation}.txt"
    if os.environ.get("GOLDEN_UPDATE") == "1":
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(now)
    assert now == golden.read_text(), "review the change and run `make golden`"


@pytest.mark.parametrize("name", STYLES)
def test_no_line_of_prose_is_wider_than_the_window(name):
    style = STYLES[name]
    lines = screen_of(shown("markdown", style)).splitlines()
    assert not style.width or max(map(columns, lines)) <= style.width


def test_a_pipe_gets_what_the_model_said():
    assert shown("markdown", STYLES["a pipe"]) == MARKDOWN


def test_a_real_terminal_shows_the_same(monkeypatch):
    with at_terminal(monkeypatch, columns=80) as person:
        assert main(["--agent", shlex.join(agent_command(f"text={MARKDOWN}")), "hello"]) == 0
    seen = screen_of(person.text.partition("[end_turn")[0])
    assert seen.rstrip() == screen_of(shown("markdown", STYLES["80 columns, colours"])).rstrip()
