"""What the requirements' tests say again and again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.editor import Editor, RpcError


def text(words: str) -> dict[str, Any]:
    """A block of text."""
    return {"type": "text", "text": words}


def place(session: str, cwd: Path) -> dict[str, Any]:
    """The parameters that bring a stored session back."""
    return {"sessionId": session, "cwd": str(cwd), "mcpServers": []}


def capabilities(agent: Editor) -> dict[str, Any]:
    """What the agent offers."""
    return greeting(agent)["agentCapabilities"]


def greeting(agent: Editor) -> dict[str, Any]:
    """The answer to initialize."""
    return next(frame.message["result"] for frame in agent.frames if not frame.ours and "result" in frame.message)


async def refusal(agent: Editor, method: str, params: dict[str, Any]) -> RpcError:
    """The error that a request is answered with."""
    with pytest.raises(RpcError) as refused:
        await agent.request(method, params)
    return refused.value


async def tried(agent: Editor, method: str, params: dict[str, Any]) -> Any:
    """The result of a request that may be refused, or the error."""
    try:
        return await agent.request(method, params)
    except RpcError as error:
        return error
