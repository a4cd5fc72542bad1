"""Servers' tools as the model gets them: each by itself, or behind a search that stays."""

from __future__ import annotations

import json

from agent_core.mcp.offers import OfferedResource, OfferedTool, Snapshot, ToolShelf
from tools.approval.actions import pin_of

TEXT = {"type": "object", "properties": {"path": {"type": "string"}}}


def tool(name: str, about: str = "") -> OfferedTool:
    return OfferedTool(name, about or f"Does {name}.", TEXT, pin_of({}, {"name": name}))


def ready(*tools: OfferedTool, resources: int = 0) -> Snapshot:
    found = tuple(OfferedResource(f"note://{number}") for number in range(resources))
    return Snapshot("ready", "", tools, resources=found)


def names(shelf: ToolShelf) -> list[str]:
    return [entry.name for entry in shelf.entries]


def test_a_few_tools_are_told_each() -> None:
    shelf = ToolShelf({"git": "git"})
    shelf.update({"git": ready(tool("log"), tool("diff"))})
    assert names(shelf) == ["mcp__git__diff", "mcp__git__log"]


def test_tools_beyond_a_tenth_of_the_window_are_behind_a_search() -> None:
    shelf = ToolShelf({"git": "git"})
    shelf.update({"git": ready(*(tool(f"tool{number}", "x" * 400) for number in range(30)))})
    assert len(shelf.entries) == 30  # about 4,000 tokens: little for 128,000
    shelf.fit(32_000)
    assert names(shelf) == ["mcp_find_tools", "mcp_call_tool"]
    # Once they are there they stay, whatever comes and goes: the list that the model has must not change.
    before = shelf.entries
    shelf.fit(1_000_000)
    shelf.update({"git": ready(tool("log"))})
    assert shelf.entries == before


def test_tools_need_no_search_of_their_own_in_a_small_window_which_has_one_for_all() -> None:
    shelf = ToolShelf({"git": "git"})
    shelf.update({"git": ready(*(tool(f"tool{number}", "x" * 400) for number in range(30)))})
    shelf.fit(8_000)
    assert len(shelf.entries) == 30
    shelf.fit(32_000)
    assert names(shelf) == ["mcp_find_tools", "mcp_call_tool"]
    shelf.fit(8_000)
    assert len(shelf.entries) == 30


def test_the_setting_decides_where_it_is_on_or_off() -> None:
    off, on = ToolShelf({"git": "git"}, "off"), ToolShelf({"git": "git"}, "on")
    for shelf in (off, on):
        shelf.fit(1_000)
        shelf.update({"git": ready(*(tool(f"tool{number}", "x" * 400) for number in range(20)))})
    assert (len(off.entries), len(on.entries)) == (20, 2)


def test_tools_for_resources_are_there_where_a_server_has_some_and_stay() -> None:
    shelf = ToolShelf({"a": "a"})
    shelf.update({"a": ready(tool("x"))})
    assert names(shelf) == ["mcp__a__x"]
    shelf.update({"a": ready(tool("x"), resources=1)})
    assert names(shelf) == ["mcp__a__x", "mcp_list_resources", "mcp_read_resource"]
    shelf.update({"a": ready(tool("x"))})
    assert len(shelf.entries) == 3


def test_the_search_finds_by_name_and_by_what_is_said() -> None:
    shelf = ToolShelf({"git": "git", "jira": "jira"}, "on")
    git = ready(tool("create_branch", "Makes a new branch."), tool("log", "Shows commits."))
    shelf.update({"git": git, "jira": ready(tool("create_issue", "Opens a ticket about a bug."))})
    first = [json.loads(shelf.find(query).splitlines()[0])["name"] for query in ("branch", "ticket", "mcp__git__log")]
    assert first == ["mcp__git__create_branch", "mcp__jira__create_issue", "mcp__git__log"]
    assert json.loads(shelf.find("ticket").splitlines()[0])["arguments"] == TEXT
    assert shelf.find("zebra").startswith("No tool fits 'zebra'. There are: mcp__git__create_branch")
    assert shelf.locate("mcp__jira__create_issue") == ("jira", "create_issue")
    assert shelf.locate("mcp__jira__nothing") is None


def test_what_is_found_has_a_bound() -> None:
    shelf = ToolShelf({"git": "git"}, "on")
    shelf.update({"git": ready(*(tool(f"find{number}", "y" * 1_000) for number in range(300)))})
    assert len(shelf.find("find")) < 13_000
