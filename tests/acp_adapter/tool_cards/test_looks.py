"""The table: kind, titles and places of every tool that models are offered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.projection import requested_call, running_call
from acp_adapter.tools import card_details, look_of
from agent_core.events import ToolAnnounced, ToolRunning
from tests.support.each import each
from tools.toolsets import select

PLAIN = ClientCapabilities()
CWD = "/srv/project"

GOLDEN = [
    ("read_file", {"path": "a.py"}, ("read", "Read a file", "Read a.py"), ["a.py"]),
    ("read_file", {"path": "src/../a.py", "offset": 1}, ("read", "Read a file", "Read a.py"), ["a.py", 1]),
    ("read_file", {"path": "a.py", "offset": 40}, ("read", "Read a file", "Read a.py from line 40"), ["a.py", 40]),
    ("read_file", {"path": "a.py", "linked": True}, ("read", "Read a file", "Read a.py (linked)"), ["a.py"]),
    ("read_file", {"path": "/etc/hosts"}, ("read", "Read a file", "Read /etc/hosts"), ["/etc/hosts"]),
    ("read_file", {"path": "../b.py"}, ("read", "Read a file", "Read /srv/b.py"), ["/srv/b.py"]),
    ("read_file", {}, ("read", "Read a file", "Read ?"), None),
    ("write_file", {"path": "new/b.py", "content": "x"}, ("edit", "Write a file", "Write new/b.py"), ["new/b.py"]),
    ("patch", {"path": "a.py", "old_string": "x"}, ("edit", "Edit a file", "Edit a.py"), ["a.py"]),
    ("search_files", {"pattern": "def x"}, ("search", "Search", "Search 'def x'"), None),
    ("search_files", {"pattern": "x", "path": "src"}, ("search", "Search", "Search 'x' in src"), ["src"]),
    ("search_files", {"pattern": "x", "path": "."}, ("search", "Search", "Search 'x'"), ["."]),
    ("terminal", {"command": "make test", "path": "x"}, ("execute", "Run a command", "make test"), None),
    ("terminal", {}, ("execute", "Run a command", "?"), None),
    ("session_search", {"query": "x"}, ("search", "Search earlier sessions", "Search sessions for 'x'"), None),
    ("session_search", {"session_id": "s"}, ("search", "Search earlier sessions", "Read an earlier session"), None),
    ("session_search", {}, ("search", "Search earlier sessions", "Look at the latest sessions"), None),
    ("todo", {"todos": [{"id": "1"}]}, ("think", "Plan", "Update the plan"), None),
    ("todo", {}, ("think", "Plan", "Look at the plan"), None),
    ("clarify", {"question": "Which?"}, ("think", "Ask a question", "Which?"), None),
    ("exit_plan_mode", {"plan": "# Plan"}, ("switch_mode", "Plan ready", "Plan ready"), None),
    ("rewind", {"path": "a.py"}, ("edit", "Take back", "Take back a.py"), ["a.py"]),
    ("mcp__git__log", {"path": "a.py"}, ("other", "git: log", "git: log"), None),
    ("plugin_tool", {"x": 1}, ("other", "plugin_tool", "plugin_tool"), None),
    ("plugin_tool", {"path": "a.py"}, ("other", "plugin_tool", "plugin_tool"), ["a.py"]),
]  # fmt: skip


@each(("name", "arguments", "look", "place"), GOLDEN)
def test_the_look_of_every_tool(
    name: str, arguments: dict[str, Any], look: tuple[str, str, str], place: list[Any] | None
) -> None:
    kind, waiting, title = look
    announced = requested_call(ToolAnnounced("c", name, CWD), PLAIN)
    assert (announced["kind"], announced["title"], announced["status"]) == (kind, waiting, "pending")
    assert announced["name"] == name
    details = card_details(name, arguments, CWD)
    assert (details["kind"], details["title"], details["rawInput"]) == (kind, title, arguments)
    assert details.get("locations") == (None if place is None else [_place(*place)])
    assert running_call(ToolRunning("c", name, arguments, CWD), PLAIN)["title"] == title


def _place(path: str, line: int | None = None) -> dict[str, Any]:
    full = str(Path(CWD, path))
    return {"path": full} if line is None else {"path": full, "line": line}


def test_every_tool_that_models_are_offered_has_a_look_of_its_own() -> None:
    offered = {entry.name for entry in select(("hermes-acp",))}
    assert {name for name in offered if look_of(name).kind == "other"} == set()


@each("arguments", [{"path": 7}, {"path": ""}, {"path": "a\0b"}, {"path": None}, {"path": ["a"]}])
def test_a_path_that_is_none_has_no_place(arguments: dict[str, Any]) -> None:
    assert "locations" not in card_details("read_file", arguments, CWD)


@each("line", [0, -1, True, "3", 1.5, None, 2**32])
def test_a_line_that_is_none_is_left_out(line: Any) -> None:
    assert card_details("read_file", {"path": "a", "offset": line}, CWD)["locations"] == [{"path": f"{CWD}/a"}]


def test_the_largest_line_that_clients_read_is_a_line() -> None:
    (place,) = card_details("read_file", {"path": "a", "offset": 2**32 - 1}, CWD)["locations"]
    assert place["line"] == 2**32 - 1


def test_long_inputs_are_clipped_wherever_they_are_and_say_by_how_much() -> None:
    long, cut = "x" * 5000, "x" * 2000 + "… (3000 more characters)"
    assert card_details("terminal", {"command": "x" * 2000}, CWD)["rawInput"] == {"command": "x" * 2000}
    details = card_details("terminal", {"command": long, "timeout": 3, "more": [{"deep": long, long: 1}]}, CWD)
    assert details["rawInput"] == {"command": cut, "timeout": 3, "more": [{"deep": cut, cut: 1}]}
