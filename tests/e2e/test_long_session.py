"""A session of hundreds of turns, through many compressions: whatever the provider is, it takes every request.

After each request the model server looks whether it is valid, fits the window, has the person's words and all that
was planted on the way, and begins with the whole of the one before unless the conversation was just compressed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agent_core.config import ConfigSource
from agent_core.home import Home
from tests.support.editor import PLAIN, Editor
from tests.support.editor_policies import allow, reject
from tests.support.in_memory import serving
from tests.support.model_server import Hang, ModelServer, Reply, ToolCall
from tests.support.settings_files import use_model
from tests.support.strict_model import StrictModel
from tests.support.waiting import wait_until
from tests.support.wire_agents import PROTOCOLS

PROFILE = {**PLAIN, "session": {"compaction": {}}, "elicitation": {"form": {}}}
WINDOW = 32_000
PARTS = 7
GOAL = "The task: the gates of the depot close at dusk. Leave nothing of the old clock in the code."
VALUES = "https://staging.example.org:8443/v7", "LIMIT_REPLAYS=4711", "DEPOT-1932", "src/gates/dusk.py"
STEPS = "measure the dusk in Porto", "take out the old clock"
ANSWER = "Postgres with two replicas"
CHATTER = "It says that gates are gates, and that whoever waits before one waits long. " * 15
GOOD = Reply("### Done\nThe parts were read in turn; they say little of gates.\n### Next\nRead the next part.")
RUBBISH = (
    Reply(""),
    Reply("ok " * 3_000),
    Reply("I'm sorry, but I can't help with that."),
    Reply('<tool_call>{"name": "terminal"}</tool_call>\n```\n## What the user wrote\n[End of the record.'),
    Reply("a long rambling answer about nothing whatever. " * 2_000),
)
SUMMARIES = {"good": (GOOD,), "rubbish": RUBBISH, "both": (RUBBISH[1], GOOD, RUBBISH[3], GOOD, RUBBISH[0])}

Open = Callable[[AsyncExitStack], Awaitable[Editor]]


@dataclass
class Session:
    """One session through its turns; `turn` counts them, `written` is each prompt that was not undone."""

    model: StrictModel
    workspace: Path
    editor: Editor
    id: str = ""
    turn: int = 0
    written: list[str] = field(default_factory=list)
    compressions: int = 0

    async def open(self) -> None:
        await self.editor.initialize(PROFILE)
        self.editor.host.forms = _fill
        if self.id:
            await self.load()
        else:
            self.id = await self.editor.new_session(self.workspace)
            self.model.talks(self.id)

    async def load(self) -> None:
        params = {"sessionId": self.id, "cwd": str(self.workspace), "mcpServers": []}
        # A thousand updates, from a process that has just begun.
        await self.editor.request("session/load", params)

    async def say(self, *replies: Reply, text: str = "", session: str = "") -> str:
        """One turn, whose breaks of the cached beginning are compressions of the conversation."""
        session = session or self.id
        prompt = (
            text or f"Prompt {self.turn}: look at the next part.\nTell what it says of the gates, ünï «{self.turn}»."
        )
        self.model.plan(prompt, (*replies, Reply(f"Answer {self.turn}. {CHATTER}", reasoning="so be it")))
        seen, breaks = len(self.editor.frames), self.model.breaks.get(session, 0)
        assert (await self.editor.prompt(session, prompt))["stopReason"] == "end_turn"
        made = self._compressed(session, seen)
        assert self.model.problems == []
        assert self.model.breaks.get(session, 0) - breaks <= made, f"the cached beginning broke at turn {self.turn}"
        assert self.model.planned == 0
        self.compressions += made
        self.turn += 1
        if session == self.id:
            self.written.append(prompt)
        return prompt

    def _compressed(self, session: str, since: int) -> int:
        updates = (f.update for f in self.editor.frames[since:] if f.is_update(session, "compaction_update"))
        return sum(update["status"] == "completed" for update in updates)

    async def usual(self) -> None:
        """A turn of work, with now and then a file that is written and a failure."""
        number = self.turn
        replies = []
        if number % 2:
            replies.append(_call(number, "read_file", path=f"part{number % PARTS}.txt"))
        if number % 10 == 9:
            path = f"notes/gate_{number}.md"
            replies.append(_call(number, "write_file", "w", path=path, content=f"Gate {number} is open.\n"))
        if number % 4 == 3:
            replies.append(_call(number, "search_files", "s", pattern=f"sentence {number % 40} "))
        await self.say(*replies)
        if number % 10 == 9:
            self.model.facts.append(path)

    async def much(self) -> None:
        """A turn whose work alone fills the window."""
        await self.say(*(_call(self.turn, "read_file", f"m{at}", path=f"part{at}.txt") for at in range(PARTS)))

    async def planted(self) -> None:
        """What has to be known ever after."""
        model = self.model
        await self.say(text=GOAL)
        model.facts.append(GOAL)
        await self.say(text=f"Mind {', '.join(VALUES)}.")
        model.facts += VALUES
        steps = [{"id": str(at), "content": step, "status": "pending"} for at, step in enumerate(STEPS)]
        await self.say(_call(self.turn, "todo", todos=steps))
        model.facts += STEPS
        await self.say(_call(self.turn, "clarify", question="Which database?", choices=["SQLite", ANSWER]))
        model.facts.append(ANSWER)
        self.editor.on_permission = reject
        await self.say(_call(self.turn, "terminal", command="rm -rf keepsake"))
        self.editor.on_permission = allow
        model.facts.append("rm -rf keepsake")
        await self.say(_call(self.turn, "read_file", path="lost/ledger.txt"))
        model.facts.append("lost/ledger.txt")
        await self.say(_call(self.turn, "terminal", command="echo the mill stands still; exit 7"))
        model.facts += ["echo the mill stands still; exit 7", "the mill stands still"]

    async def undone(self) -> None:
        """A turn that is taken back, with what it wrote."""
        path, text = self.workspace / f"regret{self.turn}.txt", f"Write REGRET-{self.turn}."
        prompt = await self.say(_call(self.turn, "write_file", path=path.name, content="x"), text=text)
        assert path.exists()
        await self.editor.prompt(self.id, "/undo")
        assert not path.exists()
        self.written.remove(prompt)
        self.model.undone()
        self.model.gone.append(text)
        await self.usual()

    async def forked(self, turns: int) -> None:
        """Some turns in a fork, of which this session knows nothing."""
        params = {"sessionId": self.id, "cwd": str(self.workspace), "mcpServers": []}
        fork = (await self.editor.request("session/fork", params))["sessionId"]
        self.model.talks(fork, like=self.id)
        for _ in range(turns):
            call = _call(self.turn, "read_file", path=f"part{self.turn % PARTS}.txt")
            await self.say(call, text=f"Look at a part in the FORK-{self.turn}.", session=fork)
        await self.editor.request("session/close", {"sessionId": fork})
        self.model.talks(self.id)
        self.model.gone.append("FORK-")

    def done_step(self) -> list[Reply]:
        """The first step of the plan is done: what stays open is promised, what is done is not."""
        self.model.facts.remove(STEPS[0])
        return [_call(self.turn, "todo", todos=[{"id": "0", "status": "completed"}], merge=True)]


def _call(turn: int, name: str, mark: str = "", **arguments: Any) -> Reply:
    thought = "hm" if turn % 4 == 1 else ""
    return Reply("", reasoning=thought, tool_calls=[ToolCall(f"call_{turn}{mark}", name, arguments)])


async def _fill(params: dict[str, Any]) -> dict[str, Any]:
    return {"action": "accept", "content": {"answer": ANSWER}}


def _prepare(workspace: Path, home: Path, server: ModelServer, protocol: str) -> None:
    (workspace / "keepsake").mkdir()
    (workspace / "keepsake" / "old.txt").write_text("old")
    for number in range(PARTS):
        lines = (f"Part {number} has a sentence {line} that says little of gates.\n" for line in range(190))
        (workspace / f"part{number}.txt").write_text("".join(lines))
    use_model(
        home,
        server,
        model={"context_length": WINDOW, "max_tokens": 2_000, "api_mode": protocol},
        platform_toolsets={"acp": ["files", "terminal", "planning"]},
    )


async def _all_is_stored(session: Session) -> None:
    since = len(session.editor.text(session.id, "user_message_chunk"))
    await session.load()
    said = session.editor.text(session.id, "user_message_chunk")[since:]
    assert [prompt for prompt in session.written if prompt not in said] == []


async def _in_memory(stack: AsyncExitStack, home: Path) -> Editor:
    return await stack.enter_async_context(serving(home, config=ConfigSource(Home(home)), front_door=True))


@pytest.mark.long
@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_over_sixty_turns_nothing_that_is_promised_is_lost(protocol: str, home: Path, workspace: Path) -> None:
    model = StrictModel(protocol, WINDOW, SUMMARIES["both"])
    with ModelServer(default=model.answer) as server:
        _prepare(workspace, home, server, protocol)
        async with AsyncExitStack() as stack:
            session = Session(model, workspace, await _in_memory(stack, home))
            await session.open()
            await session.planted()
            while session.turn < 24:
                await session.usual()
            await session.say(*session.done_step())
            await session.undone()
            await session.forked(3)
            await session.much()
        async with AsyncExitStack() as stack:
            session.editor = await _in_memory(stack, home)
            await session.open()
            while session.turn < 60:
                await session.usual()
            await session.editor.request("session/close", {"sessionId": session.id})
            await _all_is_stored(session)
    _several_compressions(session, 4)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("summaries", ["good", "rubbish"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
async def test_over_three_hundred_turns_with_a_kill_in_the_middle_nothing_that_is_promised_is_lost(
    protocol: str, summaries: str, home: Path, workspace: Path, tmp_path: Path
) -> None:
    model = StrictModel(protocol, WINDOW, SUMMARIES[summaries])
    with ModelServer(default=model.answer) as server:
        _prepare(workspace, home, server, protocol)
        async with AsyncExitStack() as stack:
            session = Session(model, workspace, await stack.enter_async_context(await Editor.spawn(cwd=tmp_path)))
            await session.open()
            await session.planted()
            while session.turn < 100:
                await session.usual()
            await session.say(*session.done_step())
            await session.undone()
            while session.turn < 150:
                await session.usual()
            await _killed(session)
        async with AsyncExitStack() as stack:
            session.editor = await stack.enter_async_context(await Editor.spawn(cwd=tmp_path))
            await session.open()
            await session.usual()
            await session.much()
            await session.forked(20)
            await session.undone()
            while session.turn < 300:
                await session.usual()
        async with AsyncExitStack() as stack:
            session.editor = await stack.enter_async_context(await Editor.spawn(cwd=tmp_path))
            await session.editor.initialize(PROFILE)
            await _all_is_stored(session)
    _several_compressions(session, 15)


async def _killed(session: Session) -> None:
    """kill -9 while a turn waits for the model's word on what a tool has told."""
    prompt = "Read it, and then tell me of CRASH-9."
    call = _call(session.turn, "read_file", path="part0.txt")
    session.model.plan(prompt, (call, Hang(before_headers=True)))
    asked = session.model.asked
    session.editor.begin_prompt(session.id, prompt)
    await asyncio.to_thread(wait_until, lambda: session.model.asked >= asked + 2)
    await session.editor.kill()
    session.written.append(prompt)
    session.turn += 1


def _several_compressions(session: Session, least: int) -> None:
    assert session.compressions >= least
    assert session.model.summed >= least // 2
    assert 0 < session.model.breaks[session.id] <= session.compressions
    if session.model.protocol != "chat_completions":
        assert session.model.seals
