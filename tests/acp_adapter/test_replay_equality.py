"""What is replayed equals what was shown live, after merging, for each kind of client."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from acp_adapter.capabilities import ClientCapabilities, read_capabilities
from acp_adapter.permissions import asked_card
from agent_core.callbacks import CallFinished, CallOutput, CallRequested, CallRunning, Status, Step
from agent_core.messages import INTERRUPTED_RESULT, assistant_message
from agent_core.providers.base import Usage
from agent_core.sessions.records import StoredEvent, TurnRecord
from agent_core.sessions.replay import replayed
from tests.support.editor_profiles import PROFILES
from tests.support.journaled import JournaledTurn, shown, transcript_of
from tests.support.merged_view import MergedView
from tests.support.sample_events import SAID
from tools.approval.actions import Action, ReadPath, RunCommand, WritePath
from tools.approval.questions import Question
from tools.context import TodoItem
from tools.result import ShownDiff, ShownOutput, ShownText, ToolResult, error

CLIENTS = [pytest.param(read_capabilities(profile), id=name) for name, profile in PROFILES.items()]
PLAIN, TERMINAL = ClientCapabilities(), ClientCapabilities(terminal_output=True)
BOTH = [pytest.param(PLAIN, id="plain"), pytest.param(TERMINAL, id="terminal")]

_OUTPUT = "".join(f"line {number}\n" for number in range(400))
_DIFF = ToolResult("{}", (ShownDiff(Path("/srv/a.py"), "old\n", "new\n"),), {"path": "/srv/a.py", "line": 4})
_ARGUMENTS = {"path": "a.py", "odd": [float("nan"), "\ud800", None, {"deep": True}]}


def _texts(turn: JournaledTurn) -> None:
    bridge = turn.bridge
    bridge.on_note("This version does not connect to MCP servers.")
    for piece in ("Let ", "me ", "see.\n"):
        bridge.on_thought(piece)
    for piece in ("I will ", "look ", "at it: ✓ \ud800."):
        bridge.on_text(piece)
    bridge.on_status(Status("retry", "The server is busy; trying again in 2 s."))
    bridge.on_text(" And more.")
    bridge.on_message(assistant_message("…") | {"unfinished": True})
    bridge.on_text(" The rest.")
    bridge.on_message(assistant_message("…"))
    bridge.on_step(Step(1, "stop", Usage(input_tokens=10, output_tokens=5), 100, session_cost=0.25))
    bridge.on_text("Another message.")
    bridge.on_question("Which?")
    bridge.on_notice("The model is another one now.", "warning")
    bridge.on_step(Step(2, "stop", Usage(input_tokens=20, output_tokens=5), 100, session_cost=0.5))
    bridge.on_status(Status("budget", "Too many requests."))


def _a_command(turn: JournaledTurn) -> None:
    bridge, arguments = turn.bridge, {"command": "make"}
    bridge.on_tool_begun("c", "terminal")
    bridge.on_tool(CallRequested("c", "terminal", arguments))
    bridge.on_tool(CallRunning("c"))
    for line in _OUTPUT.splitlines(keepends=True):
        bridge.on_tool(CallOutput("c", line))
    result = ToolResult("{}", (ShownOutput(_OUTPUT, 2),), {"exit_code": 2}, failed=True)
    bridge.on_tool(CallFinished("c", "terminal", arguments, result))


def _parallel_calls(turn: JournaledTurn) -> None:
    bridge = turn.bridge
    bridge.on_text("Three things")
    for call, name in (("a", "read_file"), ("b", "patch"), ("c", "plugin_tool")):
        bridge.on_tool_begun(call, name)
        bridge.on_tool(CallRequested(call, name, _ARGUMENTS))
    for call in "bca":
        bridge.on_tool(CallRunning(call))
    bridge.on_text(" at once.")
    bridge.on_tool(CallOutput("c", "half "))
    bridge.on_tool(CallFinished("b", "patch", _ARGUMENTS, _DIFF))
    bridge.on_text(" Two to go.")
    bridge.on_tool(CallOutput("c", "done"))
    bridge.on_tool(CallFinished("a", "read_file", _ARGUMENTS, ToolResult("text", (ShownText("x", "py"),))))
    bridge.on_text(" One.")
    bridge.on_tool(CallFinished("c", "plugin_tool", _ARGUMENTS, ToolResult("plain")))


def _failures(turn: JournaledTurn) -> None:
    bridge = turn.bridge
    bridge.on_tool_begun("lost", "terminal")
    bridge.on_tool(CallFinished("lost", "terminal", {}, error("The connection broke."), ran=False))
    for call, name in (("refused", "terminal"), ("failed", "patch"), ("broken", "plugin_tool"), ("bare", "terminal")):
        arguments = {"command": "rm -r build", "path": "b.py"}
        bridge.on_tool(CallRequested(call, name, arguments))
        if call != "refused":
            bridge.on_tool(CallRunning(call))
            bridge.on_tool(CallOutput(call, "so far\nand on"))
        bridge.on_tool(CallFinished(call, name, arguments, error("No.", hint="b"), ran=call != "refused"))


def _cut_off(turn: JournaledTurn) -> None:
    bridge, arguments = turn.bridge, {"command": "sleep 100", "path": "a.py"}
    bridge.on_text("On it.")
    bridge.on_tool_begun("announced", "write_file")
    bridge.on_tool(CallRequested("waits", "patch", arguments))
    bridge.on_tool(CallRequested("asks", "terminal", arguments))
    for call, name in (("silent", "terminal"), ("prints", "terminal"), ("other", "plugin_tool")):
        bridge.on_tool(CallRequested(call, name, arguments))
        bridge.on_tool(CallRunning(call))
    bridge.on_tool(CallOutput("prints", _OUTPUT))
    bridge.on_tool(CallOutput("other", "half of it"))
    bridge.on_tool(CallFinished("silent", "terminal", arguments, ToolResult(INTERRUPTED_RESULT, failed=True)))


def _plans(turn: JournaledTurn) -> None:
    bridge = turn.bridge
    bridge.on_text("First")
    bridge.on_plan((TodoItem("1", "read", "in_progress", "high"), TodoItem("2", "no", "cancelled")))
    bridge.on_text(" a plan.")
    bridge.on_tool(CallRequested("t", "todo", {"todos": [{"id": "1"}]}))
    bridge.on_tool(CallRunning("t"))
    bridge.on_plan((TodoItem("1", "read", "completed", "high"),))
    bridge.on_tool(CallFinished("t", "todo", {"todos": [{"id": "1"}]}, ToolResult("{}")))
    bridge.on_text("Done.")


SCENES = [_texts, _a_command, _parallel_calls, _failures, _cut_off, _plans]
Scene = Callable[[JournaledTurn], None]


def _replay(turns: list[TurnRecord], events: list[StoredEvent], client: ClientCapabilities) -> MergedView:
    return shown(replayed(transcript_of(turns, events)), client)


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("scene", SCENES)
async def test_a_turn_looks_the_same_again(scene: Scene, client: ClientCapabilities) -> None:
    live = MergedView()
    turn = JournaledTurn(live, client)
    turn.say(*SAID)
    scene(turn)
    events = await turn.end()
    assert live.entries
    assert _replay([TurnRecord(1, "t1", 1.0, 2.0, "end_turn")], events, client) == live


@pytest.mark.parametrize("client", BOTH)
async def test_a_session_looks_the_same_again(client: ClientCapabilities) -> None:
    live, events, turns = MergedView(), [], []
    for number, scene in enumerate((_plans, _texts, _cut_off), 1):
        turn = JournaledTurn(live, client, number)
        turn.say()
        scene(turn)
        events += await turn.end()
        turns.append(TurnRecord(number, f"t{number}", 1.0, 2.0, "cancelled"))
    assert live.plan
    assert live.usage
    assert _replay(turns, events, client) == live


@pytest.mark.parametrize("client", BOTH)
@pytest.mark.parametrize("scene", SCENES)
async def test_after_a_crash_it_looks_as_if_the_turn_was_cancelled_there_and_says_so(
    scene: Scene, client: ClientCapabilities
) -> None:
    live = MergedView()
    turn = JournaledTurn(live, client)
    turn.say()
    scene(turn)
    events = await turn.die()
    again = _replay([TurnRecord(1, "t1", 1.0)], events, client)
    told = again.entries.pop()
    assert told["messageId"] == "t1-interrupted"
    assert "interrupted" in told["content"][0]["text"]
    assert again == live


@pytest.mark.parametrize("live_client", BOTH)
async def test_another_client_is_shown_what_it_would_have_been_shown_live(live_client: ClientCapabilities) -> None:
    other = PLAIN if live_client.terminal_output else TERMINAL
    for scene in SCENES:
        turn, mirror, expected = JournaledTurn(MergedView(), live_client), MergedView(), None
        scene(turn)
        events = await turn.end()
        expected = JournaledTurn(mirror, other)
        scene(expected)
        await expected.end()
        assert _replay([TurnRecord(1, "t1", 1.0, 2.0, "end_turn")], events, other) == mirror


async def test_pictures_of_output_with_a_pause_between_them_change_nothing_in_the_end() -> None:
    live = MergedView()
    turn = JournaledTurn(live, PLAIN, pause=1e9)
    for scene in (_a_command, _failures):
        scene(turn)
    events = await turn.end()
    assert _replay([TurnRecord(1, "t1", 1.0, 2.0, "end_turn")], events, PLAIN) == live


async def test_a_pause_between_pictures_loses_nothing_for_a_client_that_is_shown_all() -> None:
    turn, expected = JournaledTurn(MergedView(), PLAIN, pause=1e9), MergedView()
    mirror = JournaledTurn(expected, TERMINAL)
    for one in (turn, mirror):
        _a_command(one)
    events = await turn.end()
    await mirror.end()
    assert _replay([TurnRecord(1, "t1", 1.0, 2.0, "end_turn")], events, TERMINAL) == expected


@pytest.mark.parametrize("client", BOTH)
@pytest.mark.parametrize("allowed", [True, False])
@pytest.mark.parametrize(
    ("name", "action", "arguments"),
    [
        ("terminal", RunCommand("rm -r build", Path("/srv")), {"command": "rm -r build"}),
        ("patch", WritePath(Path("/real/a.py"), b"a", b"b", shown=Path("/srv/a.py")), {"path": "a.py"}),
        ("read_file", ReadPath(Path("/etc/passwd")), {"path": "/etc/passwd", "offset": 3}),
    ],
)
async def test_a_question_on_a_card_leaves_nothing_behind(
    name: str, action: Action, arguments: dict[str, str], allowed: bool, client: ClientCapabilities
) -> None:
    live = MergedView()
    turn = JournaledTurn(live, client)
    turn.bridge.on_tool(CallRequested("c", name, arguments))
    await turn.outbox.drain()
    asked = asked_card(Question("c", action, "is outside"), Path("/srv"))
    live.fold({"sessionUpdate": "tool_call_update", **asked})
    if allowed:
        turn.bridge.on_tool(CallRunning("c"))
    result = ToolResult("{}") if allowed else error("Denied.")
    turn.bridge.on_tool(CallFinished("c", name, arguments, result, allowed))
    events = await turn.end()
    assert _replay([TurnRecord(1, "t1", 1.0, 2.0, "end_turn")], events, client) == live


_RESULTS = (
    ToolResult("plain ✓"),
    _DIFF,
    error("It went wrong.", path="/srv/a.py"),
    ToolResult("{}", (ShownOutput("out\n", 2), ShownText("more")), {"exit_code": 2}, failed=True),
    ToolResult("{}", (ShownOutput("", None, "SIGKILL"),), {"bad": float("inf")}, failed=True),
    ToolResult(INTERRUPTED_RESULT, failed=True),
)
_NAMES = ("read_file", "write_file", "patch", "search_files", "terminal", "terminal", "todo", "plugin_tool")


class _Dice:
    """Random callbacks in an order that an agent could tell them in."""

    def __init__(self, seed: int, turn: JournaledTurn) -> None:
        self.random = random.Random(seed)
        self.turn = turn
        self.calls: dict[str, tuple[str, str]] = {}
        self.made = 0

    def throw(self) -> None:
        """One step."""
        bridge, pick = self.turn.bridge, self.random.choice
        piece = pick(["", "a", " word", "\n", "✓ \ud83d", "long " * 50])
        step = self.random.randrange(16)
        if step < 4:
            bridge.on_text(piece)
        elif step < 6:
            bridge.on_thought(piece)
        elif step == 6:
            pick([bridge.on_note, lambda text: bridge.on_status(Status("retry", text))])("again")
        elif step == 7:
            bridge.on_message(pick([assistant_message("x"), assistant_message("x") | {"unfinished": True}]))
        elif step == 8:
            bridge.on_step(Step(1, "stop", Usage(self.random.randrange(99), 5), 100, session_cost=pick([None, 0.5])))
        elif step == 9:
            bridge.on_plan(tuple(TodoItem(str(number), "x", "pending") for number in range(pick([0, 1, 3]))))
        elif step == 10:
            pick([self.turn.write, lambda: self.turn.journal.put_back(self.turn.journal.take())])()
        else:
            self._call()

    def _call(self) -> None:
        bridge, pick = self.turn.bridge, self.random.choice
        if not self.calls or (len(self.calls) < 4 and self.random.random() < 0.3):
            self.made += 1
            call, name = f"{self.turn.number}-{self.made}", pick(_NAMES)
            self.calls[call] = (name, "announced")
            bridge.on_tool_begun(call, name)
            if self.random.random() < 0.7:
                return
        call = pick(sorted(self.calls))
        name, state = self.calls[call]
        arguments = {"path": f"{call}.py", "command": "make ✓", "todos": [1], "n": float("nan")}
        if state == "announced" and self.random.random() < 0.9:
            self.calls[call] = (name, "requested")
            bridge.on_tool(CallRequested(call, name, arguments))
        elif state == "requested" and self.random.random() < 0.8:
            self.calls[call] = (name, "runs")
            bridge.on_tool(CallRunning(call))
        elif state == "runs" and self.random.random() < 0.7:
            bridge.on_tool(CallOutput(call, pick(["x", "line\n", "many lines\n" * 300])))
        else:
            del self.calls[call]
            result = pick(_RESULTS) if state == "runs" else error("Refused.")
            given = {} if state == "announced" else arguments
            bridge.on_tool(CallFinished(call, name, given, result, state == "runs"))


@pytest.mark.parametrize("client", BOTH)
@pytest.mark.parametrize("seed", range(25))
async def test_random_sessions_look_the_same_again(seed: int, client: ClientCapabilities) -> None:
    live, events, turns = MergedView(), [], []
    for number in (1, 2):
        turn = JournaledTurn(live, client, number)
        turn.say()
        dice = _Dice(seed * 2 + number, turn)
        for _ in range(dice.random.randrange(150)):
            dice.throw()
            if dice.random.random() < 0.3:
                await asyncio.sleep(0)
        events += await turn.end()
        turns.append(TurnRecord(number, f"t{number}", 1.0, 2.0, "end_turn"))
    assert _replay(turns, events, client) == live
