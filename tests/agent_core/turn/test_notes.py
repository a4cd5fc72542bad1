"""The model is told which tools came after its first request."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from agent_core.agent import AIAgent
from agent_core.workspace import local_workspace
from tests.support.scripted_provider import ScriptedProvider, says
from tools.registry import Toolbox, ToolEntry


def _tool(name: str) -> ToolEntry:
    return ToolEntry(name, "mcp-late", {"type": "object", "properties": {}}, lambda *_, **__: "{}", "Of a server.")


def test_the_turn_behind_which_a_server_came_up_names_its_tools_once(tmp_path: Path) -> None:
    there = [_tool("mcp__early__a")]
    provider = ScriptedProvider(says("one"), says("two"), says("three"))
    workspace = replace(local_workspace(tmp_path), tools=Toolbox(lambda: tuple(there)))
    agent = AIAgent("test-model", provider, workspace=workspace)
    agent.chat("first")
    there.append(_tool("mcp__late__b"))
    agent.chat("second")
    agent.chat("third")
    said = [str(message["content"]) for message in provider.requests[-1].messages if message["role"] == "user"]
    assert [("new tools" in text, "mcp__late__b" in text) for text in said] == [
        (False, False),
        (True, True),
        (False, False),
    ]
    assert "mcp__early__a" not in said[1]
