"""A real agent in front of many people for a long time, looked at every few seconds."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import io
import json
import random
import sys
import time
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from acp_adapter.cli.sessions.listing import run_change
from agent_core.home import Home
from agent_core.sessions.library import SessionLibrary
from tests.soak.model import SoakModel
from tests.soak.plans import Planner
from tests.soak.samples import Sample
from tests.soak.seat import PATIENCE, Seat, insist
from tests.support.chaos_person import EDITORS
from tests.support.chaos_remains import Remains
from tests.support.editor import Editor
from tests.support.model_server import ModelServer
from tests.support.settings_files import use_model

_KEPT_FRAMES, _KEPT_REQUESTS = 50, 8
_UNLOADED_AFTER = 0.05
"""Minutes."""
_WINDOW = 64_000
_TOLD = 20
_AS_LONG = "sum(range(1_000_000))"
_PROBES = 90_000_000
"""Their plans are counted from here."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What a soak is.

    Attributes:
        editor: of `EDITORS`.
        seconds: how long the people work.
        pause: seconds between two acts of one of them, on average.
        every: seconds between two looks.
        kept: seconds that sessions are kept which nobody uses.
    """

    seed: str
    editor: str
    seconds: float
    sessions: int = 32
    pause: float = 4.0
    every: float = 2.0
    kept: float = 90.0


@dataclass(slots=True)
class Soak:
    """One process, from its start to its end.

    Attributes:
        samples: what it held while the people worked.
        probes: seconds that the same prompt took, one after the other.
        others: seconds that a new Python took between them, which works about as long and tells what else the machine
            does.
        idle: what it held with no session, before and afterwards.
        counts: what was done, how often.
    """

    agent: Editor
    setting: Setting
    home: Path
    scratch: Path
    model: SoakModel
    remains: Remains
    samples: list[Sample] = field(default_factory=list)
    probes: list[float] = field(default_factory=list)
    others: list[float] = field(default_factory=list)
    idle: list[Sample] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    _began: float = field(default_factory=time.monotonic)

    @classmethod
    @asynccontextmanager
    async def started(
        cls, editor: Callable[..., Awaitable[Editor]], home: Path, scratch: Path, setting: Setting
    ) -> AsyncIterator[Soak]:
        """A soak in an empty directory; at its end nothing may be left."""
        model = SoakModel()
        for name in ("tmp", "probe"):
            (scratch / name).mkdir(parents=True)
        with ModelServer(default=model.answer, keep=_KEPT_REQUESTS) as server:
            use_model(home, server, model={"context_length": _WINDOW}, sessions={"idle_minutes": _UNLOADED_AFTER})
            mark = uuid.uuid4().hex
            agent = await editor(home=home, env=Remains.environment_of(mark, scratch))
            await agent.initialize(EDITORS[setting.editor])
            soak = cls(agent, setting, home, scratch, model, Remains(agent, mark, scratch))
            agent.on_permission = _Person(random.Random(setting.seed)).decide
            yield soak
            await agent.close(expect=0, within=PATIENCE)
            await soak.remains.check_end()

    async def run(self) -> None:
        """The whole: all people work for a moment, then for long; before and after, nobody does.

        What it holds first without a session is what it holds once all that it needs was used.
        """
        await self._people(self.setting.sessions * self.setting.pause / 8)
        await self._nobody()
        self._began = time.monotonic()
        await self._people(self.setting.seconds, watched=True)
        await self._nobody()

    def keep(self, path: Path) -> None:
        """Write all figures into a file."""
        figures = {
            "setting": asdict(self.setting),
            "samples": [asdict(sample) for sample in self.samples],
            "idle": [asdict(sample) for sample in self.idle],
            "probes": self.probes,
            "others": self.others,
            "counts": dict(self.counts),
        }
        path.write_text(json.dumps(figures), encoding="utf-8")

    def told(self) -> list[str]:
        """Some of the samples in a line each, for whoever has to find out what grows."""
        step = max(len(self.samples) // _TOLD, 1)
        return [sample.told() for sample in (*self.idle[:1], *self.samples[::step], *self.idle[1:])]

    async def _people(self, seconds: float, *, watched: bool = False) -> None:
        until = time.monotonic() + seconds

        def is_over() -> bool:
            return time.monotonic() >= until

        async with asyncio.TaskGroup() as all_of_it:
            for number in range(self.setting.sessions):
                all_of_it.create_task(self._seat(number, watched=watched).work(is_over))
            if watched:
                all_of_it.create_task(self._watch(is_over))
                all_of_it.create_task(self._prune(is_over))

    def _seat(self, number: int, *, watched: bool) -> Seat:
        cwd = self.scratch / "work" / str(number)
        cwd.mkdir(parents=True, exist_ok=True)
        chance = random.Random(f"{self.setting.seed}-{number}-{watched}")
        pause = self.setting.pause if watched else self.setting.pause / 4
        seat = number + (self.setting.sessions if watched else 0) + 1
        return Seat(self.agent, self.model, chance, cwd, seat, pause, self.counts)

    async def _watch(self, is_over: Callable[[], bool]) -> None:
        plans = Planner(random.Random(self.setting.seed), iter(range(_PROBES, 2 * _PROBES)))
        while not is_over():
            await asyncio.sleep(self.setting.every)
            self.samples.append(await self._look())
            self.probes.append(await self._probe(plans))
            self.others.append(await _new_python())
            del self.agent.frames[:-_KEPT_FRAMES]
            assert not self.model.problems

    async def _probe(self, plans: Planner) -> float:
        """How many seconds the same prompt takes, in a session of its own."""
        session = await self.agent.new_session(self.scratch / "probe")
        prompt = self.model.expect(plans.probe())
        began = time.monotonic()
        answer = await self.agent.prompt(session, prompt, PATIENCE)
        took = time.monotonic() - began
        assert answer["stopReason"] == "end_turn"
        await insist(self.agent, self.counts, "session/delete", {"sessionId": session})
        return took

    async def _prune(self, is_over: Callable[[], bool]) -> None:
        """Delete what nobody has used for long, from another process, as `hermes-acp sessions prune` does."""
        options = argparse.Namespace(action="prune", older_than=self.setting.kept, dry_run=False, yes=True)

        def prune() -> None:
            library = SessionLibrary(Home(self.home))
            with contextlib.closing(library), contextlib.redirect_stdout(io.StringIO()) as said:
                assert run_change(options, library) == 0
            if said.getvalue().startswith("Deleted"):
                self.counts["pruned"] += int(said.getvalue().split()[1])

        while not is_over():
            await asyncio.sleep(self.setting.kept / 3)
            await asyncio.to_thread(prune)

    async def _nobody(self) -> None:
        await self.remains.check_idle()
        self.idle.append(await self._look())

    async def _look(self) -> Sample:
        assert self.agent.process is not None
        at, acts = time.monotonic() - self._began, sum(self.counts.values())
        return await asyncio.to_thread(Sample.of, self.agent.process.pid, self.home, self.scratch / "tmp", at, acts)


async def _new_python() -> float:
    """How many seconds a process takes that has about as much to do as a prompt: one with less waits for less."""
    began = time.monotonic()
    process = await asyncio.create_subprocess_exec(sys.executable, "-ISc", _AS_LONG)
    assert await process.wait() == 0
    return time.monotonic() - began


@dataclass(frozen=True, slots=True)
class _Person:
    """Says yes or no, at once or late."""

    chance: random.Random

    async def decide(self, params: dict[str, Any]) -> str:
        if self.chance.random() < 0.2:
            await asyncio.sleep(self.chance.random())
        kind = "reject_once" if self.chance.random() < 0.2 else "allow_once"
        return next(str(option["optionId"]) for option in params["options"] if option["kind"] == kind)
