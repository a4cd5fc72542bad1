"""The bridge: what the agent tells, as events in the session's outbox, until the turn is closed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import pytest

from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.events import MAX_WAITING_CHARS, EventBridge, Outbox
from acp_adapter.projection import project
from acp_adapter.tools import Hold
from agent_core.callbacks import CallFinished, CallOutput, CallRequested, CallRunning, CompressionStep, Status, Step
from agent_core.cancel import CancelToken
from agent_core.compaction.engine import Compaction
from agent_core.events import (
    AgentText,
    AgentThought,
    ContextCompacted,
    ContextUsed,
    Noticed,
    PlanChanged,
    SessionEvent,
    ToolAnnounced,
    ToolFinished,
    ToolOutput,
    ToolRequested,
    ToolRunning,
)
from agent_core.messages import INTERRUPTED_RESULT, assistant_message, user_message
from agent_core.providers.base import Usage
from agent_core.providers.choice import USUAL_WINDOW
from agent_core.sessions.journal import TurnJournal
from tests.support.gate import Gate
from tests.support.waiting import wait_until
from tools.context import TodoItem
from tools.result import ToolResult
from tools.toolsets import MORE_TOOLS

_CWD = "/srv"
_RESULT = ToolResult("{}")
_INTERRUPTED = ToolResult(INTERRUPTED_RESULT, failed=True)


class Turn:
    """A bridge whose events are kept; each is delivered before the next is told, so that none merge."""

    def __init__(self, output_pause: float = 0.0, token: CancelToken | None = None, hold: Hold | None = None) -> None:
        self.seen: list[SessionEvent] = []
        self.open = Gate()
        self.outbox = Outbox(asyncio.get_running_loop(), self._deliver, self.open.once_written)
        self.token = token or CancelToken()
        self.bridge = EventBridge(
            self.outbox, TurnJournal(), self.token, cwd=_CWD, turn_id="turn-1", output_pause=output_pause, hold=hold
        )

    def _deliver(self, event: SessionEvent) -> int:
        self.seen.append(event)
        return 0

    async def events(self) -> list[SessionEvent]:
        """What has come since the last look."""
        await asyncio.wait_for(self.outbox.drain(), 5)
        seen, self.seen = self.seen, []
        return seen

    async def running(self, call_id: str = "c", name: str = "terminal") -> None:
        self.bridge.on_tool(CallRequested(call_id, name, {"command": "x"}))
        self.bridge.on_tool(CallRunning(call_id))
        await self.events()


async def test_text_reasoning_and_notes_are_messages_of_their_own() -> None:
    turn = Turn()
    turn.bridge.on_text("answer")
    turn.bridge.on_thought("why")
    turn.bridge.on_note("retrying")
    turn.bridge.on_status(Status("budget", "too much"))
    turn.bridge.on_question("Which?\n- this\n- that")
    text, thought, note, status, question = await turn.events()
    assert isinstance(text, AgentText)
    assert text.text == "answer"
    assert isinstance(thought, AgentThought)
    assert thought.text == "why"
    assert isinstance(note, AgentThought)
    assert note.text == "retrying\n"
    assert isinstance(status, AgentText)
    assert status.text == "too much"
    assert isinstance(question, AgentText)
    assert question.text == "Which?\n- this\n- that"
    assert len({event.message_id for event in (text, thought, note, status, question)}) == 5


class _MeanwhileToken(CancelToken):
    """Lets something happen at the moment when somebody begins to wait with it, and ends the wait."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: list[Callable[[], None]] = []

    def on_cancel(self, callback: Callable[[], None]) -> Callable[[], None]:
        self.cancel()
        if self.meanwhile:
            self.meanwhile.pop()()
        return super().on_cancel(callback)


async def test_notices_are_numbered_in_the_order_in_which_they_are_shown() -> None:
    token = _MeanwhileToken()
    turn = Turn(token=token)
    turn.open.clear()
    turn.outbox.put(AgentText("m", "x" * (MAX_WAITING_CHARS + 1)))
    token.meanwhile.append(lambda: turn.bridge.on_notice("said while the other waits for room"))
    turn.bridge.on_notice("waits")
    turn.open.set()
    numbered = [(event.message_id, event.text) for event in await turn.events() if isinstance(event, Noticed)]
    assert numbered == [("turn-1-notice-1", "said while the other waits for room"), ("turn-1-notice-2", "waits")]


async def test_the_id_changes_after_an_assistants_message_and_only_then() -> None:
    turn = Turn()
    for message in (None, user_message("u"), assistant_message("done")):
        if message is not None:
            turn.bridge.on_message(message)
        turn.bridge.on_text("x")
        await asyncio.sleep(0)
    ids = [event.message_id for event in await turn.events() if isinstance(event, AgentText)]
    assert len(set(ids)) == 2
    assert ids[-1] != ids[0]


async def test_the_plan_and_the_window_are_told() -> None:
    turn = Turn()
    items = (TodoItem("1", "read", "pending"),)
    turn.bridge.on_plan(items)
    turn.bridge.on_step(Step(1, "stop", Usage(input_tokens=10, output_tokens=5), 100))
    turn.bridge.on_step(Step(1, "stop", Usage(input_tokens=10, output_tokens=5), None))
    turn.bridge.on_step(Step(1, "stop", Usage(output_tokens=5), 100))
    turn.bridge.on_step(Step(1, "stop", Usage(output_tokens=5), 100, estimated=60))
    turn.bridge.on_step(Step(1, "stop", Usage(input_tokens=2 * USUAL_WINDOW), None))
    used = [ContextUsed(15, 100), ContextUsed(15, USUAL_WINDOW), ContextUsed(65, 100)]
    assert await turn.events() == [PlanChanged(items), *used, ContextUsed(2 * USUAL_WINDOW, 2 * USUAL_WINDOW)]


async def test_a_tool_call_from_its_first_sight_to_its_end() -> None:
    turn = Turn()
    bridge, arguments = turn.bridge, {"command": "make"}
    bridge.on_tool_begun("c", "terminal")
    bridge.on_tool(CallRequested("c", "terminal", arguments))
    bridge.on_tool(CallRunning("c"))
    bridge.on_tool(CallOutput("c", "out"))
    bridge.on_tool(CallFinished("c", "terminal", arguments, _RESULT))
    assert await turn.events() == [
        ToolAnnounced("c", "terminal", _CWD),
        ToolRequested("c", "terminal", arguments, _CWD, announced=True),
        ToolRunning("c", "terminal", arguments, _CWD),
        ToolOutput("c", "out", "out"),
        ToolFinished("c", "terminal", arguments, _CWD, _RESULT),
    ]
    bridge.on_tool(CallFinished("c", "terminal", arguments, _RESULT))
    bridge.on_tool(CallOutput("c", "late"))
    bridge.on_tool(CallRunning("unknown"))
    assert await turn.events() == []


async def test_a_call_that_was_not_announced_is_requested_as_a_new_one() -> None:
    turn = Turn()
    turn.bridge.on_tool(CallRequested("c", "todo", {}))
    assert await turn.events() == [ToolRequested("c", "todo", {}, _CWD, announced=False)]


class TestOutput:
    async def test_without_a_pause_every_piece_is_told_with_a_bounded_tail(self) -> None:
        turn = Turn()
        await turn.running()
        for number in range(1000):
            turn.bridge.on_tool(CallOutput("c", f"{number:9}\n"))
            if number % 10 == 0:
                await asyncio.sleep(0)
        events = [event for event in await turn.events() if isinstance(event, ToolOutput)]
        assert "".join(event.text for event in events) == "".join(f"{number:9}\n" for number in range(1000))
        assert events[-1].tail.endswith("      999\n")
        assert max(len(event.tail) for event in events) <= 2000

    async def test_with_a_pause_the_first_picture_comes_at_once_and_the_next_ones_later(self) -> None:
        turn = Turn(output_pause=1e9)
        await turn.running()
        for number in range(100):
            turn.bridge.on_tool(CallOutput("c", f"{number}\n"))
        assert await turn.events() == [ToolOutput("c", "0\n", "0\n")]

    async def test_each_call_has_its_own_pause(self) -> None:
        turn = Turn(output_pause=1e9)
        await turn.running("a")
        await turn.running("b")
        turn.bridge.on_tool(CallOutput("a", "1"))
        turn.bridge.on_tool(CallOutput("b", "2"))
        assert await turn.events() == [ToolOutput("a", "1", "1"), ToolOutput("b", "2", "2")]

    async def test_a_picture_after_the_pause_holds_what_came_between(self) -> None:
        turn = Turn(output_pause=0.01)
        await turn.running()
        turn.bridge.on_tool(CallOutput("c", "a"))
        turn.bridge.on_tool(CallOutput("c", "b"))
        over = time.monotonic() + 0.01
        await asyncio.to_thread(wait_until, lambda: time.monotonic() > over)
        turn.bridge.on_tool(CallOutput("c", "c"))
        events = await turn.events()
        assert isinstance(events[-1], ToolOutput)
        assert events[-1].tail == "abc"


class TestClose:
    async def test_open_cards_fail_and_finished_ones_stay(self) -> None:
        turn = Turn()
        turn.bridge.on_tool_begun("announced", "read_file")
        await turn.running("done", "todo")
        await turn.running("runs")
        turn.bridge.on_tool(CallFinished("done", "todo", {}, _RESULT))
        await turn.events()
        turn.bridge.close()
        assert await turn.events() == [
            ToolFinished("announced", "read_file", {}, _CWD, _INTERRUPTED, ran=False),
            ToolFinished("runs", "terminal", {"command": "x"}, _CWD, _INTERRUPTED),
        ]
        turn.bridge.close()
        assert await turn.events() == []

    async def test_whatever_comes_later_is_dropped(self) -> None:
        turn = Turn()
        await turn.running("runs")
        turn.bridge.close()
        await turn.events()
        turn.bridge.on_text("x")
        turn.bridge.on_thought("x")
        turn.bridge.on_note("x")
        turn.bridge.on_status(Status("budget", "x"))
        turn.bridge.on_plan(())
        turn.bridge.on_tool_begun("new", "todo")
        for progress in (
            CallRequested("new", "todo", {}),
            CallRunning("runs"),
            CallOutput("runs", "x"),
            CallFinished("runs", "terminal", {}, _RESULT),
        ):
            turn.bridge.on_tool(progress)
        turn.bridge.close()
        assert await turn.events() == []

    @pytest.mark.parametrize("cancelled", [True, False])
    async def test_a_worker_that_waited_for_space_meanwhile_is_too_late(self, cancelled: bool) -> None:
        turn = Turn()
        turn.open.clear()
        turn.bridge.on_plan(())
        turn.bridge.on_text("x" * (MAX_WAITING_CHARS + 1))
        worker = asyncio.create_task(asyncio.to_thread(turn.bridge.on_tool_begun, "late", "todo"))
        assert not (await asyncio.wait([worker], timeout=0.05))[0], "it waits for space"
        turn.bridge.close()
        if cancelled:
            turn.token.cancel()
        turn.open.set()
        await asyncio.wait_for(worker, 5)
        assert not any(isinstance(event, ToolAnnounced | ToolFinished) for event in await turn.events())

    async def test_close_does_not_wait_for_space(self) -> None:
        turn = Turn()
        await turn.running()
        turn.open.clear()
        turn.bridge.on_text("x" * (MAX_WAITING_CHARS + 1))
        turn.bridge.close()
        turn.open.set()
        assert isinstance((await turn.events())[-1], ToolFinished)


async def test_a_compression_is_shown_under_one_id_and_then_how_full_the_window_is() -> None:
    turn = Turn()
    made = Compaction(1, 5, "a summary", tokens_before=90, tokens_after=20, made_by="a:b")
    for _ in range(2):
        turn.bridge.on_compression(CompressionStep("running", window=100))
        turn.bridge.on_compression(CompressionStep("done", made, window=100, session_cost=0.5))
    turn.bridge.on_compression(CompressionStep("done", made))
    done = [ContextCompacted(f"turn-1-compaction-{n}", "done", 90, 20, "a summary", "a:b") for n in (1, 2, 3)]
    running = [ContextCompacted(f"turn-1-compaction-{n}", "running") for n in (1, 2)]
    used = ContextUsed(20, 100, 0.5)
    assert await turn.events() == [running[0], done[0], used, running[1], done[1], used, done[2]]


async def test_a_compression_that_a_turn_leaves_is_shown_as_broken_off() -> None:
    turn = Turn()
    turn.bridge.on_compression(CompressionStep("running", window=100))
    turn.bridge.close()
    turn.bridge.on_compression(CompressionStep("done", Compaction(1, 5, "late"), window=100))
    assert await turn.events() == [
        ContextCompacted("turn-1-compaction-1", "running"),
        ContextCompacted("turn-1-compaction-1", "cancelled"),
    ]


async def test_more_tools_shows_the_tool_that_is_called() -> None:
    turn = Turn()
    turn.bridge.on_tool_begun("c", MORE_TOOLS)
    turn.bridge.on_tool(CallRequested("c", "web_search", {"query": "cats"}))
    announced, requested = await turn.events()
    (first,) = project(announced, ClientCapabilities())
    (second,) = project(requested, ClientCapabilities())
    assert (first["sessionUpdate"], first["title"]) == ("tool_call", "Use another tool")
    assert (second["sessionUpdate"], second["kind"]) == ("tool_call_update", "fetch")
    assert "cats" in second["title"]


class _Holding:
    """Cards are held until somebody calls what is in `over`."""

    def __init__(self) -> None:
        self.over: list[Callable[[], None]] = []

    def __call__(self, show: Callable[[], None]) -> Callable[[], None]:
        self.over.append(show)
        return lambda: self.over.remove(show)


def _patch(path: str = "a.py") -> CallRequested:
    return CallRequested("c", "patch", {"mode": "replace", "path": path})


async def test_a_card_whose_first_title_is_kept_is_made_with_the_title_of_the_whole_call() -> None:
    holding = _Holding()
    turn = Turn(hold=holding)
    turn.bridge.on_tool_begun("c", "patch")
    assert await turn.events() == []
    turn.bridge.on_tool(_patch())
    assert await turn.events() == [ToolRequested("c", "patch", _patch().arguments, _CWD, announced=False)]
    assert holding.over == []


@pytest.mark.parametrize(
    ("name", "pieces", "known"),
    [
        ("patch", ['{"mode": "replace", "pa', 'th": "src/', 'a.py"', ', "old_string": "'], {"path": "src/a.py"}),
        ("write_file", ['{"path" :\n"b \\"c\\"\\u00e9.py", "content": "x'], {"path": 'b "c"é.py'}),
        ("terminal", ['{"command": "make te', 'st"}'], {"command": "make test"}),
    ],
)
async def test_a_first_title_is_there_as_soon_as_path_or_command_is_known(
    name: str, pieces: list[str], known: dict[str, str]
) -> None:
    holding = _Holding()
    turn = Turn(hold=holding)
    turn.bridge.on_tool_begun("c", name)
    for piece in pieces:
        turn.bridge.on_tool_arguments("c", piece)
    announced = ToolAnnounced("c", name, _CWD, arguments=known)
    assert await turn.events() == [announced]
    assert holding.over == []
    (card,) = project(announced, ClientCapabilities())
    assert "rawInput" not in card
    assert card["title"].endswith(next(iter(known.values())))
    turn.bridge.on_tool(CallRequested("c", name, known))
    assert await turn.events() == [ToolRequested("c", name, known, _CWD, announced=True)]


@pytest.mark.parametrize("piece", ['{"content": "\\"path\\": \\"x\\"', '{"path": "half', '{"path": 5, "x": "y"', ""])
async def test_a_card_is_held_no_longer_than_a_person_would_wonder(piece: str) -> None:
    holding = _Holding()
    turn = Turn(hold=holding)
    turn.bridge.on_tool_begun("c", "write_file")
    turn.bridge.on_tool_arguments("c", piece)
    assert await turn.events() == []
    (over,) = holding.over
    over()
    assert await turn.events() == [ToolAnnounced("c", "write_file", _CWD)]
    over()
    turn.bridge.on_tool_arguments("c", '{"path": "a"}')
    assert await turn.events() == []


async def test_a_card_that_is_held_when_the_turn_ends_is_never_made() -> None:
    holding = _Holding()
    turn = Turn(hold=holding)
    turn.bridge.on_tool_begun("c", "patch")
    (over,) = holding.over
    turn.bridge.close()
    over()
    assert await turn.events() == []
    assert holding.over == []


async def test_a_card_that_is_held_when_its_call_is_lost_is_never_made() -> None:
    holding = _Holding()
    turn = Turn(hold=holding)
    turn.bridge.on_tool_begun("c", "patch")
    (over,) = holding.over
    turn.bridge.on_tool(CallFinished("c", "patch", {}, _RESULT, ran=False))
    assert holding.over == []
    over()
    assert await turn.events() == []
