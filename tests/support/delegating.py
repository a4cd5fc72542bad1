"""Agents that delegate, with the offline model: each prompt, and each goal, is a script."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agent_core.agent import AIAgent
from agent_core.background_tasks import News
from agent_core.messages import Message
from agent_core.providers.offline import OfflineProvider
from agent_core.services import SessionServices
from tests.support.agents import make_agent
from tests.support.tool_context import told_in
from tests.support.waiting import wait_until


def delegates(*goals: str, **arguments: Any) -> str:
    """A line of a script that delegates: one goal, or several as tasks."""
    given = {"goal": goals[0]} if len(goals) == 1 else {"tasks": [{"goal": goal} for goal in goals]}
    return f"call delegate_task {json.dumps({**given, **arguments})}"


def delegating_agent(cwd: Path, **options: Any) -> AIAgent:
    """An agent in `cwd` whose model, and whose sub-agents' model, do what their prompts say."""
    return make_agent(cwd, provider=OfflineProvider(), **options)


def told(messages: list[Message], number: int = 0) -> Any:
    """What the model was told by the tool call of that number, as data."""
    results = [message for message in messages if message["role"] == "tool"]
    return told_in(str(results[number]["content"]))


def news_of(services: SessionServices) -> list[News]:
    """What the session hears of from now on, also what is told in the turn that began it: a quick child's end is."""
    heard: list[News] = []
    services.news.on_put(heard.append)
    return heard


def copies_left(copies: Path) -> list[str]:
    """The names of the copies there are, once those that were given up are removed."""
    wait_until(lambda: not copies.exists() or not [one for one in copies.iterdir() if one.name.startswith("gone-")])
    return sorted(one.name for one in copies.iterdir()) if copies.exists() else []
