"""All that a run knows: the agent, the model behind it, the sessions as they should be, and what was done."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.model.calls import Steps, prompt_of
from tests.model.ground import Ground
from tests.model.invariants.files import HALF_WRITTEN
from tests.model.lived import Lived, Mode, Turn, Undone
from tests.model.person import Person
from tests.model.process import PATIENCE, AgentProcess
from tests.model.told import ToldModel
from tests.support.editor import Editor

MOST_SESSIONS = 3


@dataclass(frozen=True, slots=True)
class Typed:
    """What the person gives a file while they are asked about a call that changes it."""

    call_id: str
    path: str
    text: str
    is_saved: bool

    def on(self, ground: Ground) -> Ground:
        """The workspace with it."""
        return ground.typed(self.path, self.text, is_saved=self.is_saved)


@dataclass(slots=True)
class Running:
    """A turn on its way.

    Attributes:
        since: the first frame of it, its prompt.
        behind: the turn that it waits for.
        switch: the call at whose question another mode was chosen, and the mode.
    """

    session: Lived
    turn: Turn
    person: Person
    answer: asyncio.Future[Any]
    since: int
    undone: list[Undone]
    behind: Running | None = None
    switch: tuple[str, Mode] | None = None
    typed: Typed | None = None


@dataclass(slots=True)
class World:
    """A run.

    Attributes:
        sessions: those that are stored, by id; `deleted` has the ids of others.
        kept: what was answered for good, by workspace.
        acts: what was done, in order.
        turns: how many have begun.
        counts: how often each kind of thing was done.
    """

    process: AgentProcess
    model: ToldModel
    chance: random.Random
    directory: Path
    sessions: dict[str, Lived] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)
    kept: dict[Path, set[tuple[str, str]]] = field(default_factory=dict)
    persons: dict[str, Person] = field(default_factory=dict)
    acts: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    turns: int = 0
    places: int = 0

    @property
    def agent(self) -> Editor:
        """The editor in front of the agent."""
        return self.process.editor

    @property
    def database(self) -> Path:
        return self.process.home / "hermes-acp.db"

    def open_sessions(self) -> list[Lived]:
        return [session for session in self.sessions.values() if session.is_open]

    def types(self, session: Lived, path: str, text: str, *, is_saved: bool) -> None:
        """Give a file this text: on disk by some program, or in the editor without saving it."""
        place = session.cwd / path
        if not is_saved:
            self.process.files.buffers[str(place)] = text
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")

    def reload_files(self) -> None:
        """The editor lets go of each text that has nothing unsaved."""
        unsaved = {str(each.cwd / path) for each in self.sessions.values() for path in each.unsaved}
        for path in self.process.files.buffers.keys() - unsaved:
            del self.process.files.buffers[path]

    def did(self, what: str) -> None:
        """Note what is done now."""
        self.acts.append(what)
        kind = what.partition(":")[0]
        self.counts[kind] = self.counts.get(kind, 0) + 1

    def person(self, *, is_careful: bool = False) -> Person:
        """Somebody whose choices do not depend on what else goes on."""
        return Person(random.Random(self.chance.random()), is_careful)

    async def start(self) -> None:
        """Start the agent; its questions go to whoever began the turn."""
        await self.process.start()
        self.agent.on_permission = self._decide

    def place(self, like: Path | None = None) -> Path:
        """A git workspace of its own, or a copy of another."""
        self.places += 1
        path = self.directory / f"workspace{self.places}"
        if like is not None:
            return Path(shutil.copytree(like, path, symlinks=True, ignore=shutil.ignore_patterns(HALF_WRITTEN)))
        path.mkdir()
        quiet = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        subprocess.run(("git", "init", "-q", "--template=", str(path)), env=quiet, check=True)
        return path

    def named(self) -> str:
        """The name of the next turn."""
        self.turns += 1
        return f"t{self.turns}"

    def begin(self, session: Lived, steps: Steps, person: Person, name: str) -> Running:
        """Prompt."""
        undone = list(session.undone)
        turn = Turn(self.turns, name, prompt_of(name, steps), steps)
        session.begins(turn)
        return self._prompt(session, turn, person, undone)

    async def command(self, session: Lived, text: str, person: Person) -> tuple[Turn, str]:
        """Type a command; what is answered."""
        turn = Turn(self.turns, self.named(), text, end="command")
        turn.number = self.turns
        session.begins(turn)
        running = self._prompt(session, turn, person, [])
        result = await self.agent.answer(running.answer, text, PATIENCE)
        assert result["stopReason"] == "end_turn", result
        self.took(running)
        said = (each for each in turn.updates if each["sessionUpdate"] == "agent_message_chunk")
        return turn, "".join(each["content"].get("text", "") for each in said)

    def took(self, running: Running) -> None:
        """Keep what was shown of a turn that is over."""
        since = running.since if running.behind is None else self.answered_at(running.behind)
        frames = self.agent.frames[since : self.answered_at(running)]
        running.turn.updates = [frame.update for frame in frames if frame.is_update(running.session.id)]

    def answered_at(self, running: Running) -> int:
        """The frame that answers a turn's prompt, or the next that comes."""
        frames, asked = self.agent.frames, self.agent.frames[running.since].id
        places = (at for at in range(running.since, len(frames)) if not frames[at].ours and frames[at].id == asked)
        return next((at for at in places if frames[at].method is None), len(frames))

    def _prompt(self, session: Lived, turn: Turn, person: Person, undone: list[Undone]) -> Running:
        since = len(self.agent.frames)
        self.persons[turn.name] = self.persons[session.id] = person
        answer = self.agent.begin_prompt(session.id, turn.prompt)
        return Running(session, turn, person, answer, since, undone)

    async def _decide(self, params: dict[str, Any]) -> str | dict[str, Any] | None:
        turn = str(params["toolCall"]["toolCallId"]).partition("-")[0].partition("s")[0]
        return await self.persons.get(turn, self.persons[params["sessionId"]]).decide(params)
