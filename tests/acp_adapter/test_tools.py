"""How tool calls look: titles, kinds and places of every tool, and content that no editor stumbles over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.tools import (
    card_details,
    diff_block,
    finished_call,
    live_output,
    look_of,
    requested_call,
    running_call,
    terminal_id,
    text_block,
)
from agent_core.events import ToolAnnounced, ToolFinished, ToolOutput, ToolRequested, ToolRunning
from tools.result import ShownDiff, ShownOutput, ShownText, ToolResult, error
from tools.toolsets import select

PLAIN, TERMINAL = ClientCapabilities(), ClientCapabilities(terminal_output=True)
CWD = "/srv/project"


def _finished(name: str, result: ToolResult, client: ClientCapabilities = PLAIN, **arguments: Any) -> dict[str, Any]:
    (update,) = finished_call(ToolFinished("c", name, arguments, CWD, result), client)
    return update


def _text(update: dict[str, Any]) -> str:
    (block,) = update["content"]
    return str(block["content"]["text"])


def _output(text: str, client: ClientCapabilities = PLAIN) -> dict[str, Any]:
    return _finished("terminal", ToolResult("{}", (ShownOutput(text, 0),)), client)


GOLDEN = [
    ("read_file", {"path": "a.py"}, ("read", "Read a file", "Read a.py"), ["a.py"]),
    ("read_file", {"path": "src/../a.py", "offset": 1}, ("read", "Read a file", "Read a.py"), ["a.py", 1]),
    ("read_file", {"path": "a.py", "offset": 40}, ("read", "Read a file", "Read a.py from line 40"), ["a.py", 40]),
    ("read_file", {"path": "/etc/hosts"}, ("read", "Read a file", "Read /etc/hosts"), ["/etc/hosts"]),
    ("read_file", {"path": "../b.py"}, ("read", "Read a file", "Read /srv/b.py"), ["/srv/b.py"]),
    ("read_file", {}, ("read", "Read a file", "Read ?"), None),
    ("write_file", {"path": "new/b.py", "content": "x"}, ("edit", "Write a file", "Write new/b.py"), ["new/b.py"]),
    ("patch", {"path": "a.py", "old_string": "x"}, ("edit", "Edit a file", "Edit a.py"), ["a.py"]),
    ("search_files", {"pattern": "def x"}, ("search", "Search", "Search 'def x'"), None),
    ("search_files", {"pattern": "x", "path": "src"}, ("search", "Search", "Search 'x' in src"), ["src"]),
    ("search_files", {"pattern": "x", "path": "."}, ("search", "Search", "Search 'x'"), ["."]),
    ("terminal", {"command": "make test"}, ("execute", "Run a command", "make test"), None),
    ("terminal", {}, ("execute", "Run a command", "?"), None),
    ("session_search", {"query": "x"}, ("search", "Search earlier sessions", "Search sessions for 'x'"), None),
    ("session_search", {"session_id": "s"}, ("search", "Search earlier sessions", "Read an earlier session"), None),
    ("session_search", {}, ("search", "Search earlier sessions", "Look at the latest sessions"), None),
    ("todo", {"todos": [{"id": "1"}]}, ("think", "Plan", "Update the plan"), None),
    ("todo", {}, ("think", "Plan", "Look at the plan"), None),
    ("plugin_tool", {"x": 1}, ("other", "plugin_tool", "plugin_tool"), None),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "look", "place"), GOLDEN)
def test_the_look_of_every_tool(
    name: str, arguments: dict[str, Any], look: tuple[str, str, str], place: list[Any] | None
) -> None:
    kind, waiting, title = look
    announced = requested_call(ToolAnnounced("c", name, CWD), PLAIN)
    assert (announced["kind"], announced["title"], announced["status"]) == (kind, waiting, "pending")
    details = card_details(name, arguments, CWD)
    assert (details["kind"], details["title"], details["rawInput"]) == (kind, title, arguments)
    assert details.get("locations") == (None if place is None else [_place(*place)])
    assert running_call(ToolRunning("c", name, arguments, CWD))["title"] == title


def _place(path: str, line: int | None = None) -> dict[str, Any]:
    full = str(Path(CWD, path))
    return {"path": full} if line is None else {"path": full, "line": line}


def test_every_tool_that_models_are_offered_has_a_look_of_its_own() -> None:
    offered = {entry.name for entry in select(("hermes-acp",))}
    assert {name for name in offered if look_of(name).kind == "other"} == set()
    assert offered <= {name for name, *_ in GOLDEN}


@pytest.mark.parametrize("arguments", [{"path": 7}, {"path": ""}, {"path": "a\0b"}, {"path": None}, {"path": ["a"]}])
def test_a_path_that_is_none_has_no_place(arguments: dict[str, Any]) -> None:
    assert "locations" not in card_details("read_file", arguments, CWD)


@pytest.mark.parametrize("line", [0, -1, True, "3", 1.5, None, 2**32])
def test_a_line_that_is_none_is_left_out(line: Any) -> None:
    assert card_details("read_file", {"path": "a", "offset": line}, CWD)["locations"] == [{"path": f"{CWD}/a"}]
    finished = _finished("read_file", ToolResult("{}", (), {"path": "/x", "line": line}))
    assert finished["locations"] == [{"path": "/x"}]


def test_a_relative_path_in_the_facts_is_no_place() -> None:
    assert "locations" not in _finished("read_file", ToolResult("{}", (), {"path": "a.py"}))


def test_long_titles_and_inputs_are_clipped_and_say_by_how_much() -> None:
    details = card_details("terminal", {"command": "x" * 5000, "timeout": 3}, CWD)
    assert details["title"] == "x" * 200 + "… (4800 more characters)"
    assert details["rawInput"] == {"command": "x" * 2000 + "… (3000 more characters)", "timeout": 3}


def test_a_huge_diff_is_a_note() -> None:
    big = "x" * (600 * 1024)
    assert diff_block(ShownDiff(Path("/a"), "old", big))["type"] == "diff"
    note = diff_block(ShownDiff(Path("/a"), big, big))
    assert note == text_block("The change of /a is too large to show here.")


def test_a_diff_of_a_new_and_of_a_deleted_file() -> None:
    created, deleted = diff_block(ShownDiff(Path("/a"), None, "x")), diff_block(ShownDiff(Path("/a"), "x", None))
    assert created == {"type": "diff", "path": "/a", "oldText": None, "newText": "x"}
    assert deleted == {"type": "diff", "path": "/a", "oldText": "x", "newText": ""}


@pytest.mark.parametrize("inner", ["", "`", "``", "```", "````\nx\n````", "a ````` b"])
def test_a_fence_is_longer_than_any_in_its_text(inner: str) -> None:
    for shown in (
        _text(_finished("x", ToolResult(inner))),
        _text(_output(f"{inner}\n")),
        text_block(inner, "md")["content"]["text"],
    ):
        fence = shown[: len(shown) - len(shown.lstrip("`"))]
        assert len(fence) >= 3
        assert fence not in inner
        assert f"\n{fence}" in shown


def test_text_may_be_plain_or_a_block() -> None:
    shown = (ShownText("**bold**"), ShownText("x = 1\n", "python"))
    first, second = _finished("x", ToolResult("{}", shown))["content"]
    assert first["content"]["text"] == "**bold**"
    assert second["content"]["text"] == "```python\nx = 1\n```"


def test_long_text_is_clipped_inside_its_fence() -> None:
    shown = _text(_output("x" * 30_000))
    assert len(shown) < 20_200
    assert shown.endswith("… (10000 more characters)\n```\nexit code 0")


@pytest.mark.parametrize(
    "raw",
    [
        "\x1b[1;31mred\x1b[0m", "\x1b]0;title\x07red", "\x1b]8;;http://x\x1b\\red\x1b]8;;\x1b\\", "\x1b(B\x1b[mred",
        "\x1b7\x1b=red\x1b8", "old\rred", "re\x00d", "\x1b[38;5;1mred\x1b[K",
    ],
)  # fmt: skip
def test_plain_clients_see_no_escape_sequences(raw: str) -> None:
    assert _text(_output(f"{raw}\r\nnext\n")) == "```\nred\nnext\n```\nexit code 0"
    assert _text(live_output(ToolOutput("c", raw, raw), PLAIN)) == "```\nred\n```"
    data = live_output(ToolOutput("c", raw, "tail"), TERMINAL)["_meta"]["terminal_output"]["data"]
    assert data == raw, "a terminal shows them itself"


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
        assert created["_meta"] == {"terminal_info": {"terminal_id": name, "cwd": CWD}}
        assert live["_meta"] == {"terminal_output": {"terminal_id": name, "data": "more"}}
        assert ended["_meta"] == {"terminal_exit": {"terminal_id": name, "exit_code": None, "signal": "SIGTERM"}}
        for update in (requested, live, ended):
            assert "content" not in update, "content would replace the terminal"

    def test_a_call_that_was_never_announced_brings_its_terminal_along(self) -> None:
        created = requested_call(ToolRequested("c", "terminal", {"command": "x"}, CWD, announced=False), TERMINAL)
        assert created["content"] == [{"type": "terminal", "terminalId": terminal_id("c")}]

    def test_a_command_that_never_ran_shows_its_error_in_place_of_the_terminal(self) -> None:
        denied = _finished("terminal", error("Denied: no."), TERMINAL, command="rm x")
        assert _text(denied) == "Denied: no."
        assert "_meta" not in denied

    def test_other_tools_have_none(self) -> None:
        assert "_meta" not in requested_call(ToolAnnounced("c", "read_file", CWD), TERMINAL)


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

    def test_a_plan_that_failed_is_shown_on_its_card_and_one_that_worked_is_not(self) -> None:
        assert _text(_finished("todo", error("no"))) == "no"
        assert "content" not in _finished("todo", ToolResult("{}", (ShownText("[ ] x"),)))
