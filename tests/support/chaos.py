"""A real agent in turns in which everything happens at once, each cancelled at some moment; and a look at it."""

from __future__ import annotations

import random
import sys
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.chaos_acts import beside, between, undo
from tests.support.chaos_model import PlannedModel
from tests.support.chaos_person import EDITORS, moment, person
from tests.support.chaos_plans import Ground, make_round
from tests.support.chaos_remains import PATIENCE, Remains
from tests.support.chaos_session import ChaosSession
from tests.support.editor import Editor
from tests.support.editor_policies import allow
from tests.support.model_server import ModelServer
from tests.support.settings_files import use_model

_SUPPORT = Path(__file__).parent
_MOST_ACTS = 40


@dataclass(frozen=True, slots=True)
class Setting:
    """What a run is about.

    Attributes:
        protocol: how the model is asked.
        editor: of `EDITORS`.
        frames: a turn is cancelled after fewer frames than one of these; a whole one has about 250.
        first: the rounds are counted from here, so that another run may have worked in the same directory.
    """

    seed: str
    protocol: str
    editor: str
    frames: tuple[int, ...]
    first: int = 0


@dataclass
class ChaosRun:
    """One agent's process and the person before it.

    Attributes:
        cancelled: turns that were answered so.
        whole: turns that ended before they were cancelled.
        done: names of tools of which a call was completed.
        acts: what was done, in order.
    """

    agent: Editor
    chance: random.Random
    setting: Setting
    ground: Ground
    home: Path
    model: PlannedModel
    remains: Remains
    cancelled: int = 0
    whole: int = 0
    rounds: int = 0
    done: set[str] = field(default_factory=set)
    acts: list[str] = field(default_factory=list)

    @classmethod
    @asynccontextmanager
    async def started(
        cls,
        editor: Callable[..., Awaitable[Editor]],
        home: Path,
        scratch: Path,
        workspace: Path,
        setting: Setting,
    ) -> AsyncIterator[ChaosRun]:
        """A run in `workspace`, from the agent's start to its end, after which nothing may be left.

        Args:
            scratch: an empty directory for all but the sessions' work.
        """
        model, chance = PlannedModel(), random.Random(setting.seed)
        ground = Ground(workspace, scratch / "gates")
        for directory in (ground.gates, workspace / ".pids", scratch / "tmp"):
            directory.mkdir(exist_ok=True)
        for left in (workspace / ".pids").iterdir():
            left.unlink()  # of a run before, whose processes' numbers others may have
        with ModelServer(default=model.answer) as server:
            named = {"api_mode": setting.protocol}
            use_model(home, server, model=named, mcp_servers=_servers(scratch), delegation={"max_spawn_depth": 2})
            mark = uuid.uuid4().hex
            agent = await editor(home=home, env=Remains.environment_of(mark, scratch))
            await agent.initialize(EDITORS[setting.editor])
            run = cls(agent, chance, setting, ground, home, model, Remains(agent, mark, scratch))
            try:
                yield run
                await run.end()
            except BaseException as failure:
                failure.add_note(f"{setting}, after {run.cancelled} cancels in {run.rounds} rounds. What was done:")
                failure.add_note("\n".join(run.acts[-_MOST_ACTS:]))
                raise
            finally:
                ground.close()

    async def session(self, cancels: int) -> None:
        """One session with so many cancels, from its beginning to its end."""
        since = len(self.agent.frames)
        name = await self.agent.new_session(self.ground.workspace)
        self.acts.append(f"session/new {name}")
        database = self.home / "hermes-acp.db"
        session = ChaosSession(self.agent, name, self.ground, self.chance, database, self.acts, since)
        wanted = self.cancelled + cancels
        if self.chance.random() < 0.8:
            await session.say("at first")  # the first prompt waits for the MCP servers
        while self.cancelled < wanted:
            await self._round(session)
            await session.check_tasks()
            await between(session)
        await session.end()
        self.done |= {card["name"] for card in self.agent.cards(name).values() if card["status"] == "completed"}
        assert not self.model.problems
        await self.remains.check_idle()

    async def end(self) -> None:
        """The agent's end."""
        await self.agent.close(expect=0, within=PATIENCE)
        await self.remains.check_end()
        assert self.model.protocols == {self.setting.protocol}
        log = (self.home / "logs" / "hermes-acp.log").read_text(encoding="utf-8")
        assert " ERROR " not in log, log

    async def _round(self, session: ChaosSession) -> None:
        self.rounds += 1
        was = make_round(self.setting.first + self.rounds, self.chance, self.ground)
        agent = self.agent
        agent.on_permission = person(agent, self.chance)
        agent.answers_on_cancel = self.chance.random() < 0.8
        await session.calm()
        began, frames = len(agent.frames), self.chance.randrange(self.chance.choice(self.setting.frames))
        self.acts.append(f"{was.name}: to be cancelled after {frames} frames: {was.told}")
        turn = agent.begin_prompt(session.id, was.prompt)
        await moment(agent, frames // 2, turn)
        others = await beside(session)
        await moment(agent, frames - frames // 2, turn)
        agent.cancel(session.id)
        answer = await agent.answer(turn, "the cancelled prompt", PATIENCE)
        for other in others:
            await agent.answer(other, "the prompt beside it", PATIENCE)
        assert answer["stopReason"] in ("cancelled", "end_turn")
        if answer["stopReason"] == "cancelled":
            self.cancelled += 1
        else:
            self.whole += 1
        agent.on_permission = allow  # a turn of its own that nobody answers would last for ever
        await session.check_round(was)
        # One that was cancelled while it waited for a turn of its own never came to its turn.
        if session.had_own_turn(began):
            session.unsure.add(was.name)
        session.rounds.append(was.name)
        if answer["stopReason"] == "cancelled" and was.name not in session.unsure:
            await undo(session, was, began)
        await session.say(f"after {was.name}")


def _servers(scratch: Path) -> dict[str, Any]:
    python = {"command": sys.executable}
    steady, flapping = str(_SUPPORT / "mcp_plain_server.py"), str(_SUPPORT / "mcp_flapping_server.py")
    return {
        "steady": python | {"args": ["-IS", steady, "plain"]},
        "flapping": python | {"args": ["-IS", flapping, str(scratch / "starts")], "connect_timeout": 2},
    }
