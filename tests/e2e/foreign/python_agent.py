"""An agent of the Python SDK: it asks, then echoes the prompt."""

from __future__ import annotations

import asyncio
from typing import Any

import acp
from acp import schema


class Echo(acp.Agent):
    """Only what a prompt needs."""

    def on_connect(self, conn: Any) -> None:
        self._client = conn

    async def initialize(self, protocol_version: int, *_: Any, **__: Any) -> acp.InitializeResponse:
        return acp.InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, cwd: str, *_: Any, **__: Any) -> acp.NewSessionResponse:
        return acp.NewSessionResponse(session_id="foreign-2")

    async def prompt(self, session_id: str, prompt: list[Any], **__: Any) -> acp.PromptResponse:
        options = [schema.PermissionOption(option_id="yes", name="Go on", kind="allow_once")]
        call = schema.ToolCallUpdate(tool_call_id="t1", title="Shout")
        reply = await self._client.request_permission(session_id, call, options)
        await self._client.session_update(
            session_id, acp.update_agent_message_text(f"{reply.outcome.outcome}: {prompt[0].text}")
        )
        return acp.PromptResponse(stop_reason="end_turn")


if __name__ == "__main__":
    asyncio.run(acp.run_agent(Echo()))
