"""What a session held is gone at once, not when the collector comes to it: a hundred sessions later, perhaps."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from weakref import ReferenceType, ref

import pytest

from agent_core.agent import AIAgent
from agent_core.services import SessionServices, TurnServices
from tests.support.in_memory import serving
from tests.support.waiting import wait_until

_READ = "read sums.py\nend\nsay Done."
_RUN = "read sums.py\nrun echo one\nend\nsay Done."


@pytest.fixture
def alive(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., list[object]]]:
    """What there is of some classes that was made in the test, while no collector runs."""
    made: list[ReferenceType[Any]] = []

    def watch(kind: type) -> None:
        begin = kind.__init__  # type: ignore[misc] # of the very class that is watched

        def init(self: object, *args: Any, **options: Any) -> None:
            made.append(ref(self))
            begin(self, *args, **options)

        monkeypatch.setattr(kind, "__init__", init)

    for kind in (AIAgent, SessionServices, TurnServices):
        watch(kind)
    gc.collect()
    gc.disable()
    yield lambda *kinds: [thing for one in made if isinstance(thing := one(), kinds)]
    gc.enable()


async def _all_gone(alive: Callable[..., list[object]], *kinds: type) -> None:
    await asyncio.to_thread(wait_until, lambda: not alive(*kinds))


async def test_a_closed_session_holds_nothing_of_its_conversation(
    alive: Callable[..., list[object]], home: Path, workspace: Path
) -> None:
    async with serving(home) as editor:
        await editor.initialize()
        session = await editor.new_session(workspace)
        for _ in range(3):
            await editor.prompt(session, _RUN)
        assert alive(AIAgent)
        assert alive(SessionServices)
        await editor.request("session/close", {"sessionId": session})
        await _all_gone(alive, AIAgent, SessionServices, TurnServices)


async def test_an_unloaded_session_holds_nothing_of_its_conversation(
    alive: Callable[..., list[object]], home: Path, workspace: Path
) -> None:
    (home / "config.yaml").write_text("sessions: {idle_minutes: 0.001}\n", encoding="utf-8")
    async with serving(home) as editor:
        await editor.initialize()
        session = await editor.new_session(workspace)
        await editor.prompt(session, _RUN)
        await _all_gone(alive, AIAgent, SessionServices, TurnServices)
        assert (await editor.prompt(session, _RUN))["stopReason"] == "end_turn"


async def test_a_turn_that_is_over_is_held_by_nothing(
    alive: Callable[..., list[object]], home: Path, workspace: Path
) -> None:
    async with serving(home) as editor:
        await editor.initialize()
        session = await editor.new_session(workspace)
        for _ in range(3):
            await editor.prompt(session, _READ)
        await _all_gone(alive, TurnServices)
        assert alive(AIAgent)
