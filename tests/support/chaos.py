"""A real agent in turns in which everything happens at once, each cancelled at some moment; and a look at it."""

from __future__ import annotations

import asyncio
import json
import random
import re
import sys
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.chaos_checks import check_news, check_prompts, check_same
from tests.support.chaos_model import PlannedModel, planned
from tests.support.chaos_plans import Ground, Round, make_round
from tests.support.editor import PLAIN, ZED, Editor
from tests.support.merged_view import merged_view
from tests.support.model_server import ModelServer
from tests.support.processes import has_ended
from tests.support.remains import Held, held_by, running_with
from tests.support.settings_files import use_model
from tests.support.waiting import wait_until

_UNKNOWN = "What it did so far is unknown"
_MARK = "CHAOS_RUN"
_SUPPORT = Path(__file__).parent
_MORE = 4
"""Threads and sockets that there may be more of: those that wait for the next work, connections kept to the model."""
_PATIENCE = 10.0
_STALLED = 0.6
"""Seconds without a frame after which a turn is taken to wait for something that does not come."""


@dataclass
class ChaosRun:
    """One agent's process and the person before it.

    Attributes:
        frames: a turn is cancelled after fewer frames than one of these; a whole one has about 250.
        cancelled: turns that were answered so.
        whole: turns that ended before they were cancelled.
        done: names of tools of which a call was completed.
    """

    agent: Editor
    chance: random.Random
    ground: Ground
    home: Path
    scratch: Path
    model: PlannedModel
    mark: str
    frames: tuple[int, ...]
    cancelled: int = 0
    whole: int = 0
    rounds: int = 0
    done: set[str] = field(default_factory=set)
    _held: Held | None = None

    @classmethod
    @asynccontextmanager
    async def started(
        cls,
        editor: Callable[..., Awaitable[Editor]],
        home: Path,
        scratch: Path,
        workspace: Path,
        seed: int,
        frames: tuple[int, ...],
    ) -> AsyncIterator[ChaosRun]:
        """A run in `workspace`, from the agent's start to its end, after which nothing may be left."""
        model, mark, chance = PlannedModel(), uuid.uuid4().hex, random.Random(seed)
        ground = Ground(workspace, scratch / "gates")
        for directory in (ground.gates, workspace / ".pids", scratch / "tmp"):
            directory.mkdir()
        environment = {_MARK: mark, "TMPDIR": str(scratch / "tmp"), "XDG_CACHE_HOME": str(scratch / "cache")}
        with ModelServer(default=model.answer) as server:
            use_model(home, server, mcp_servers=_servers(scratch), delegation={"max_spawn_depth": 2})
            agent = await editor(home=home, env=environment)
            await agent.initialize(chance.choice((PLAIN, ZED)))
            run = cls(agent, chance, ground, home, scratch, model, mark, frames)
            try:
                yield run
                await run.end()
            except BaseException as failure:
                failure.add_note(f"seed {seed}, after {run.cancelled} cancels in {run.rounds} rounds")
                raise
            finally:
                ground.close()

    async def session(self, cancels: int) -> None:
        """One session with so many cancels, from its beginning to its end."""
        workspace = self.ground.workspace
        session = await self.agent.new_session(workspace)
        wanted = self.cancelled + cancels
        if self.chance.random() < 0.8:
            await self._say(session, "at first")  # the first prompt waits for the MCP servers
        while self.cancelled < wanted:
            await self._round(session)
            await self._check_tasks(session)
        self.ground.open_gates(*self.ground.waiting())
        await self._until_quiet(session)
        await self._say(session, "at last")
        known = await self._tasks(session)
        assert known["waiting"] == 0
        assert not [pid for pid in self.ground.pids("r") if not has_ended(pid)]
        self.done |= {card["name"] for card in self.agent.cards(session).values() if card["status"] == "completed"}
        live = merged_view(self.agent.updates(session))
        since = len(self.agent.frames)
        await self.agent.load_session(session, workspace)
        again = merged_view(frame.update for frame in self.agent.frames[since:] if frame.is_update(session))
        check_same(live, again)
        check_news(self.home / "hermes-acp.db", session, known["tasks"])
        check_prompts(again)
        assert not self.model.problems
        await self.agent.request("session/close", {"sessionId": session})
        await self._check_remains()

    async def end(self) -> None:
        """The agent's end."""
        await self.agent.close(expect=0)
        await _eventually(lambda: not running_with(_MARK, self.mark), lambda: running_with(_MARK, self.mark))
        assert self._places() == []
        log = (self.home / "logs" / "hermes-acp.log").read_text(encoding="utf-8")
        assert " ERROR " not in log, log

    async def _round(self, session: str) -> None:
        self.rounds += 1
        planned_round = make_round(self.rounds, self.chance, self.ground)
        self.agent.on_permission = self._person()
        self.agent.answers_on_cancel = self.chance.random() < 0.8
        turn = self.agent.begin_prompt(session, planned_round.prompt)
        await self._moment(turn)
        self.agent.cancel(session)
        answer = await self.agent.answer(turn, "the cancelled prompt", 10)
        assert answer["stopReason"] in ("cancelled", "end_turn")
        if answer["stopReason"] == "cancelled":
            self.cancelled += 1
        else:
            self.whole += 1
        await self._check_round(session, planned_round)
        await self._say(session, f"after {planned_round.name}")

    async def _moment(self, turn: asyncio.Future[Any]) -> None:
        """Wait until so many frames have gone either way, or none goes any more."""
        frames = self.agent.frames
        wanted = len(frames) + self.chance.randrange(self.chance.choice(self.frames))
        with suppress(AssertionError):
            while len(frames) < wanted and not turn.done():
                known = len(frames)
                await self.agent.until(lambda: len(frames) > known, _STALLED)  # noqa: B023 - it is waited for here

    async def _check_round(self, session: str, was: Round) -> None:
        assert self.agent.wire.sessions[session].unfinished() == []
        await _eventually(
            lambda: all(has_ended(pid) for pid in self.ground.pids(f"{was.name}-f")),
            lambda: {pid: running_with(_MARK, self.mark).get(pid) for pid in self.ground.pids(f"{was.name}-f")},
        )
        self._check_files(session, was)

    def _check_files(self, session: str, was: Round) -> None:
        """Each file is there as it was to be, or not at all, as its card says."""
        for path, content in self.ground.contents.items():
            if path.startswith(f"{was.name}-"):
                file = self.ground.workspace / path
                assert not file.exists() or file.read_text(encoding="utf-8") == content, f"{path} is broken"
        for card in self.agent.cards(session).values():
            path = str((card.get("rawInput") or {}).get("path", ""))
            if card.get("name") == "write_file" and path.startswith(f"{was.name}-") and "-i." not in path:
                is_there, is_done = (self.ground.workspace / path).exists(), card["status"] == "completed"
                # What the editor was told to write when the turn was cancelled, it may have written.
                is_open = not is_done and _UNKNOWN in json.dumps(card.get("content"))
                assert is_open or is_there == is_done, f"{path} is there: {is_there}; its card: {card}"

    async def _say(self, session: str, words: str) -> None:
        answer = await self.agent.prompt(session, planned([], f"Heard {words}."))
        assert answer["stopReason"] == "end_turn"
        assert f"Heard {words}." in self.agent.text(session)

    async def _tasks(self, session: str) -> dict[str, Any]:
        return await self.agent.request("_hermes/session/tasks", {"sessionId": session})

    async def _check_tasks(self, session: str) -> None:
        """What is told to run runs, and nothing else; then some of it may end, at whatever moment."""
        names, deadline = self.ground.waiting(), time.monotonic() + _PATIENCE
        while wrong := [name for name in names if self._lives(name) != (name in await self._told_to_run(session))]:
            # One that has just begun tells its process in a moment.
            assert time.monotonic() < deadline, f"these run and are not told to, or the other way: {wrong}"
        self.ground.open_gates(*(name for name in self.ground.waiting() if self.chance.random() < 0.5))

    def _lives(self, name: str) -> bool:
        return any(not has_ended(pid) for pid in self.ground.pids(name))

    async def _told_to_run(self, session: str) -> set[str]:
        return {task["title"].partition(";")[0].rpartition("/")[2] for task in await self._running_tasks(session)}

    async def _running_tasks(self, session: str) -> list[dict[str, Any]]:
        return [task for task in (await self._tasks(session))["tasks"] if task["state"] == "running"]

    async def _until_quiet(self, session: str) -> None:
        """Until nothing runs in the background."""
        deadline = time.monotonic() + 2 * _PATIENCE
        while running := await self._running_tasks(session):
            assert time.monotonic() < deadline, f"these still run: {running}"

    async def _check_remains(self) -> None:
        """Without a session there are the agent and its guardian, and hold what they held after the first one."""
        assert self.agent.process is not None
        pid = self.agent.process.pid
        await _eventually(lambda: set(self._running()) == {pid}, self._running)
        first = self._held = self._held or held_by(pid)

        def is_back() -> bool:
            now = held_by(pid)
            return (
                now.threads <= first.threads + _MORE
                and now.sockets <= first.sockets + _MORE
                and now.descriptors <= first.descriptors + 2 * _MORE
            )

        await _eventually(is_back, lambda: f"it held {first}, now {held_by(pid)}")
        await _eventually(lambda: not self._places(), self._places)

    def _places(self) -> list[Path]:
        """Temporary files, and copies of the work tree but those of which the person was told that they are kept."""
        directory = self.scratch / "cache" / "hermes-acp" / "copies"
        copies = [copy for copy in (directory.iterdir() if directory.exists() else ()) if not self._is_kept(copy)]
        return [*(self.scratch / "tmp").iterdir(), *copies]

    def _is_kept(self, copy: Path) -> bool:
        if not (copy / "kept").exists():
            return False
        # Its path stands in its own calls' cards too: only words that say that it is kept count.
        said = (json.dumps(frame.message, ensure_ascii=False) for frame in self.agent.frames if not frame.ours)
        told = re.compile(rf"kept(?: for a week)?: [^\n\"]*{re.escape(copy.name)}")
        return any(told.search(words) for words in said)

    def _running(self) -> dict[int, str]:
        """All processes of the run but the guardian."""
        found = running_with(_MARK, self.mark)
        return {pid: command for pid, command in found.items() if "hermes-acp-guardian" not in command}

    def _person(self) -> Callable[[dict[str, Any]], Awaitable[str | None]]:
        """Somebody who says yes or no, at once or late, or nothing."""

        async def decide(params: dict[str, Any]) -> str | None:
            way = self.chance.choices(("yes", "no", "never", "late"), weights=(12, 3, 1, 3))[0]
            if way == "never":
                return None
            if way == "late":
                wanted = len(self.agent.frames) + self.chance.randrange(1, 20)
                with suppress(AssertionError):
                    await self.agent.until(lambda: len(self.agent.frames) >= wanted, _STALLED / 2)
            kind = "reject_once" if way == "no" else "allow_once"
            return next(str(option["optionId"]) for option in params["options"] if option["kind"] == kind)

        return decide


def _servers(scratch: Path) -> dict[str, Any]:
    python = {"command": sys.executable}
    steady, flapping = str(_SUPPORT / "mcp_plain_server.py"), str(_SUPPORT / "mcp_flapping_server.py")
    return {
        "steady": python | {"args": ["-IS", steady, "plain"]},
        "flapping": python | {"args": ["-IS", flapping, str(scratch / "starts")], "connect_timeout": 2},
    }


async def _eventually(holds: Callable[[], bool], told: Callable[[], Any]) -> None:
    try:
        await asyncio.to_thread(wait_until, holds, _PATIENCE)
    except AssertionError as late:
        raise AssertionError(f"it did not happen: {told()}") from late
