"""What the cards of web, browser, processes and the map say that they do."""

from __future__ import annotations

from typing import Any

from acp_adapter.tools import about, card_details, look_of, on_element
from tests.support.each import each

CWD = "/srv/app"


@each(
    ("tool", "arguments", "title", "kind"),
    [
        ("process", {}, "List background processes", "execute"),
        ("process", {"action": "poll", "session_id": "p1"}, "Look at p1", "execute"),
        ("process", {"action": "submit", "session_id": "p1", "data": "yes\nno"}, "Type into p1: yes …", "execute"),
        ("process", {"action": "dance", "session_id": "p1"}, "dance p1", "execute"),
        ("web_search", {"query": "tide tables"}, "Search the web for 'tide tables'", "fetch"),
        ("web_extract", {"urls": ["https://a.example/x"]}, "Read https://a.example/x", "fetch"),
        ("web_extract", {"urls": ["https://a.example/x", "https://b.example"]}, "Read a.example, b.example", "fetch"),
        ("web_extract", {"urls": "https://a.example/x"}, "Read https://a.example/x", "fetch"),
        ("web_extract", {"urls": ["https://[broken", "x"]}, "Read https://[broken, x", "fetch"),
        ("repo_map", {}, "Map the code", "search"),
        ("repo_map", {"path": "src"}, "Map the code in src", "search"),
        ("vision_analyze", {"image_url": "/srv/app/shots/a.png"}, "Look at shots/a.png", "read"),
        ("vision_analyze", {"image_url": "https://a.example/a.png"}, "Look at https://a.example/a.png", "read"),
        ("vision_analyze", {"image_url": "data:image/png;base64,AAAA"}, "Look at data:image/png;base64", "read"),
        ("browser_navigate", {"url": "https://a.example"}, "Open https://a.example", "fetch"),
        ("browser_click", {"ref": "@e3"}, "Click @e3", "execute"),
        ("browser_type", {"ref": "@e3", "text": "hunter2"}, "Type into @e3", "execute"),
        ("browser_press", {"key": "Enter"}, "Press Enter", "execute"),
        ("browser_back", {}, "Go back", "execute"),
        ("browser_navigate", {}, "Open a page", "fetch"),
        ("vision_analyze", {"image_url": "http://a.example/a.png"}, "Look at http://a.example/a.png", "read"),
        ("vision_analyze", {}, "Look at ?", "read"),
        ("web_search", {}, "Search the web for '?'", "fetch"),
        ("web_extract", {}, "Read ?", "fetch"),
        ("repo_map", {"path": "."}, "Map the code", "search"),
        ("process", {"action": "write", "session_id": "p1", "data": "y"}, "Type into p1: y", "execute"),
        ("process", {"action": "kill", "data": "y"}, "End a process", "execute"),
        ("process", {"action": "write", "session_id": "p1", "data": " \n"}, "Type into p1:", "execute"),
        ("vision_analyze", {"image_url": "data:image/png,a,b"}, "Look at data:image/png", "read"),
        ("repo_map", {"path": ""}, "Map the code", "search"),
        ("browser_click", {}, "Click", "execute"),
        ("copy_workspace", {"to": "far"}, "Copy the workspace to far", "other"),
        ("bring_back", {}, "Bring changes back from another machine", "edit"),
    ],
)
def test_the_card_says_what_is_done(tool: str, arguments: dict[str, Any], title: str, kind: str) -> None:
    details = card_details(tool, arguments, CWD)
    assert (details["title"], details["kind"]) == (title, kind)


def test_what_is_done_to_an_element_or_with_a_copy_is_told_by_its_name() -> None:
    assert on_element("Click")({"ref": "@e3"}, CWD) == "Click @e3"
    assert on_element("Press", "key")({"key": "Enter", "ref": "@e3"}, CWD) == "Press Enter"
    assert on_element("Click")({}, CWD) == "Click"
    assert about("Copy to", "to", "a place")({"to": "far"}, CWD) == "Copy to far"
    assert about("Copy to", "to", "a place")({}, CWD) == "Copy to a place"


def _title(tool: str, arguments: dict[str, Any]) -> str:
    return str(card_details(tool, arguments, CWD)["title"])


@each(
    ("arguments", "title"),
    [
        ({}, "Remember: ?"),
        ({"action": "add", "content": "Tabs.\nNo spaces."}, "Remember: Tabs. …"),
        ({"action": "replace", "target": "memory", "content": "Tabs."}, "Remember anew: Tabs."),
        ({"action": "add", "target": "user", "content": "Kim"}, "Remember about you: Kim"),
        ({"action": "remove", "target": "user", "old_text": "Kim"}, "Forget about you: Kim"),
        ({"action": "remove", "content": "Tabs."}, "Forget: Tabs."),
        ({"action": "remove"}, "Forget: ?"),
        ({"operations": [{"action": "remove", "old_text": "a"}]}, "Forget: a"),
        ({"operations": [{"content": "a"}, {"content": "b"}]}, "Change 2 memories"),
        ({"operations": [], "content": "a"}, "Remember: a"),
        ({"operations": ["a"], "content": "b"}, "Remember: b"),
        ({"operations": "a", "content": "b"}, "Remember: b"),
    ],
)
def test_a_change_of_memory_is_told_with_what_is_remembered_or_forgotten(arguments, title):
    assert _title("memory", arguments) == title


@each(
    ("arguments", "title"),
    [
        ({}, "Delegate"),
        ({"goal": " \n"}, "Delegate"),
        ({"goal": "Find it.\nAll of it."}, "Delegate: Find it. …"),
        ({"goal": "Find it.", "tasks": []}, "Delegate: Find it."),
        ({"tasks": [{"goal": "Find it."}]}, "Delegate: 1. Find it."),
        ({"tasks": [{"goal": ""}]}, "Delegate: 1. ?"),
        ({"tasks": [{"goal": "a"}, "b"]}, "Delegate 2 tasks"),
    ],
)
def test_what_is_delegated_is_told_or_how_much(arguments, title):
    assert _title("delegate_task", arguments) == title


@each(
    ("tool", "arguments", "title"),
    [
        ("skill_view", {}, "Read the skill ?"),
        ("skill_view", {"name": "pdf", "file_path": "forms.md"}, "Read the skill pdf: forms.md"),
        ("skill_manage", {"action": "create", "name": "pdf"}, "Write the skill pdf"),
        ("skill_manage", {"action": "delete", "name": "pdf"}, "Delete the skill pdf"),
        ("skill_manage", {"action": "patch", "name": "pdf"}, "Change the skill pdf"),
        ("skill_manage", {"action": "remove_file", "name": "a", "file_path": "b"}, "Delete from the skill a: b"),
        ("skill_manage", {}, "Change the skill ?"),
        ("mcp_find_tools", {"query": "mail"}, "Find MCP tools: mail"),
        ("mcp_find_tools", {}, "Find MCP tools: ?"),
        ("mcp_call_tool", {"name": "mcp__post__send"}, "post: send"),
        ("mcp_call_tool", {}, "An MCP tool"),
        ("mcp_read_resource", {"uri": "a://b", "server": "post"}, "Read a://b of post"),
        ("mcp_read_resource", {}, "Read a resource of an MCP server"),
        ("mcp__post__send", {}, "post: send"),
        ("mcp__post__", {}, "mcp__post__"),
        ("mcp____send", {}, "mcp____send"),
        ("post__send", {}, "post__send"),
    ],
)
def test_skills_and_tools_of_servers_are_told_by_name(tool, arguments, title):
    assert _title(tool, arguments) == title


@each(
    ("code", "title"),
    [
        (None, "python: ?"),
        ("print(1)", "python: print(1)"),
        ("import os\n\n# why\n  print(os)\n", "python: print(os) …"),
        ('from os import path\n"""What."""\nx = 1', "python: x = 1 …"),
        ("import os\nimport re", "python: import os …"),
    ],
)
def test_a_program_is_told_by_its_first_line_that_says_something(code, title):
    assert _title("execute_code", {"code": code}) == title


def test_a_long_program_is_cut_while_it_runs_and_whole_before():
    code = "x" * 1201
    look = look_of("execute_code")
    (whole,), (live,) = look.opening({"code": code}), look.while_running({"code": code})
    assert whole["content"]["text"] == f"```python\n{code}\n```"
    assert live["content"]["text"] == f"```python\n{code[:1200]}…\n```"
    assert look.while_running({"code": code[:1200]}) == look.opening({"code": code[:1200]})
    assert look.opening({"code": " \n"}) == look.opening({"code": 7}) == look.while_running({}) == []
