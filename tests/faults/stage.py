"""An agent's process with faults, the person before it, and what is looked at when it is started again."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import sys
import uuid
from collections.abc import Iterator
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.faults.fault import Fault, struck_file, write_plan
from tests.support.editor import Editor
from tests.support.editor_profiles import SHOWS_NAMES
from tests.support.merged_view import MergedView, merged_view
from tests.support.remains import running_with
from tests.support.waiting import wait_until

VARIABLE = "FAULTS_RUN"
_LEFTOVERS = ("*.tmp", ".hermes-*", "*.new", "*.new-*", "*-journal")
_BOUNDED = (".json.tmp", "permissions.yaml.tmp", "/run/", "/blobs/")
"""What is overwritten by the next of its name, or goes once it is old."""
_OVER = ("completed", "failed")


@dataclass
class Stage:
    """A home and a workspace in which agents start, one after the other.

    Attributes:
        session: the one that is talked in.
        answered: prompts whose answer the person has got.
        clock: a file with the seconds that the agent's clock is ahead; None: its clock is right.
        arguments: of each agent.
    """

    home: Path
    workspace: Path
    scratch: Path
    stack: AsyncExitStack
    session: str = ""
    answered: list[str] = field(default_factory=list)
    clock: Path | None = None
    arguments: tuple[str, ...] = ("--offline",)
    facts: dict[str, Any] = field(default_factory=dict)
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)
    _plans: int = 0

    @property
    def armed(self) -> Path:
        """While it is there, faults strike."""
        return self.scratch / "armed"

    async def start(self, *faults: Fault, armed: bool = False, signals: bool = False, **options: Any) -> Editor:
        """An agent with these faults, whose calls `signals` interrupt; without any it is the program as it is."""
        self.armed.unlink(missing_ok=True)
        if armed:
            self.armed.touch()
        environment = {
            VARIABLE: self.mark,
            "TMPDIR": str(self._made("tmp")),
            "XDG_CACHE_HOME": str(self._made("cache")),
        }
        if faults or self.clock or signals:
            self._plans += 1
            plan = self.scratch / f"plan{self._plans}.json"
            those = [replace(each, during=str(self.armed)) for each in faults]
            write_plan(plan, those, self.clock, signals=signals)
            options["command"] = [sys.executable, "-P", "-m", "tests.faults.launcher", str(plan)]
        agent = await Editor.spawn(
            *self.arguments, home=self.home, cwd=self._made("elsewhere"), env=environment, **options
        )
        return await self.stack.enter_async_context(agent)

    def struck(self) -> list[int]:
        """The numbers of the last agent's faults that struck."""
        file = struck_file(self.scratch / f"plan{self._plans}.json")
        return [int(line) for line in file.read_text().split()] if file.exists() else []

    async def open(self, agent: Editor, profile: Any = SHOWS_NAMES) -> None:
        """Greet it, and begin the session, or load it."""
        await agent.initialize(profile)
        if self.session:
            await agent.load_session(self.session, self.workspace)
        else:
            self.session = await agent.new_session(self.workspace)
        await self.choose(agent, "dont_ask")

    async def choose(self, agent: Editor, mode: str) -> None:
        await agent.request("session/set_mode", {"sessionId": self.session, "modeId": mode})

    async def say(self, agent: Editor, prompt: str, **more: Any) -> str:
        """A prompt that is answered; what was said to it."""
        since = len(agent.frames)
        answer = await agent.prompt(self.session, prompt, **more)
        assert answer["stopReason"] == "end_turn", answer
        if not prompt.startswith("/"):
            self.answered.append(prompt)
        return "".join(
            frame.update["content"].get("text", "")
            for frame in agent.frames[since:]
            if frame.is_update(self.session, "agent_message_chunk")
        )

    async def check_gone(self) -> None:
        """Nothing that it had started is left."""
        await asyncio.to_thread(wait_until, lambda: not running_with(VARIABLE, self.mark))

    def check_view(self, agent: Editor) -> MergedView:
        """What is shown again has each answered prompt once, in order, and no call that seems to run."""
        view = merged_view(agent.updates(self.session))
        shown = view.texts("user_message_chunk")
        known = [text for text in shown if text in self.answered]
        assert known == self.answered, f"{self.answered} were answered, shown are {shown}"
        opened = [entry for entry in view.entries if entry["kind"] == "card" and entry["status"] not in _OVER]
        assert not opened, opened
        return view

    def check_database(self) -> None:
        """SQLite finds nothing wrong with it."""
        with closing(sqlite3.connect(f"file:{self.home / 'hermes-acp.db'}?mode=ro", uri=True)) as database:
            assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert database.execute("PRAGMA foreign_key_check").fetchall() == []

    def leftovers(self) -> list[str]:
        """Half-written files."""
        found = {
            path for place in (self.home, self.workspace) for pattern in _LEFTOVERS for path in place.rglob(pattern)
        }
        names = (str(path) for path in found if ".git" not in path.parts)
        return sorted(name for name in names if not any(part in name for part in _BOUNDED))

    def files(self, *, half_written: bool = True) -> dict[str, bytes]:
        """The workspace's files but for git's; `half_written`: also what a killed process was writing beside one."""
        return {
            str(path.relative_to(self.workspace)): path.read_bytes()
            for path in sorted(self.workspace.rglob("*"))
            if path.is_file() and ".git" not in path.parts and (half_written or not path.name.startswith(".hermes-"))
        }

    def _made(self, name: str) -> Path:
        (self.scratch / name).mkdir(exist_ok=True)
        return self.scratch / name


@contextlib.contextmanager
def told(*notes: Any) -> Iterator[None]:
    """What fails within has these notes."""
    try:
        yield
    except BaseException as failure:
        for note in notes:
            failure.add_note(str(note))
        raise
