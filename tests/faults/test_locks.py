"""Another program holds the database's write lock: nothing that was said or done is lost, and undo is exact.

`LOCKS_SEED` repeats the choices of a run, `LOCKS_TURNS` sets how many turns the whole one has.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import pytest

from tests.faults.stage import Stage, told
from tests.support.editor import Editor, RpcError
from tests.support.merged_view import merged_view
from tests.support.waiting import wait_until

SEED = os.environ.get("LOCKS_SEED") or str(random.randrange(1_000_000))
_SHORT, _WHOLE = 20, int(os.environ.get("LOCKS_TURNS", "300"))
_PROGRAM = Path(__file__).parent.parent / "support" / "locking_program.py"
_UNSAVED = 3


@contextlib.contextmanager
def locked(stage: Stage, seed: str = "-") -> Iterator[IO[str]]:
    """Another process has the write lock meanwhile, or with a seed now and then; it ends with what is given."""
    command = [sys.executable, str(_PROGRAM), str(stage.home / "hermes-acp.db"), seed]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        try:
            yield holder.stdin
        finally:
            holder.stdin.close()


async def _begun(stage: Stage) -> Editor:
    agent = await stage.start()
    await stage.open(agent)
    await stage.say(agent, "say First.")
    return agent


def _spooled(stage: Stage) -> list[Path]:
    return sorted((stage.home / "unsaved").glob("*"))


@pytest.mark.parametrize(
    "work",
    [
        "write a.txt one\nrun echo one > b.txt",
        pytest.param("write a.txt one\nrun mv a.txt c.txt\nwrite README.md two", marks=pytest.mark.long),
        pytest.param("run rm README.md; mkdir new; echo 1 > new/d.txt", marks=pytest.mark.long),
        pytest.param("write a.txt two\nrun sed -i s/two/three/ a.txt README.md", marks=pytest.mark.long),
    ],
)
async def test_what_a_turn_changes_that_begins_under_a_lock_can_be_taken_back(stage: Stage, work: str) -> None:
    agent = await _begun(stage)
    before = stage.files()
    with locked(stage):
        await stage.say(agent, f"{work}\nsay Done.")
    changed = stage.files()
    assert changed != before
    assert "was taken back" in await stage.say(agent, "/undo")
    assert stage.files() == before
    assert "was brought back" in await stage.say(agent, "/redo")
    assert stage.files() == changed


@pytest.mark.long
async def test_an_undo_of_a_turn_that_is_not_stored_yet_says_so_and_changes_nothing(stage: Stage) -> None:
    agent = await _begun(stage)
    before = stage.files()
    with locked(stage):
        await stage.say(agent, "write a.txt one\nsay Done.")
        assert "not saved yet" in await stage.say(agent, "/undo")
        assert stage.files() != before
    assert "was taken back" in await stage.say(agent, "/undo")
    assert stage.files() == before


@pytest.mark.long
async def test_a_short_turn_that_ends_unsaved_says_so_and_one_that_is_saved_does_not(stage: Stage) -> None:
    agent = await _begun(stage)
    with locked(stage):
        await stage.say(agent, "say Second.")
        assert "not being saved" in agent.text(stage.session)
    since = len(agent.text(stage.session))
    await stage.say(agent, "say Third.")
    assert "not being saved" not in agent.text(stage.session)[since:]


@pytest.mark.long
async def test_a_lock_that_outlives_the_end_of_input_for_seconds_loses_nothing(stage: Stage) -> None:
    agent = await _begun(stage)
    with locked(stage) as holder:
        await stage.say(agent, "write a.txt one\nsay Second.")
        assert agent.process is not None
        agent.close_stdin()
        # Before it is tried again. A file that is being written is moved to its name when it is whole.
        await asyncio.to_thread(wait_until, lambda: any(path.suffix == ".json" for path in _spooled(stage)))
        assert {stat.S_IMODE(path.stat().st_mode) for path in _spooled(stage) if path.suffix == ".json"} == {0o600}
        asyncio.get_running_loop().call_later(2.0, holder.close)
        assert await agent.exit_code() == 0
    assert _spooled(stage) == []
    await _goes_on(stage)


@pytest.mark.long
@pytest.mark.parametrize("still", [False, True])
async def test_what_is_unsaved_at_the_end_is_taken_in_by_the_next_start(stage: Stage, *, still: bool) -> None:
    """`still`: when the next one starts, the lock still holds."""
    agent = await _begun(stage)
    with locked(stage):
        await stage.say(agent, "write a.txt one\nsay Second.")
        agent.close_stdin()
        assert await agent.exit_code() == _UNSAVED
        [file] = _spooled(stage)
        assert str(file) in agent.stderr
        if still:
            again = await stage.start()
            await again.initialize()
            waiting = again.begin("session/load", {"sessionId": stage.session, "cwd": str(stage.workspace)} | _PLAIN)
    if still:
        await again.answer(waiting)
        stage.check_view(again)
        await again.close(expect=0)
    await _goes_on(stage)
    assert _spooled(stage) == []


_PLAIN = {"mcpServers": []}


async def _goes_on(stage: Stage) -> None:
    """The next process shows all that was answered, and takes the last turn back exactly."""
    again = await stage.start()
    await stage.open(again)
    stage.check_view(again)
    stage.check_database()
    assert (stage.workspace / "a.txt").exists()
    assert "was taken back" in await stage.say(again, "/undo")
    assert not (stage.workspace / "a.txt").exists()
    await again.close(expect=0)


@pytest.mark.parametrize(
    "sent",
    [
        signal.SIGTERM,
        pytest.param(signal.SIGHUP, marks=pytest.mark.long),
        pytest.param(signal.SIGINT, marks=pytest.mark.long),
    ],
)
async def test_a_signal_that_ends_the_process_stores_what_was_shown(stage: Stage, sent: signal.Signals) -> None:
    if signal.getsignal(sent) is signal.SIG_IGN:
        signal.signal(sent, signal.SIG_DFL)  # under nohup a child would ignore it, as it should
    agent = await stage.start()
    await stage.open(agent)
    agent.begin_prompt(stage.session, "stream 400000")
    await agent.until(lambda: len(agent.text(stage.session)) > 20_000, what="a part of the answer")
    assert agent.process is not None
    agent.process.send_signal(sent)
    assert await agent.exit_code() == 0
    await agent.stdout_closed()
    shown = agent.text(stage.session)
    again = await stage.start()
    await stage.open(again)
    assert again.text(stage.session).startswith(shown)


@pytest.mark.long
async def test_a_signal_under_a_lock_stores_what_was_shown_too(stage: Stage) -> None:
    agent = await _begun(stage)
    with locked(stage) as holder:
        agent.begin_prompt(stage.session, "stream 400000")
        await agent.until(lambda: len(agent.text(stage.session)) > 20_000, what="a part of the answer")
        assert agent.process is not None
        agent.process.send_signal(signal.SIGTERM)
        asyncio.get_running_loop().call_later(2.0, holder.close)
        assert await agent.exit_code() == 0
        await agent.stdout_closed()
    shown = agent.text(stage.session)
    again = await stage.start()
    await stage.open(again)
    assert again.text(stage.session).startswith(shown.partition("\n\nThis conversation is not")[0])


@pytest.mark.long
async def test_a_prompt_at_a_terminal_says_that_its_session_is_not_saved(stage: Stage) -> None:
    agent = await _begun(stage)
    await agent.close(expect=0)
    command = (sys.executable, "-P", "-m", "acp_adapter", "prompt", "--offline", "--continue", "say Second.")
    environment = {**os.environ, "HERMES_HOME": str(stage.home)}
    with locked(stage):
        done = await asyncio.to_thread(
            subprocess.run, command, env=environment, cwd=stage.workspace, capture_output=True, text=True, check=False
        )
    assert "Second." in done.stdout
    [file] = _spooled(stage)
    assert str(file) in done.stderr


@dataclass
class _Run:
    """Turns under random locks, and what should be there after them.

    Attributes:
        undone: turns that a redo would bring back.
        states: the files before each turn in view, and as they are now.
    """

    stage: Stage
    agent: Editor
    chance: random.Random
    states: list[dict[str, bytes]]
    turns: list[str] = field(default_factory=list)
    undone: list[tuple[str, dict[str, bytes]]] = field(default_factory=list)
    acts: list[str] = field(default_factory=list)
    number: int = 0

    async def act(self) -> None:
        kind = self.chance.choices(("turn", "undo", "redo", "status", "load", "restart"), (12, 3, 2, 2, 1, 1))[0]
        self.acts.append(kind)
        match kind:
            case "undo" if self.turns:
                await self._rewind("/undo", "taken back")
                self.undone.append((self.turns.pop(), self.states.pop()))
            case "redo" if self.undone:
                await self._rewind("/redo", "brought back")
                prompt, state = self.undone.pop()
                self.turns.append(prompt)
                self.states.append(state)
            case "status":
                await self.stage.say(self.agent, "/status")
            case "load":
                await self._load(self.agent)
            case "restart":
                self.agent.close_stdin()
                assert await self.agent.exit_code() in (0, _UNSAVED)
                self.agent = await self.stage.start()
                await self.agent.initialize()
                await self._load(self.agent)
                await self.stage.choose(self.agent, "dont_ask")
            case _:
                await self._turn()
        assert self.stage.files() == self.states[-1]

    async def _turn(self) -> None:
        self.number += 1
        self.acts.append("")
        prompt = "\n".join([*self._work(), f"say Answer {self.number}."])
        self.acts[-1] = prompt
        answer = await self.agent.prompt(self.stage.session, prompt)
        assert answer["stopReason"] == "end_turn"
        self.turns.append(prompt)
        self.states.append(self.stage.files())
        self.undone = []

    def _work(self) -> Sequence[str]:
        name, other = (f"f{self.chance.randrange(6)}.txt" for _ in range(2))
        kinds = (
            (),
            (f"write {name} text {self.number}",),
            (f"run echo {self.number} > {name}",),
            (f"write {name} text {self.number}", f"run echo {self.number} >> {name}"),
            (f"run echo {self.number} > {name}; rm -f {other}",),
        )
        return self.chance.choice(kinds)

    async def _rewind(self, command: str, done: str) -> None:
        while "not saved yet" in (said := await self.stage.say(self.agent, command)):
            pass
        assert done in said, said
        assert "Left as they are" not in said, said
        assert "Not brought back" not in said, said

    async def _load(self, agent: Editor) -> None:
        """All that was said and answered is shown, once, in order."""
        since = len(agent.frames)
        while True:
            try:
                await agent.load_session(self.stage.session, self.stage.workspace)
                break
            except RpcError as busy:
                if "not saved yet" not in str(busy):
                    raise
                since = len(agent.frames)
        frames = [frame.update for frame in agent.frames[since:] if frame.is_update(self.stage.session)]
        view = merged_view(frames)
        prompts = [text for text in view.texts("user_message_chunk") if not text.startswith("/")]
        assert prompts == self.turns
        answers = [line for text in view.texts() for line in text.splitlines() if line.startswith("Answer ")]
        assert answers == [prompt.rpartition("say ")[2] for prompt in self.turns]

    async def end(self) -> None:
        await self._load(self.agent)
        while self.turns:
            await self._rewind("/undo", "taken back")
            self.turns.pop()
            self.states.pop()
            assert self.stage.files() == self.states[-1]
        await self.agent.close(expect=0)
        self.stage.check_database()
        assert _spooled(self.stage) == []


async def _under_random_locks(stage: Stage, turns: int) -> None:
    agent = await stage.start()
    await stage.open(agent)
    run = _Run(stage, agent, random.Random(SEED), [stage.files()])
    with told(f"LOCKS_SEED={SEED}", run.acts):
        await run._turn()
        with locked(stage, SEED):
            while run.number < turns:
                await run.act()
        await run.end()


@pytest.mark.long
async def test_turns_under_random_locks_have_an_exact_history_and_an_exact_undo(stage: Stage) -> None:
    await _under_random_locks(stage, _SHORT)


@pytest.mark.slow
@pytest.mark.timeout(300 + 10 * _WHOLE)
async def test_hundreds_of_turns_under_random_locks_do(stage: Stage) -> None:
    await _under_random_locks(stage, _WHOLE)
