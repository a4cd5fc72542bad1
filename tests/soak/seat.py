"""A person at work in one session after the other."""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.soak.model import SoakModel
from tests.soak.plans import FILES, Plan, Planner
from tests.support.editor import Editor, RpcError

PATIENCE = 120.0
"""Seconds that anything may take on a machine with much else to do."""
_BUSY = "A prompt is running"
_LATER = "Try again"
"""What one is told whose session cannot be read or stored at once, on a machine with much else to do."""
_AGAIN = 2.0
_MODES = ("default", "accept_edits", "dont_ask")
_LOOKS = ("/status", "/context", "/cost", "/tasks", "/help", "/mcp")
_SERVER = Path(__file__).parents[1] / "support" / "mcp_plain_server.py"
_WITH_SERVER = 4
_LONGEST = 25
"""Acts in one session, at most."""
_IDLE = 6.0
"""Seconds of a long pause, in which a session is unloaded."""
_SILENT = 45.0
"""Seconds after which one says something again: what is silent for long is pruned."""


async def insist(agent: Editor, counts: Counter[str], method: str, params: dict[str, Any]) -> Any:
    """Ask, and again where one is told to; the answer."""
    while True:
        try:
            return await agent.request(method, params, PATIENCE)
        except RpcError as refused:
            if _LATER not in str(refused):
                raise
        counts["later"] += 1
        await asyncio.sleep(_AGAIN)


@dataclass(slots=True)
class Seat:
    """One of many people before the same editor.

    Attributes:
        pause: seconds between two acts, on average.
        counts: how often what was done, by all of them.
    """

    agent: Editor
    model: SoakModel
    chance: random.Random
    cwd: Path
    number: int
    pause: float
    counts: Counter[str]
    plans: Planner = field(init=False)
    _id: str = ""
    _acts: int = 0
    _said: float = 0.0

    def __post_init__(self) -> None:
        self.plans = Planner(self.chance, iter(range(self.number * 1_000_000, (self.number + 1) * 1_000_000)))

    async def work(self, over: Callable[[], bool]) -> None:
        """Act until it is over; then the session is closed."""
        await self.begin()
        while not over():
            await asyncio.sleep(min(self.chance.expovariate(1 / self.pause), 3 * self.pause))
            if self._acts >= _LONGEST:
                await self.end()
                await self.begin()
            else:
                await self._act()
            self._acts += 1
        await self.end()

    async def begin(self) -> None:
        """A session in this seat's own directory."""
        for path in FILES:
            file = self.cwd / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("as it was\n", encoding="utf-8")
        self._id = await self.agent.new_session(self.cwd, mcpServers=self._servers())
        self.agent.opened.clear()
        self._acts, self._said = 0, time.monotonic()
        self.counts["new"] += 1

    async def end(self) -> None:
        """Close or delete the session."""
        how = self.chance.choice(("close", "delete"))
        self.counts[how] += 1
        await self._ask(f"session/{how}")

    async def turn(self, plan: Plan) -> None:
        """A turn that comes to its end."""
        answer = await self.agent.prompt(self._id, self.model.expect(plan), PATIENCE)
        assert answer["stopReason"] == "end_turn", answer
        self.model.forget(plan)
        self._said = time.monotonic()

    async def _act(self) -> None:
        acts: dict[Callable[[], Awaitable[None]], int] = {
            self._usual: 30,
            self._asked: 4,
            self._cancelled: 4,
            self._undone: 2,
            self._looked: 2,
            self._compacted: 2,
            self._chosen: 2,
            self._loaded: 3,
            self._resumed: 2,
            self._forked: 2,
            self._idle: 2,
        }
        if self._servers():
            acts[self._served] = 6
        act = self.chance.choices(list(acts), weights=list(acts.values()))[0]
        if time.monotonic() - self._said > _SILENT:
            act = self._usual
        self.counts[act.__name__.removeprefix("_")] += 1
        try:
            await act()
        except RpcError as refused:
            if _LATER in str(refused):
                self.counts["later"] += 1
            elif _BUSY not in str(refused):  # a turn of its own has begun
                refused.add_note(
                    f"act {self._acts} of a session that last spoke {time.monotonic() - self._said:.0f} s ago"
                )
                raise

    async def _usual(self) -> None:
        await self.turn(self.plans.usual())

    async def _asked(self) -> None:
        await self.turn(self.plans.asked())

    async def _served(self) -> None:
        await self.turn(self.plans.server())

    async def _cancelled(self) -> None:
        plan = self.plans.endless()
        turn = self.agent.begin_prompt(self._id, self.model.expect(plan))
        await asyncio.wait({turn}, timeout=self.chance.uniform(0, 1))
        self.agent.cancel(self._id)
        answer = await self.agent.answer(turn, "the cancelled prompt", PATIENCE)
        assert answer["stopReason"] in ("cancelled", "end_turn"), answer
        self.model.forget(plan)

    async def _undone(self) -> None:
        await self.turn(self.plans.files())
        await self._typed("/undo")
        if self.chance.random() < 0.5:
            await self._typed("/redo")

    async def _looked(self) -> None:
        await self._typed(self.chance.choice(_LOOKS))

    async def _compacted(self) -> None:
        await self._typed("/compact")

    async def _chosen(self) -> None:
        await self._ask("session/set_mode", modeId=self.chance.choice(_MODES))

    async def _loaded(self) -> None:
        await self._ask("session/load", **self._place())

    async def _resumed(self) -> None:
        await self._ask("session/resume", **self._place())

    async def _forked(self) -> None:
        fork = (await self._ask("session/fork", **self._place()))["sessionId"]
        await self.end()
        self._id = fork

    async def _idle(self) -> None:
        await asyncio.sleep(_IDLE)

    async def _typed(self, text: str) -> None:
        answer = await self.agent.prompt(self._id, text, PATIENCE)
        assert answer["stopReason"] == "end_turn", answer

    async def _ask(self, method: str, **params: Any) -> Any:
        return await insist(self.agent, self.counts, method, {"sessionId": self._id, **params})

    def _place(self) -> dict[str, Any]:
        return {"cwd": str(self.cwd), "mcpServers": self._servers()}

    def _servers(self) -> list[dict[str, Any]]:
        if self.number % _WITH_SERVER:
            return []
        return [{"name": "steady", "command": sys.executable, "args": ["-IS", str(_SERVER), "plain"], "env": []}]
