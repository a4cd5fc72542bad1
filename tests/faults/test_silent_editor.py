"""An editor that never answers a call of its files or terminals: the turn can be cancelled, and ends by itself."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from acp_adapter.client_io import files, terminals
from acp_adapter.client_io import files as writing
from tests.support.editor import ZED, Editor
from tests.support.in_memory import serving
from tests.support.settings_files import configure

_RUN = 'call terminal {"command": "touch begun; sleep 600", "timeout": 1}'
_PROMPTS = {
    "fs/read_text_file": "read sums.py",
    "fs/write_text_file": "write new.txt text",
    "terminal/create": "run echo ran",
    "terminal/wait_for_exit": "run echo ran",
    "terminal/output": "run echo ran",
    "terminal/release": "run echo ran",
    "terminal/kill": _RUN,
}
_SHOWN = {
    "fs/read_text_file": ("completed", "def add"),
    "fs/write_text_file": ("failed", "did not answer within"),
    "terminal/create": ("failed", "not known whether the command has run"),
    "terminal/wait_for_exit": ("failed", '"timed_out": true'),
    "terminal/output": ("completed", "terminalId"),
    "terminal/release": ("completed", "terminalId"),
    "terminal/kill": ("failed", '"timed_out": true'),
}
_CALLS = (terminals, "_CALL_SECONDS")
_BOUNDS: dict[str, tuple[tuple[ModuleType, str], ...]] = {
    "fs/read_text_file": ((files, "READ_SECONDS"),),
    "fs/write_text_file": ((writing, "WRITE_SECONDS"),),
    "terminal/create": ((terminals, "CREATE_SECONDS"),),
    "terminal/wait_for_exit": ((terminals, "_KILLED_SECONDS"),),
    "terminal/output": (_CALLS,),
    "terminal/release": (_CALLS,),
    "terminal/kill": (_CALLS, (terminals, "_KILLED_SECONDS")),
}


class Silence:
    """A handler of the editor's that is begun and does not end before `over`."""

    def __init__(self, agent: Editor, method: str) -> None:
        self._real = agent.handlers[method]
        self.begun = asyncio.Event()
        self.over = asyncio.Event()
        agent.handlers[method] = self

    async def __call__(self, params: Any) -> Any:
        self.begun.set()
        await self.over.wait()
        return await self._real(params)


@asynccontextmanager
async def _opened(home: Path, workspace: Path, method: str) -> AsyncIterator[tuple[Editor, str, Silence]]:
    configure(home, {"editor": {"terminals": method.startswith("terminal/")}})
    async with serving(home) as agent:
        await agent.initialize(ZED)
        session = await agent.new_session(workspace)
        await agent.request("session/set_mode", {"sessionId": session, "modeId": "dont_ask"})
        silence = Silence(agent, method)
        try:
            yield agent, session, silence
        finally:
            silence.over.set()


def _last(agent: Editor, session: str) -> dict[str, Any]:
    return list(agent.cards(session).values())[-1]


@pytest.mark.parametrize("method", _PROMPTS)
async def test_the_turn_can_be_cancelled_and_the_next_one_works(home: Path, workspace: Path, method: str) -> None:
    async with _opened(home, workspace, method) as (agent, session, silence):
        turn = agent.begin_prompt(session, _PROMPTS[method])
        await asyncio.wait_for(silence.begun.wait(), 30)
        agent.cancel(session)
        assert (await agent.answer(turn))["stopReason"] == "cancelled"
        assert _last(agent, session)["status"] == "failed"
        # What comes late is nobody's any more.
        silence.over.set()
        answer = await agent.prompt(session, "read README.md\nrun echo again\nsay Next.")
        assert answer["stopReason"] == "end_turn"
        assert _last(agent, session)["status"] == "completed"
        assert agent.text(session).endswith("Next.\n")
        await agent.until(lambda: not agent.host.terminals)


@pytest.mark.parametrize("method", _PROMPTS)
async def test_without_a_cancel_the_call_ends_by_itself_and_the_card_says_how(
    home: Path, workspace: Path, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name in _BOUNDS[method]:
        monkeypatch.setattr(module, name, 0.1)
    prompt = _RUN if method == "terminal/wait_for_exit" else _PROMPTS[method]
    async with _opened(home, workspace, method) as (agent, session, _):
        answer = await agent.prompt(session, f"{prompt}\nsay On.")
        assert answer["stopReason"] == "end_turn"
        status, words = _SHOWN[method]
        shown = _last(agent, session)
        assert shown["status"] == status, shown
        assert words in json.dumps(shown), shown
        assert agent.text(session).endswith("On.\n")
