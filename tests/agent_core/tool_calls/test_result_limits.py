"""Long results in a turn: they fit the model's window, share their answer's room, and are whole on disk."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agent_core.agent import AIAgent
from agent_core.workspace import local_workspace
from tests.support.agents import TEST_TOOLS
from tests.support.scripted_provider import ScriptedProvider, says, uses
from tests.support.tool_context import told_in
from tools.environments.guardian import Guardian


@pytest.fixture
def agent_with(tmp_path):
    outputs = tmp_path / "outputs"

    def make(*scripts, window):
        workspace = local_workspace(
            tmp_path,
            guardian=Guardian(),
            mode="dont_ask",
            output_file=lambda call: outputs / f"{call.call_id}.txt",
        )
        toolsets = ("hermes-acp", TEST_TOOLS)
        provider = ScriptedProvider(*scripts)
        return AIAgent("test-model", provider, workspace=workspace, enabled_toolsets=toolsets, context_length=window)

    return make


def results(result):
    return [message["content"] for message in result["messages"] if message["role"] == "tool"]


def words(count):
    return "".join(f"word {number}\n" for number in range(count))


def test_one_result_takes_no_more_than_its_part_of_a_small_window(agent_with, add_tool):
    add_tool("talk", lambda args, **kw: words(5_000))
    (told,) = results(agent_with(uses(("a", "talk", {})), says("ok"), window=20_000).run_conversation("go"))
    assert 10_000 < len(told) < 12_500
    (path,) = re.findall(r"lines are in (\S+):", told)
    assert Path(path).read_text() == words(5_000)


def test_results_of_one_answer_share_its_room_and_short_ones_stay_whole(agent_with, add_tool):
    add_tool("talk", lambda args, **kw: words(int(args["who"])), parallel="safe")
    calls = [
        (call, "talk", {"who": count}) for call, count in (("a", "700"), ("b", "5"), ("c", "700"), ("d", "5000"))
    ]
    agent = agent_with(uses(*calls), says("ok"), window=10_000)
    told = results(agent.run_conversation("go"))
    assert sum(map(len, told)) < 16_000 + 4 * 300
    assert told[1] == words(5)
    for text, whole in zip(told, (words(700), words(5), words(700), words(5000)), strict=True):
        if text != whole:
            (path,) = re.findall(r"in (\S+?)[: ]", text.partition("characters left out here.")[2])
            assert Path(path).read_text() == whole


def test_a_page_of_a_long_file_is_shorter_and_leads_on(agent_with, tmp_path):
    (tmp_path / "long.txt").write_text(words(5_000))
    agent = agent_with(uses(("a", "read_file", {"path": "long.txt", "limit": 2000})), says("ok"), window=10_000)
    (told,) = results(agent.run_conversation("go"))
    assert len(told) <= 8_000
    assert "left out here" not in told
    assert int(told_in(told)["line"].rpartition("next_offset ")[2]) > 100


def test_a_large_window_leaves_results_as_they_are(agent_with, add_tool):
    add_tool("talk", lambda args, **kw: words(5_000))
    (told,) = results(agent_with(uses(("a", "talk", {})), says("ok"), window=200_000).run_conversation("go"))
    assert told == words(5_000)
