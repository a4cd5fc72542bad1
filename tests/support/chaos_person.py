"""The person before the editor: how they answer, when they lose patience, and what else they do meanwhile."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from tests.support.editor import PLAIN, ZED, Editor

STALLED = 0.6
"""Seconds without a frame after which a turn is taken to wait for something that does not come."""

OWN_TURNS: dict[str, Any] = {
    **ZED,
    "session": {**ZED["session"], "notices": {}},
    "_meta": {**ZED["_meta"], "hermes": {"backgroundTurns": True}},
}
EDITORS = {"plain": PLAIN, "zed": ZED, "own turns": OWN_TURNS}


def person(agent: Editor, chance: random.Random) -> Callable[[dict[str, Any]], Awaitable[str | None]]:
    """Somebody who says yes or no, at once or late, or nothing."""

    async def decide(params: dict[str, Any]) -> str | None:
        way = chance.choices(("yes", "no", "never", "late"), weights=(12, 3, 1, 3))[0]
        if way == "never":
            return None
        if way == "late":
            wanted = len(agent.frames) + chance.randrange(1, 20)
            with suppress(AssertionError):
                await agent.until(lambda: len(agent.frames) >= wanted, STALLED / 2)
        kind = "reject_once" if way == "no" else "allow_once"
        return next(str(option["optionId"]) for option in params["options"] if option["kind"] == kind)

    return decide


async def moment(agent: Editor, frames: int, turn: asyncio.Future[Any]) -> None:
    """Wait until so many frames have gone either way, none goes any more, or the turn is over."""
    wanted = len(agent.frames) + frames
    with suppress(AssertionError):
        while len(agent.frames) < wanted and not turn.done():
            known = len(agent.frames)
            await agent.until(lambda: len(agent.frames) > known, STALLED)  # noqa: B023 - it is waited for here
