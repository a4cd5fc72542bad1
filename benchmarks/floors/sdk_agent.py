"""The second floor: the smallest agent on the ACP Python SDK. Prompts: `stream N`, `wait` (until cancelled), else one
piece of text."""

from __future__ import annotations

import asyncio
from typing import Any

from acp import (
    InitializeResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PromptResponse,
    run_agent,
    text_block,
    update_agent_message,
)


class SmallestAgent:
    def __init__(self) -> None:
        self._client: Any = None
        self._sessions = 0
        self._cancelled: dict[str, asyncio.Event] = {}

    def on_connect(self, client: Any) -> None:
        self._client = client

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        return InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, cwd: str, **_: Any) -> NewSessionResponse:  # noqa: ARG002 - the SDK passes names
        self._sessions += 1
        session_id = f"session-{self._sessions}"
        self._cancelled[session_id] = asyncio.Event()
        return NewSessionResponse(session_id=session_id)

    async def load_session(self, **_: Any) -> LoadSessionResponse:
        return LoadSessionResponse()

    async def prompt(self, prompt: list[Any], session_id: str, **_: Any) -> PromptResponse:
        word, _, rest = prompt[0].text.partition(" ")
        if word == "wait":
            await self._cancelled[session_id].wait()
            return PromptResponse(stop_reason="cancelled")
        for number in range(int(rest) if word == "stream" else 1):
            await self._client.session_update(session_id, update_agent_message(text_block(f"{number:07d} ")))
        return PromptResponse(stop_reason="end_turn")

    async def cancel(self, session_id: str, **_: Any) -> None:
        self._cancelled[session_id].set()


if __name__ == "__main__":
    asyncio.run(run_agent(SmallestAgent()))  # type: ignore[arg-type] # the smallest: it has not every method
