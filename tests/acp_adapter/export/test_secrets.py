"""No export holds a secret, wherever in the conversation it stood."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from acp_adapter.export.html import to_html
from acp_adapter.export.markdown import to_markdown
from acp_adapter.export.transcript import to_trajectory
from agent_core.events import (
    AgentText,
    AgentThought,
    PlanChanged,
    SaidDocument,
    SaidLink,
    SaidText,
    ToolFinished,
    ToolRequested,
    UserSaid,
)
from agent_core.messages import assistant_message, tool_call, tool_message, user_message
from tests.support.sample_transcript import CWD, TranscriptMaker
from tools.context import TodoItem
from tools.redaction import Redactor
from tools.result import ShownDiff, ShownOutput, ShownText, ToolResult

OURS = "plain-words-of-ours"
LETTERS = "abcdefghijklmnopq"


def key(place: str) -> str:
    """A GitHub token that names its place."""
    return f"ghp_{place.rjust(4, 'x')}{'aB3dE5gH' * 4}"


PLACES = [f"q7{letter}" for letter in LETTERS]


def transcript():
    keys = iter(PLACES)

    def each() -> str:
        return key(next(keys))

    arguments = {"command": f"curl -H 'Authorization: Bearer {each()}' https://api.example.com"}
    result = ToolResult(
        json.dumps({"output": each()}),
        (
            ShownText(each()),
            ShownOutput(f"token: {each()}\n{OURS}", 0),
            ShownDiff(Path(f"{CWD}/.env"), f"TOKEN={each()}\n", f"TOKEN={each()}\n"),
        ),
    )
    call = tool_call("c1", "terminal", json.dumps(arguments))
    events = [
        [UserSaid("u", (SaidText(f"my key is {each()}"), SaidLink(f"https://x.example/?token={each()}", "link")))],
        [UserSaid("u2", (SaidDocument("file:///a", f"key={each()}"),))],
        [AgentThought("t", f"it is {each()}")],
        # Streamed answers are stored in pieces: the key is in neither of them.
        [AgentText("m", f"Your key {each()[:20]}")],
        [AgentText("m", "aB3dE5gHaB3dE5gHaB3dE5gH is leaked.")],
        [PlanChanged((TodoItem("1", f"Revoke {each()}", "pending"),))],
        [
            ToolRequested("c1", "terminal", arguments, CWD, announced=False),
            ToolFinished("c1", "terminal", arguments, CWD, result),
        ],
    ]
    messages = [
        user_message(f"my key is {each()}"),
        assistant_message(f"Your key {each()}", [call], f"it is {each()}"),
        tool_message(call, result.text),
    ]
    maker = TranscriptMaker()
    maker.turn(events, messages)
    return maker.made()


@pytest.mark.parametrize("export", [to_markdown, to_html, to_trajectory])
def test_a_secret_is_in_no_export(export) -> None:
    text = export(transcript(), redacting=Redactor([OURS]))

    assert [place for place in PLACES if place in text] == []
    assert "aB3dE5gH" not in text
    assert OURS not in text
    assert "[redacted: github token]" in text or "[redacted: authorization header]" in text


@pytest.mark.parametrize("export", [to_markdown, to_html, to_trajectory])
def test_without_being_told_shapes_are_known_all_the_same(export) -> None:
    assert "aB3dE5gH" not in export(transcript())


def test_a_trajectory_stays_json_and_its_calls_stay_readable() -> None:
    line = json.loads(to_trajectory(transcript()))

    answer = next(each["value"] for each in line["conversations"] if each["from"] == "gpt")
    call = json.loads(answer.partition("<tool_call>\n")[2].partition("\n</tool_call>")[0])
    assert call["arguments"]["command"].startswith("curl -H 'Authorization: Bearer [redacted: ")
