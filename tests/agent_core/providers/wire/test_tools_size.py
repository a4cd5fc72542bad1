"""What every user pays in every request: the tools' definitions, as the real encoders write them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from agent_core.providers.anthropic_messages import ANTHROPIC_MESSAGES
from agent_core.providers.base import ModelRequest
from agent_core.providers.bedrock import to_converse
from agent_core.providers.chat_completions import CHAT_COMPLETIONS
from agent_core.providers.responses import CODEX_RESPONSES
from tests.support.choices import choice_for
from tools.registry import ToolEntry, registry
from tools.toolsets import DEFAULT, TOOLSETS, load_builtin_tools

MOST = 12_100
MOST_BROWSER = 2_600
EXTRA = "browser"
"""Comes with an optional extra and is offered only where there is a browser."""

ENCODERS: Mapping[str, Callable[..., Mapping[str, Any]]] = {
    "chat_completions": CHAT_COMPLETIONS.encode,
    "anthropic_messages": ANTHROPIC_MESSAGES.encode,
    "codex_responses": CODEX_RESPONSES.encode,
    "bedrock_converse": to_converse,
}


def _tools(*toolsets: str) -> list[ToolEntry]:
    """Every tool of these toolsets that comes with the program, whether or not what it needs is here."""
    load_builtin_tools()
    ours = [entry for entry in registry.entries() if not entry.source]
    return [entry for entry in ours if entry.toolset in toolsets]


def _size(protocol: str, tools: list[ToolEntry]) -> int:
    """Characters that a request grows by with these tools."""

    def body(definitions: list[dict[str, Any]]) -> str:
        request = ModelRequest("test-model", ({"role": "user", "content": "hi"},), definitions)
        choice = choice_for("http://127.0.0.1:1/v1", api_mode=protocol)
        return json.dumps(ENCODERS[protocol](request, choice), ensure_ascii=False)

    offered = frozenset(entry.name for entry in tools)
    return len(body([entry.definition(offered) for entry in tools])) - len(body([]))


@pytest.mark.parametrize("protocol", ENCODERS)
def test_the_tools_that_everybody_has_are_short(protocol: str) -> None:
    included = [toolset for toolset in TOOLSETS[DEFAULT].includes if toolset != EXTRA]
    tools = _tools(*included)
    sizes = {entry.name: len(json.dumps(entry.definition(), ensure_ascii=False)) for entry in tools}

    assert len(tools) > 9
    assert _size(protocol, tools) <= MOST, sizes


@pytest.mark.parametrize("protocol", ENCODERS)
def test_so_are_those_of_the_browser(protocol: str) -> None:
    tools = _tools(EXTRA)

    assert _size(protocol, tools) <= MOST_BROWSER + 40 * len(tools), [entry.name for entry in tools]
