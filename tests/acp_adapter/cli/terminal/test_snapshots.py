"""What a person sees, whole, at 80 and 120 columns, with and without colours, and in a pipe.

`make golden` writes the files anew; what changed is for a person to review.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest

from acp_adapter.cli.console import columns
from acp_adapter.cli.prompt import main
from tests.support.at_terminal import at_terminal
from tests.support.scripted import agent_command
from tests.support.terminal_snapshots import CONVERSATIONS, MARKDOWN, STYLES, readable, shown

GOLDEN = Path(__file__).parent / "golden"
_ESCAPES = re.compile(r"\x1b\[[0-9;]*[mK]|\r")


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
    lines = _ESCAPES.sub("", shown("markdown", style)).splitlines()
    assert not style.width or max(map(columns, lines)) <= style.width


def test_a_pipe_gets_what_the_model_said():
    assert shown("markdown", STYLES["a pipe"]) == MARKDOWN


def test_a_real_terminal_shows_the_same(monkeypatch):
    with at_terminal(monkeypatch, columns=80) as person:
        assert main(["--agent", shlex.join(agent_command(f"text={MARKDOWN}")), "hello"]) == 0
    drawn = re.sub(r"\r\x1b\[K[^\n\r]*(?=\r\x1b\[K)", "", person.text).replace("\r\x1b[K", "")
    seen = _ESCAPES.sub("", drawn)
    assert seen.partition("\n[end_turn")[0] == _ESCAPES.sub("", shown("markdown", STYLES["80 columns, colours"]))
