"""The life of a card: what each of its updates holds, for clients with and without live terminals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.projection import (
    finished_call,
    in_terminal,
    live_output,
    requested_call,
    running_call,
    terminal_id,
)
from agent_core.events import TerminalShown, ToolAnnounced, ToolFinished, ToolOutput, ToolRequested, ToolRunning
from agent_core.messages import INTERRUPTED_RESULT
from tests.support.each import each
from tools.result import SavedOutput, Shown, ShownOutput, ShownText, ToolResult, error

PLAIN, TERMINAL = ClientCapabilities(), ClientCapabilities(terminal_output=True)
BOTH = [pytest.param(PLAIN, id="plain"), pytest.param(TERMINAL, id="terminal")]
CWD = "/srv/project"
SAVED = {"saved": SavedOutput(Path("/home/outputs/c.txt"), 1_200_000).facts()}


def _finished(name: str, result: ToolResult, client: ClientCapabilities = PLAIN, **arguments: Any) -> dict[str, Any]:
    (update,) = finished_call(ToolFinished("c", name, arguments, CWD, result), client)
    return update


def _text(update: dict[str, Any]) -> str:
    (block,) = update["content"]
    return str(block["content"]["text"])


def _kinds(update: dict[str, Any]) -> list[str]:
    return [block.get("content", block)["type"] for block in update["content"]]


@pytest.mark.parametrize("client", BOTH)
def test_the_tools_name_is_told_once_where_its_card_is_made(client: ClientCapabilities) -> None:
    arguments = {"command": "make"}
    made = requested_call(ToolRequested("c", "terminal", arguments, CWD, announced=False), client)
    assert made["name"] == "terminal"
    assert made.get("_meta", {}).get("tool_name") == ("terminal" if client.terminal_output else None)
    for later in (
        requested_call(ToolRequested("c", "terminal", arguments, CWD, announced=True), client),
        running_call(ToolRunning("c", "terminal", arguments, CWD), client),
        _finished("terminal", ToolResult("{}"), client, **arguments),
    ):
        assert "name" not in later


@pytest.mark.parametrize("client", BOTH)
def test_a_card_below_another_names_it_where_it_is_made(client: ClientCapabilities) -> None:
    for made in (
        ToolRequested("c", "terminal", {"command": "make"}, CWD, announced=False, parent="p"),
        ToolAnnounced("c", "terminal", CWD, parent="p"),
    ):
        assert requested_call(made, client)["_meta"]["hermes"] == {"parentToolCallId": "p"}
        assert "hermes" not in requested_call(replace(made, parent=""), client).get("_meta", {})


def test_the_end_of_a_command_is_told_in_words_to_plain_clients() -> None:
    killed = _finished("terminal", ToolResult("{}", (ShownOutput("x", None, "SIGKILL"),), {}, failed=True))
    assert _text(killed) == "```\nx\n```\nended by SIGKILL"
    assert killed["status"] == "failed"


class TestTerminals:
    def test_the_three_parts_of_a_terminal_name_the_same_one(self) -> None:
        created = requested_call(ToolAnnounced("c", "terminal", CWD), TERMINAL)
        requested = requested_call(ToolRequested("c", "terminal", {"command": "x"}, CWD, announced=True), TERMINAL)
        live = live_output(ToolOutput("c", "more", "tail"), TERMINAL)
        ended = _finished("terminal", ToolResult("{}", (ShownOutput("all", None, "SIGTERM"),)), TERMINAL)
        name = terminal_id("c")
        assert created["content"] == [{"type": "terminal", "terminalId": name}]
        assert created["_meta"]["terminal_info"] == {"terminal_id": name, "cwd": CWD}
        assert live["_meta"] == {"terminal_output": {"terminal_id": name, "data": "more"}}
        assert ended["_meta"] == {"terminal_exit": {"terminal_id": name, "exit_code": None, "signal": "SIGTERM"}}
        for update in (requested, live, ended):
            assert "content" not in update, "content would replace the terminal"

    def test_it_shows_what_is_printed_as_it_comes(self) -> None:
        raw = "\x1b[31mred\x1b[0m\r"
        data = live_output(ToolOutput("c", raw, "tail"), TERMINAL)["_meta"]["terminal_output"]["data"]
        assert data == raw, "a terminal shows escape sequences itself"

    def test_a_call_that_was_never_announced_brings_its_terminal_along(self) -> None:
        created = requested_call(ToolRequested("c", "terminal", {"command": "x"}, CWD, announced=False), TERMINAL)
        assert created["content"] == [{"type": "terminal", "terminalId": terminal_id("c")}]

    def test_a_command_that_never_ran_shows_its_error_in_place_of_the_terminal(self) -> None:
        denied = _finished("terminal", error("Denied: no."), TERMINAL, command="rm x")
        assert _text(denied) == "Denied: no."
        assert "_meta" not in denied

    def test_a_command_that_was_cancelled_keeps_its_terminal(self) -> None:
        ended = _finished("terminal", ToolResult(INTERRUPTED_RESULT, failed=True), TERMINAL)
        assert "content" not in ended
        assert ended["_meta"]["terminal_exit"]["exit_code"] is None

    def test_other_tools_have_none(self) -> None:
        assert "content" not in requested_call(ToolAnnounced("c", "mcp__git__log", CWD), TERMINAL)
        live = live_output(ToolOutput("c", "more", "tail", "mcp__git__log"), TERMINAL)
        assert "_meta" not in live
        assert _text(live) == "```\ntail\n```"

    @pytest.mark.parametrize("client", BOTH)
    def test_the_editors_own_terminal_is_all_that_its_card_shows(self, client: ClientCapabilities) -> None:
        shown = in_terminal(TerminalShown("c", "t1"))
        result = ToolResult("{}", (ShownOutput("all", 0),), {"exit_code": 0, **SAVED})
        (ended,) = finished_call(ToolFinished("c", "terminal", {}, CWD, result, in_terminal=True), client)
        assert shown["content"] == [{"type": "terminal", "terminalId": "t1"}]
        assert "_meta" not in shown, "nothing has ended in the terminal that the card began with"
        assert "content" not in ended
        assert "_meta" not in ended


class TestBigResults:
    def test_a_plain_client_is_led_to_all_of_a_commands_output(self) -> None:
        ended = _finished("terminal", ToolResult("{}", (ShownOutput("head … tail", 0),), SAVED))
        assert _kinds(ended) == ["text", "resource_link"]
        assert ended["content"][1]["content"]["uri"] == "file:///home/outputs/c.txt"

    def test_a_live_terminal_has_shown_it_all(self) -> None:
        ended = _finished("terminal", ToolResult("{}", (ShownOutput("head … tail", 0),), SAVED), TERMINAL)
        assert "content" not in ended

    @pytest.mark.parametrize("client", BOTH)
    @pytest.mark.parametrize("shown", [(), (ShownText("long"),)])
    def test_other_tools_lead_to_theirs_in_every_client(
        self, client: ClientCapabilities, shown: tuple[Shown, ...]
    ) -> None:
        assert _kinds(_finished("mcp__git__log", ToolResult("long", shown, SAVED), client)) == [
            "text",
            "resource_link",
        ]


class TestPlaces:
    def test_the_files_that_a_search_has_found_are_its_places_up_to_ten(self) -> None:
        hits = [{"path": f"/srv/{number}.py", "line": number + 1} for number in range(15)]
        ended = _finished("search_files", ToolResult("x", facts={"path": "/srv", "total": 15, "locations": hits}))
        assert ended["locations"] == hits[:10]

    def test_a_search_without_hits_stays_where_it_searched(self) -> None:
        ended = _finished("search_files", ToolResult("x", facts={"path": "/srv", "total": 0, "locations": []}))
        assert ended["locations"] == [{"path": "/srv"}]

    def test_a_result_tells_its_line(self) -> None:
        ended = _finished("patch", ToolResult("{}", facts={"path": "/srv/a.py", "line": 4, "lines": [4, 9]}))
        assert ended["locations"] == [{"path": "/srv/a.py", "line": 4}]
        assert ended["rawOutput"] == {"path": "/srv/a.py", "line": 4, "lines": [4, 9]}

    @each("line", [0, -1, True, "3", 1.5, None, 2**32])
    def test_a_line_that_is_none_is_left_out(self, line: Any) -> None:
        finished = _finished("read_file", ToolResult("{}", (), {"path": "/x", "line": line}))
        assert finished["locations"] == [{"path": "/x"}]

    @pytest.mark.parametrize(
        "facts", [{"path": "a.py"}, {"path": 7}, {"locations": "x"}, {"locations": [None, {"path": "b"}, 3]}]
    )
    def test_a_fact_that_is_no_absolute_path_is_no_place(self, facts: dict[str, Any]) -> None:
        assert "locations" not in _finished("read_file", ToolResult("{}", (), facts))


class TestPlans:
    def test_a_plan_is_on_its_card_from_the_beginning_and_when_it_is_approved(self) -> None:
        asked = requested_call(ToolRequested("c", "exit_plan_mode", {"plan": "# Do it"}, CWD, announced=True), PLAIN)
        assert _text(asked) == "# Do it"
        assert asked["kind"] == "switch_mode"
        approved = ToolResult("{}", (ShownText("# Do it"),), {"mode": "default"})
        assert _text(_finished("exit_plan_mode", approved, plan="# Do it")) == "# Do it"

    def test_one_that_was_rejected_is_still_there_beside_the_reason(self) -> None:
        rejected = _finished("exit_plan_mode", error("Change step 2."), plan="# Do it")
        assert [block["content"]["text"] for block in rejected["content"]] == ["# Do it", "Change step 2."]

    @pytest.mark.parametrize("arguments", [{}, {"plan": ""}, {"plan": 7}, {"plan": " "}])
    def test_one_that_is_none_is_not_shown(self, arguments: dict[str, Any]) -> None:
        asked = requested_call(ToolRequested("c", "exit_plan_mode", arguments, CWD, announced=True), PLAIN)
        assert "content" not in asked

    def test_a_todo_list_that_failed_is_shown_on_its_card_and_one_that_worked_is_not(self) -> None:
        assert _text(_finished("todo", error("no"))) == "no"
        assert "content" not in _finished("todo", ToolResult("{}", (ShownText("[ ] x"),)))


class TestFailures:
    def test_the_sentence_of_the_error_is_shown_and_the_title_is_its_own_again(self) -> None:
        failed = _finished("read_file", error("There is no a.py.", path="/x/a.py"), path="a.py")
        assert failed["status"] == "failed"
        assert failed["title"] == "Read a.py"
        assert _text(failed) == "There is no a.py."
        assert failed["rawOutput"] == {"path": "/x/a.py"}

    @pytest.mark.parametrize("text", ["not json", '{"error": 7}', "[1]", ""])
    def test_other_failures_are_shown_as_they_are(self, text: str) -> None:
        assert _text(_finished("x", ToolResult(text, failed=True))) == text


def test_who_makes_a_call_is_told_from_its_beginning_to_its_failure() -> None:
    call = ("c", "read_file", {"path": "a"}, CWD)
    updates = [
        requested_call(ToolRequested(*call, announced=True, by="scout"), PLAIN),
        running_call(ToolRunning(*call, by="scout"), PLAIN),
        *finished_call(ToolFinished(*call, error("no"), by="scout"), PLAIN),
    ]
    assert [update["title"] for update in updates] == ["scout: Read a"] * 3
    assert [update.get("status") for update in updates] == [None, "in_progress", "failed"]
    (done,) = finished_call(ToolFinished(*call, ToolResult("{}"), by="scout"), PLAIN)
    assert done["status"] == "completed"


def test_a_result_without_a_look_of_its_own_is_a_block_and_a_failure_is_words() -> None:
    assert _text(_finished("read_file", ToolResult("some text"))) == "```\nsome text\n```"
    assert not _text(_finished("read_file", error("no such file"))).startswith("```")
