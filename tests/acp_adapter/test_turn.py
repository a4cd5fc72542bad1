"""One prompt after the other in a session, whatever its worker does."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import AsyncIterator, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from acp_adapter.commands.command import SlashCommand
from acp_adapter.commands.registry import CommandShelf
from agent_core.activity import NOWHERE, where
from agent_core.agent import AIAgent
from agent_core.errors import ProviderError, StoreError
from agent_core.events import Noticed, SessionNamed, ToolFinished, ToolOutput
from agent_core.messages import Message
from tests.support.turn_desk import Desk, Stubborn
from tests.support.waiting import wait_until
from tools.registry import registry


@pytest.fixture
def tool() -> Iterator[Stubborn]:
    """The tool `stubborn`, which lets go at the end."""
    made = Stubborn()
    registry.register(name="stubborn", toolset="stubborn", schema={"type": "object"}, handler=made)
    yield made
    made.release.set()


@pytest.fixture
async def desk(home: Path, workspace: Path) -> AsyncIterator[Desk]:
    made = Desk(home)
    await made.open(workspace)
    yield made
    made.factory.slow.set()
    await asyncio.to_thread(made.close)
    await asyncio.wait_for(made.sessions.close(made.session), 10)
    await made.free_workers()
    made.factory.close()


def _check_history(messages: list[Message]) -> None:
    """Roles alternate, and each tool call has its one result right behind it."""
    roles = [message["role"] for message in messages if message["role"] != "tool"]
    expected = [call["id"] for message in messages for call in message.get("tool_calls", ())]
    assert [message.get("tool_call_id") for message in messages if message["role"] == "tool"] == expected
    for one, other in pairwise(roles):
        assert (one, other) in {("user", "assistant"), ("assistant", "user"), ("assistant", "assistant")}
    assert roles[0] == "user"


class TestAToolThatIgnoresTheCancel:
    async def _cancelled(self, desk: Desk, tool: Stubborn) -> None:
        turn = desk.begin("say first\ncall stubborn {}\nsay never")
        assert await asyncio.to_thread(tool.entered.wait, 10)
        await desk.cancel(turn)

    async def test_the_turn_is_answered_without_it_and_its_card_is_final(self, desk: Desk, tool: Stubborn) -> None:
        await self._cancelled(desk, tool)
        assert not tool.left.is_set()
        finished = [event for event in desk.shown if isinstance(event, ToolFinished)][-1]
        assert finished.result.failed

    async def test_its_later_effects_are_refused_and_its_progress_is_dropped(
        self, desk: Desk, tool: Stubborn, workspace: Path
    ) -> None:
        await self._cancelled(desk, tool)
        shown = list(desk.shown)
        tool.release.set()
        assert await asyncio.to_thread(tool.left.wait, 10)
        assert tool.tried == ["refused", "refused"]
        assert not (workspace / "late.txt").exists()
        await desk.session.outbox.drain()
        assert desk.shown == shown
        assert [event.text for event in shown if isinstance(event, ToolOutput)] == ["before\n"]

    async def test_the_next_prompt_works_and_the_history_stays_valid(self, desk: Desk, tool: Stubborn) -> None:
        await self._cancelled(desk, tool)
        assert await desk.prompt("say second") == "end_turn"
        history = desk.history
        _check_history(history)
        assert [message["content"] for message in history if message["role"] == "user"][1:] == ["say second"]
        assert "Interrupted" in str(next(message for message in history if message["role"] == "tool")["content"])
        tool.release.set()
        await desk.free_workers()
        assert desk.history == history, "what the given-up turn still does changes nothing"
        assert "never" not in desk.text

    async def test_the_session_can_be_closed(self, desk: Desk, tool: Stubborn) -> None:
        turn = desk.begin("call stubborn {}")
        assert await asyncio.to_thread(tool.entered.wait, 10)
        await asyncio.wait_for(desk.sessions.close(desk.session), 5)
        assert await turn == "cancelled"


async def test_a_turn_given_up_while_its_agent_is_made_does_not_take_the_next_ones_place(
    desk: Desk, tool: Stubborn
) -> None:
    desk.factory.slow.clear()
    first = desk.begin("say first")
    assert await asyncio.to_thread(desk.factory.making.wait, 10)
    await desk.cancel(first)
    second = desk.begin("call stubborn {}\nsay second")
    assert await asyncio.to_thread(tool.entered.wait, 10)
    desk.factory.slow.set()
    await desk.free_worker()
    tool.release.set()
    assert await asyncio.wait_for(second, 10) == "end_turn"
    assert "first" not in desk.text
    assert "second" in desk.text
    _check_history(desk.history)


async def test_a_cancel_while_the_last_updates_go_out_is_answered_as_one(desk: Desk) -> None:
    await desk.prompt("say warm")
    desk.reading.clear()
    turn = desk.begin("say done")
    await asyncio.to_thread(wait_until, lambda: desk.history[-1]["content"] == "done\n")
    await desk.free_worker()
    await desk.free_worker()
    desk.session.cancel()
    desk.reading.set()
    assert await asyncio.wait_for(turn, 5) == "cancelled"
    assert "done" in desk.text


async def test_a_cancelled_prompt_that_cannot_be_kept_does_not_cut_the_next_answer_short(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise StoreError("full", "The disk is full.")

    desk.factory.slow.clear()
    with monkeypatch.context() as patch:
        patch.setattr(desk.factory.sessions.store, "end_turn", fails)
        turn = desk.begin("say never")
        assert await asyncio.to_thread(desk.factory.making.wait, 10)
        desk.session.cancel()
        desk.factory.slow.set()
        with pytest.raises(StoreError):
            await asyncio.wait_for(turn, 5)
    words = "word " * 2_000
    assert await desk.prompt(f"say {words}") == "end_turn"
    assert len(desk.text) > len(words) - 10


async def test_a_prompt_that_is_cancelled_before_its_turn_shows_nothing(desk: Desk) -> None:
    async with desk.session.turn:
        turn = desk.begin("say never")
        await asyncio.sleep(0)
        desk.session.cancel()
    assert await asyncio.wait_for(turn, 5) == "cancelled"
    assert all(isinstance(event, SessionNamed) for event in desk.shown)
    assert desk.session.tickets == []


async def test_a_prompt_that_waits_is_answered_when_it_alone_is_cancelled(desk: Desk, tool: Stubborn) -> None:
    first = desk.begin("call stubborn {}\nsay first")
    assert await asyncio.to_thread(tool.entered.wait, 10)
    second, third = desk.begin("say second"), desk.begin("say third")
    await asyncio.sleep(0)
    desk.session.tickets[1].token.cancel()
    assert await asyncio.wait_for(second, 5) == "cancelled"
    assert not first.done()
    tool.release.set()
    assert [await asyncio.wait_for(turn, 10) for turn in (first, third)] == ["end_turn", "end_turn"]
    assert "second" not in desk.text


async def test_what_was_said_to_a_turn_that_is_given_up_is_not_lost(desk: Desk, tool: Stubborn) -> None:
    turn = desk.begin("call stubborn {}")
    assert await asyncio.to_thread(tool.entered.wait, 10)
    assert desk.session.steer("Only the tests.")
    await desk.cancel(turn)
    [notice] = [event for event in desk.shown if isinstance(event, Noticed)]
    assert notice.text.endswith("send it again: Only the tests.")
    assert not desk.session.steer("More.")


async def test_the_persons_mode_goes_before_the_one_that_a_plan_led_to_just_before(desk: Desk) -> None:
    session, chooser = desk.session, desk.chooser
    for wanted in ("default", "plan"):
        await chooser.set_mode(session, "plan")
        session.workspace.approvals.mode = "accept_edits"  # as the agent does
        await chooser.set_mode(session, wanted)
        await chooser.follow(session, "accept_edits")
        assert (session.mode, session.choices.mode) == (wanted, wanted)


async def test_another_choice_does_not_take_back_the_mode_that_a_plan_led_to(desk: Desk) -> None:
    session, chooser = desk.session, desk.chooser
    await chooser.set_mode(session, "plan")
    session.workspace.approvals.mode = "accept_edits"  # as the agent does
    await chooser.choose(session, "edits", "ask")
    await chooser.follow(session, "accept_edits")
    assert (session.mode, session.choices.mode) == ("accept_edits", "accept_edits")


async def test_a_mode_can_be_chosen_while_the_settings_cannot_be_read(desk: Desk, home: Path) -> None:
    (home / "config.yaml").write_text("{: [")
    await desk.chooser.set_mode(desk.session, "plan")
    assert (desk.session.mode, desk.session.choices.mode) == ("plan", "plan")


async def test_a_turn_that_fails_shows_what_it_had_and_leaves_a_valid_history(desk: Desk) -> None:
    with pytest.raises(ProviderError, match="401"):
        await desk.prompt("say begun\nfail 401")
    assert desk.text == "begun\n"
    assert desk.session.tickets == []
    assert await desk.prompt("say on") == "end_turn"
    _check_history(desk.history)


async def test_what_is_logged_while_a_turns_agent_is_made_says_for_which_turn(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[tuple[str, str]] = []
    make = desk.factory.agent

    def making(*args: Any, **options: Any) -> AIAgent:
        heard.append(where())
        return make(*args, **options)

    monkeypatch.setattr(desk.factory, "agent", making)
    await desk.prompt("say hello")
    ((session, turn),) = heard
    assert session == desk.session.id
    assert turn != NOWHERE


class TestAnswersOfCommands:
    """They are shown again in the order in which they were seen."""

    @pytest.fixture
    async def ended(self, desk: Desk, workspace: Path, home: Path) -> AsyncIterator[asyncio.Task[str]]:
        """A turn that has told and stored all, and is not answered yet: it looks for new commands, and that takes."""
        self.answered, looks = threading.Event(), itertools.count()

        def bring() -> tuple[SlashCommand, ...]:
            if not next(looks):
                self.answered.wait(10)
            return ()

        desk.session.shelf = CommandShelf(workspace, home, bring=bring)
        first = desk.begin("say First.")
        archive = desk.factory.sessions.archive
        await asyncio.to_thread(
            wait_until, lambda: [turn.outcome for turn in archive.transcript("s").turns] == ["end_turn"]
        )
        yield first
        self.answered.set()

    async def _check(self, desk: Desk, *turns: asyncio.Task[str]) -> list[str]:
        self.answered.set()
        for turn in turns:
            await asyncio.wait_for(turn, 10)
        shown = desk.texts(desk.shown)
        assert await asyncio.to_thread(lambda: desk.texts(desk.shown_again)) == shown
        return [text.partition("\n")[0] for text in shown]

    async def _type(self, desk: Desk, command: str) -> asyncio.Task[str]:
        """A command whose answer is seen."""
        count = len(desk.texts(desk.shown))
        typed = desk.begin(command)
        await asyncio.to_thread(wait_until, lambda: len(desk.texts(desk.shown)) > count)
        return typed

    @pytest.mark.parametrize("commands", [("/status",), ("/status", "/tasks"), ("/tasks", "/status", "/tasks")])
    async def test_between_two_turns(self, desk: Desk, ended: asyncio.Task[str], commands: tuple[str, ...]):
        second = desk.begin("say Second.")
        typed = [await self._type(desk, command) for command in commands]
        said = await self._check(desk, ended, second, *typed)
        assert (said[0], said[-1], len(said)) == ("First.", "Second.", 2 + len(commands))

    async def test_behind_the_last_turn(self, desk: Desk, ended: asyncio.Task[str]):
        typed = await self._type(desk, "/status")
        assert len(await self._check(desk, ended, typed)) == 2

    async def test_between_a_turn_and_another_command(self, desk: Desk, ended: asyncio.Task[str]):
        named = desk.begin("/title A name")
        typed = await self._type(desk, "/status")
        said = await self._check(desk, ended, named, typed)
        assert (len(said), "A name" in said[-1]) == (3, True)

    async def test_between_two_turns_of_which_the_second_is_cancelled(self, desk: Desk, ended: asyncio.Task[str]):
        second = desk.begin("say Second.")
        typed = await self._type(desk, "/status")
        desk.session.cancel()
        assert len(await self._check(desk, ended, second, typed)) == 2

    async def test_within_a_turn(self, desk: Desk, tool: Stubborn):
        self.answered = threading.Event()
        turn = desk.begin("say First.\ncall stubborn {}\nsay Last.")
        assert await asyncio.to_thread(tool.entered.wait, 10)
        assert await desk.prompt("/status") == "end_turn"
        tool.release.set()
        said = await self._check(desk, turn)
        assert (said[0], said[-1], len(said)) == ("First.", "Last.", 3)
