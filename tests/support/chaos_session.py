"""One session in which turns are cancelled, and what has to hold in it each time."""

from __future__ import annotations

import json
import random
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.chaos_checks import check_news, check_prompts, check_same
from tests.support.chaos_model import planned
from tests.support.chaos_plans import Ground, Round
from tests.support.chaos_remains import PATIENCE, eventually
from tests.support.editor import Editor, RpcError
from tests.support.merged_view import MergedView, merged_view

_UNKNOWN = "Stopped."
_BUSY = "A prompt is running"


@dataclass(slots=True)
class ChaosSession:
    """A session as the person sees it.

    Attributes:
        database: where it is stored.
        acts: what was done in it, for whoever has to find out why it failed.
        since: the first frame of what the editor shows now.
        rounds: the names of rounds that are in view; of those in `unsure` nobody knows.
        gone: frames (from, to) of turns that were taken back: shown until the session is loaded again.
    """

    agent: Editor
    id: str
    ground: Ground
    chance: random.Random
    database: Path
    acts: list[str]
    since: int = 0
    rounds: list[str] = field(default_factory=list)
    unsure: set[str] = field(default_factory=set)
    gone: list[tuple[int, int]] = field(default_factory=list)

    async def say(self, words: str) -> None:
        """A prompt that comes to its end."""
        answer = await self.agent.prompt(self.id, planned([], f"Heard {words}."), 3 * PATIENCE)
        assert answer["stopReason"] == "end_turn"
        assert f"Heard {words}." in self.agent.text(self.id)

    async def command(self, text: str) -> str:
        """What a command answers."""
        known = len(self.agent.text(self.id))
        assert (await self.agent.prompt(self.id, text, 3 * PATIENCE))["stopReason"] == "end_turn"
        return self.agent.text(self.id)[known:]

    def shown(self) -> MergedView:
        """What the editor would show after a load."""
        frames = self.agent.frames
        positions = [at for at in range(self.since, len(frames)) if not any(a <= at < b for a, b in self.gone)]
        return merged_view(frames[at].update for at in positions if frames[at].is_update(self.id))

    async def load(self) -> None:
        """Load it again: all is shown as it was."""
        is_compared = False
        while not is_compared:
            await self.calm()
            live, since = self.shown(), len(self.agent.frames)
            try:
                place = {"sessionId": self.id, "cwd": str(self.ground.workspace), "mcpServers": []}
                await self.agent.request("session/load", place, 2 * PATIENCE)
            except RpcError as busy:  # a turn of its own has begun meanwhile
                if _BUSY not in str(busy):
                    raise
                continue
            # What one shows that was over before the load came is in neither.
            is_compared = not self.had_own_turn(since)
            self.since, self.gone = since, []
            if is_compared:
                again = self.shown()
                check_same(live, again)
                check_prompts(again, self.rounds, self.unsure)

    async def calm(self) -> None:
        """Until no turn of its own runs."""
        known = self.agent.wire.sessions[self.id]
        await self.agent.until(lambda: not known.own_turn, 3 * PATIENCE, "the end of a turn of its own")

    def had_own_turn(self, since: int) -> bool:
        """Whether a turn of its own ran at some time since that frame."""
        updates = [frame.update for frame in self.agent.frames[since:] if frame.is_update(self.id)]
        return any("backgroundTurn" in update.get("_meta", {}).get("hermes", {}) for update in updates)

    async def check_round(self, was: Round) -> None:
        """Of a turn that is over nothing runs, its cards are final and say what became of its files."""
        assert self.agent.wire.sessions[self.id].unfinished() == []
        await eventually(
            lambda: not self.ground.alive(f"{was.name}-f"),
            lambda: self.ground.alive(f"{was.name}-f"),
        )
        for path, content in self.ground.contents.items():
            if path.startswith(f"{was.name}-"):
                file = self.ground.workspace / path
                assert not file.exists() or file.read_text(encoding="utf-8") == content, f"{path} is broken"
        for card in self.agent.cards(self.id).values():
            path = str((card.get("rawInput") or {}).get("path", ""))
            if card.get("name") == "write_file" and path.startswith(f"{was.name}-") and "-i." not in path:
                is_there, is_done = (self.ground.workspace / path).exists(), card["status"] == "completed"
                # What the editor was told to write when the turn was cancelled, it may have written.
                is_open = not is_done and _UNKNOWN in json.dumps(card.get("content"))
                assert is_open or is_there == is_done, f"{path} is there: {is_there}; its card: {card}"

    async def tasks(self) -> dict[str, Any]:
        """What the agent tells of the session's tasks."""
        told: dict[str, Any] = await self.agent.request("_hermes/session/tasks", {"sessionId": self.id}, PATIENCE)
        return told

    async def running(self) -> list[dict[str, Any]]:
        """The tasks that run."""
        return [task for task in (await self.tasks())["tasks"] if task["state"] == "running"]

    async def until_over(self, *names: str) -> None:
        """Until none of these tasks runs, or no task at all where none is named."""
        deadline = time.monotonic() + PATIENCE
        while running := [task for task in await self.running() if not names or task["id"] in names]:
            assert time.monotonic() < deadline, f"these still run: {running}"

    async def check_tasks(self) -> None:
        """What is told to run runs, and nothing else; then some of it may end, at whatever moment."""
        names, deadline = self.ground.waiting(), time.monotonic() + PATIENCE
        while wrong := [name for name in names if self._lives(name) != (name in await self._told_to_run())]:
            # One that has just begun tells its process in a moment.
            lives = {name: self._lives(name) for name in wrong}
            assert time.monotonic() < deadline, f"these run (True) and are not told to, or the other way: {lives}"
        self.ground.open_gates(*(name for name in self.ground.waiting() if self.chance.random() < 0.5))

    async def end(self) -> None:
        """Let all come to its end, look at everything again, and close it."""
        self.ground.open_gates(*self.ground.waiting())
        await self.until_over()
        await self.calm()
        await self.say("at last")
        known = await self.tasks()
        assert known["waiting"] == 0
        assert not self.ground.alive("r")
        await self.load()
        check_news(self.database, self.id, known["tasks"])
        await self.agent.request("session/close", {"sessionId": self.id}, PATIENCE)

    def _lives(self, name: str) -> bool:
        return bool(self.ground.alive(name))

    async def _told_to_run(self) -> set[str]:
        return {task["title"].partition(";")[0].rpartition("/")[2] for task in await self.running()}
