"""Names of other agents' tools and arguments: what is plainly meant runs, the rest is told how to call ours."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest

from tests.support.each import each
from tools.arguments import checked
from tools.call_meaning import announced_name, instead, meant_call, understood
from tools.registry import Toolbox, ToolEntry
from tools.tool_aliases import ARGUMENTS, EXAMPLES, ITEMS, TOOLS, WORDS, Unclear, compared, named_as_ours
from tools.toolsets import load_builtin_tools, select

OLD, NEW = "a = 1", "a = 2"
EDIT = {"path": "a.py", "old_string": OLD, "new_string": NEW}
ADD = "*** Begin Patch\n*** Add File: b.py\n+x\n*** End Patch"
DELETE = "*** Begin Patch\n*** Delete File: a.py\n*** End Patch"

RUN: list[tuple[str, dict[str, Any], str, dict[str, Any]]] = [
    ("Bash", {"command": "ls", "description": "List files"}, "terminal", {"command": "ls"}),
    ("bash", {"command": "make", "timeout": 120000}, "terminal", {"command": "make", "timeout": 120.0}),
    ("Bash", {"command": "x", "run_in_background": True}, "terminal", {"command": "x", "background": True}),
    ("shell", {"command": ["bash", "-lc", "ls | wc"], "workdir": "a"}, "terminal",
     {"command": "ls | wc", "workdir": "a"}),
    ("shell", {"command": ["git", "log", "-n 1"]}, "terminal", {"command": "git log '-n 1'"}),
    ("sh", {"cmd": "ls"}, "terminal", {"command": "ls"}),
    ("bash", {"command": ["ls -la"]}, "terminal", {"command": "ls -la"}),
    ("bash", {"command": "make", "timeout": 1200}, "terminal", {"command": "make", "timeout": 1200}),
    ("run", {"command": "ls", "args": ["-l", "a b"]}, "terminal", {"command": "ls -l 'a b'"}),
    ("exec", {"cmd": "ls", "cwd": "a"}, "terminal", {"command": "ls", "workdir": "a"}),
    ("exec_command", {"cmd": "ls", "yield_time_ms": 1000, "tty": True}, "terminal", {"command": "ls", "pty": True}),
    ("execute_bash", {"command": "ls", "is_input": "false", "security_risk": "LOW"}, "terminal", {"command": "ls"}),
    ("execute_command", {"command": "ls", "requires_approval": False}, "terminal", {"command": "ls"}),
    ("run_shell_command", {"command": "ls", "is_background": False, "dir_path": "a"}, "terminal",
     {"command": "ls", "background": False, "workdir": "a"}),
    ("run_terminal_cmd", {"command": "ls", "explanation": "Look."}, "terminal", {"command": "ls"}),
    ("BashOutput", {"bash_id": "p1"}, "process", {"action": "poll", "session_id": "p1"}),
    ("KillShell", {"shell_id": "p1"}, "process", {"action": "kill", "session_id": "p1"}),
    ("write_stdin", {"session_id": "p1", "chars": "y\n"}, "process",
     {"action": "write", "session_id": "p1", "data": "y\n"}),
    ("Read", {"file_path": "a.py", "offset": 2, "limit": 3}, "read_file", {"path": "a.py", "offset": 2, "limit": 3}),
    ("cat", {"file": "a.py"}, "read_file", {"path": "a.py"}),
    ("view", {"path": "a.py", "view_range": [3, 9]}, "read_file", {"path": "a.py", "offset": 3, "limit": 7}),
    ("open_file", {"filename": "a.py"}, "read_file", {"path": "a.py"}),
    ("view_image", {"path": "a.png"}, "read_file", {"path": "a.png"}),
    ("read_many_files", {"paths": ["a.py"]}, "read_file", {"path": "a.py"}),
    ("ls", {}, "read_file", {"path": "."}),
    ("LS", {"path": "a"}, "read_file", {"path": "a"}),
    ("list_directory", {"dir_path": "a"}, "read_file", {"path": "a"}),
    ("list_dir", {"relative_workspace_path": "a"}, "read_file", {"path": "a"}),
    ("list_files", {"path": "a", "recursive": True}, "search_files",
     {"pattern": "*", "target": "files", "path": "a"}),
    ("list_files", {"path": "a", "recursive": "false"}, "read_file", {"path": "a"}),
    ("Glob", {"pattern": "**/*.py"}, "search_files", {"pattern": "**/*.py", "target": "files"}),
    ("find", {"path": "a", "name": "*.py"}, "search_files", {"pattern": "*.py", "target": "files", "path": "a"}),
    ("file_search", {"query": "auth"}, "search_files", {"pattern": "auth", "target": "files"}),
    ("find_file", {"file_name": "a.py", "dir": "src"}, "search_files",
     {"pattern": "a.py", "target": "files", "path": "src"}),
    ("Grep", {"pattern": "x", "-i": True, "-C": 2, "-n": True, "output_mode": "files_with_matches", "head_limit": 5},
     "search_files", {"pattern": "x", "ignore_case": True, "context": 2, "output_mode": "files_only", "limit": 5}),
    ("grep", {"pattern": "x", "include": "*.py"}, "search_files", {"pattern": "x", "file_glob": "*.py"}),
    ("rg", {"regex": "x", "path": "a"}, "search_files", {"pattern": "x", "path": "a"}),
    ("grep_search", {"query": "x", "case_sensitive": False, "include_pattern": "*.py"},
     "search_files", {"pattern": "x", "ignore_case": True, "file_glob": "*.py"}),
    ("search_file_content", {"pattern": "x"}, "search_files", {"pattern": "x"}),
    ("search_dir", {"search_term": "x", "dir": "a"}, "search_files", {"pattern": "x", "path": "a"}),
    ("search", {"pattern": "x"}, "search_files", {"pattern": "x"}),
    ("Edit", {"file_path": "a.py", "old_string": OLD, "new_string": NEW}, "patch", EDIT),
    ("edit", {"filePath": "a.py", "oldString": OLD, "newString": NEW}, "patch", EDIT),
    ("str_replace", {"path": "a.py", "old_str": OLD, "new_str": NEW}, "patch", EDIT),
    ("replace", {"file_path": "a.py", "old_string": OLD, "new_string": NEW, "expected_replacements": 1}, "patch",
     EDIT),
    ("StrReplaceFile", {"path": "a.py", "edit": {"old": OLD, "new": NEW}}, "patch",
     {"path": "a.py", "edits": [{"old_string": OLD, "new_string": NEW}]}),
    ("MultiEdit", {"file_path": "a.py", "edits": [{"old_string": OLD, "new_string": NEW}]}, "patch",
     {"path": "a.py", "edits": [{"old_string": OLD, "new_string": NEW}]}),
    ("apply_patch", {"input": ADD}, "patch", {"patch": ADD}),
    ("apply_patch", {"patchText": ADD}, "patch", {"patch": ADD}),
    ("str_replace_editor", {"command": "view", "path": "a.py", "view_range": [1, 2]}, "read_file",
     {"path": "a.py", "offset": 1, "limit": 2}),
    ("str_replace_editor", {"command": "create", "path": "b.py", "file_text": "x"}, "write_file",
     {"path": "b.py", "content": "x"}),
    ("str_replace_based_edit_tool", {"command": "str_replace", "path": "a.py", "old_str": OLD, "new_str": NEW},
     "patch", EDIT),
    ("Write", {"file_path": "b.py", "content": "x"}, "write_file", {"path": "b.py", "content": "x"}),
    ("write_to_file", {"path": "b.py", "content": "x", "line_count": 1}, "write_file",
     {"path": "b.py", "content": "x"}),
    ("create_file", {"filename": "b.py", "text": ""}, "write_file", {"path": "b.py", "content": ""}),
    ("delete_file", {"target_file": "a.py", "explanation": "Old."}, "patch", {"patch": DELETE}),
    ("python", {"code": "print(1)"}, "execute_code", {"code": "print(1)"}),
    ("execute_ipython_cell", {"code": "print(1)"}, "execute_code", {"code": "print(1)"}),
    ("TodoWrite", {"todos": [{"content": "A", "status": "in_progress", "activeForm": "Doing A"}]}, "todo",
     {"todos": [{"content": "A", "status": "in_progress", "activeForm": "Doing A"}]}),
    ("update_plan", {"plan": [{"step": "A", "status": "done"}], "explanation": "x"}, "todo",
     {"todos": [{"content": "A", "status": "completed"}]}),
    ("todoread", {}, "todo", {}),
    ("ask_user", {"prompt": "Which?"}, "clarify", {"question": "Which?"}),
    ("AskUserQuestion", {"question": "Which?", "header": "H", "options": [{"label": "A"}]},
     "clarify", {"question": "Which?", "choices": ["A"]}),
    ("ask_followup_question", {"question": "Which?", "options": '["A", "B"]'}, "clarify",
     {"question": "Which?", "choices": ["A", "B"]}),
    ("Task", {"prompt": "Look.", "description": "Look", "subagent_type": "explore"}, "delegate_task",
     {"goal": "Look."}),
    ("save_memory", {"fact": "Tabs."}, "memory", {"action": "add", "content": "Tabs."}),
    ("Skill", {"skill": "pdf"}, "skill_view", {"name": "pdf"}),
    ("WebFetch", {"url": "https://a.example", "prompt": "What?"}, "web_extract", {"urls": ["https://a.example"]}),
    ("fetch", {"url": "https://a.example"}, "web_extract", {"urls": ["https://a.example"]}),
    ("google_web_search", {"query": "x"}, "web_search", {"query": "x"}),
    ("list_code_definition_names", {"path": "a"}, "repo_map", {"path": "a"}),
    # Names that are ours but for their form, with arguments that are ours but for their name.
    ("Terminal", {"cmd": "ls"}, "terminal", {"command": "ls"}),
    ("functions.terminal", {"command": "ls"}, "terminal", {"command": "ls"}),
    ("default_api.read_file", {"path": "a.py"}, "read_file", {"path": "a.py"}),
    ("tool_terminal", {"command": "ls"}, "terminal", {"command": "ls"}),
    ("functions.bash:0", {"command": "ls"}, "terminal", {"command": "ls"}),
    ("read_file<|channel|>commentary", {"path": "a.py"}, "read_file", {"path": "a.py"}),
    ("readFile", {"path": "a.py"}, "read_file", {"path": "a.py"}),
    ("READ-FILE", {"path": "a.py"}, "read_file", {"path": "a.py"}),
    ("ExitPlanMode", {"plan": "# P"}, "exit_plan_mode", {"plan": "# P"}),
    ("WebSearch", {"query": "x"}, "web_search", {"query": "x"}),
    ("search_files", {"query": "x", "glob": "*.py"}, "search_files", {"pattern": "x", "file_glob": "*.py"}),
    ("search_files", {"glob": "*.py"}, "search_files", {"pattern": "*.py", "target": "files"}),
    ("read_file", {"file_path": "a.py", "start_line": 5, "end_line": 9}, "read_file",
     {"path": "a.py", "offset": 5, "limit": 5}),
    ("read_file", {"path": "a.py", "lines": "5-9"}, "read_file", {"path": "a.py", "offset": 5, "limit": 5}),
    ("patch", {"path": "a.py", "search": OLD, "replace": NEW}, "patch", EDIT),
    ("patch", {"input": ADD}, "patch", {"patch": ADD}),
    ("terminal", {"command": "ls", "timeout_ms": 5000}, "terminal", {"command": "ls", "timeout": 5.0}),
    ("terminal", {"arguments": {"cmd": "ls"}}, "terminal", {"command": "ls"}),
    ("terminal", {"input": '{"command": "ls"}'}, "terminal", {"command": "ls"}),
]  # fmt: skip
"""What is called, with which arguments, and which call of ours it is."""

ANSWERED = [
    ("bash", {}, "terminal"),
    ("bash", {"command": "ls", "env": {"A": "1"}}, "terminal"),
    ("edit_file", {"target_file": "a.py", "instructions": "x", "code_edit": "// ... existing code ..."}, "patch"),
    ("insert_content", {"path": "a.py", "line": 3, "content": "x"}, "patch"),
    ("str_replace_editor", {"command": "insert", "path": "a.py", "insert_line": 1, "new_str": "x"}, "patch"),
    ("read_many_files", {"paths": ["a.py", "b.py"]}, "read_file"),
    ("codebase_search", {"query": "where do we sign in?"}, "search_files"),
    ("search", {"query": "x"}, "search_files"),
    ("NotebookEdit", {"notebook_path": "a.ipynb", "new_source": "x"}, "patch"),
    ("move_file", {"source": "a", "destination": "b"}, "terminal"),
    ("mkdir", {"path": "a"}, "terminal"),
    ("rm", {"path": "a"}, "terminal"),
    ("AskUserQuestion", {"questions": [{"question": "A?"}, {"question": "B?"}]}, "clarify"),
    ("write", {"path": "a.py", "content": "x", "append": True}, "write_file"),
    ("write", {"path": "a.py", "content": "x", "overwrite": False}, "write_file"),
    ("delete_file", {"path": "a.py", "recursive": True}, "patch"),
    ("delete_file", {"explanation": "b.py"}, "patch"),
    ("delete_file", {"path": "a.py\n*** Delete File: b.py"}, "patch"),
    ("fetch", {"url": "https://a.example", "method": "POST"}, "web_extract"),
    ("run_commands", {"commands": ["cd a", "ls"]}, "terminal"),
    ("bash", {"command": ["cd a", "ls"]}, "terminal"),
    ("find", {"pattern": "x", "name": "*.py", "glob": "*.js"}, "search_files"),
    ("BashOutput", {}, "process"),
    ("Task", {}, "delegate_task"),
    ("fetch", {}, "web_extract"),
    ("Read", {"path": "a.py", "file_path": "b.py"}, "read_file"),
]
"""Calls that do not plainly map, and the tool that the answer names."""

NEEDLESS = ["attempt_completion", "finish", "think", "sequentialthinking", "final_answer"]


@pytest.fixture(scope="module")
def entries() -> dict[str, ToolEntry]:
    load_builtin_tools()
    return {entry.name: entry for entry in select()}


@each(("name", "arguments", "tool", "ours"), RUN)
def test_a_name_of_another_agent_is_the_call_that_it_plainly_means(
    entries: dict[str, ToolEntry], name: str, arguments: dict[str, Any], tool: str, ours: dict[str, Any]
) -> None:
    meant = meant_call(name, arguments, entries, entries.get)

    assert meant.name == tool
    assert meant.arguments == ours
    ready = checked(entries[tool], meant.arguments)
    assert (ready.problem, ready.note) == ("", "")
    assert checked(entries[tool], ready.arguments).arguments == ready.arguments


@each(("name", "arguments", "tool"), ANSWERED)
def test_a_name_whose_arguments_do_not_map_is_answered_with_a_call_that_can_be_made(
    entries: dict[str, ToolEntry], name: str, arguments: dict[str, Any], tool: str
) -> None:
    assert meant_call(name, arguments, entries, entries.get).name == name

    answer = instead(name, entries, entries.get)
    called = re.fullmatch(r"There is no tool '\w+'\. Call (\w+) with (\{.*?\})\.( .*)?", answer)
    assert called is not None, answer
    assert called[1] == tool
    assert checked(entries[tool], json.loads(called[2])).problem == ""


def test_at_least_forty_seven_names_of_other_agents_are_looked_at() -> None:
    assert len({compared(name) for name, *_ in (*RUN, *ANSWERED)} | set(NEEDLESS)) >= 47


@each("name", NEEDLESS)
def test_where_no_tool_is_needed_the_answer_says_so(entries: dict[str, ToolEntry], name: str) -> None:
    assert re.search("call no tool|needs no tool", instead(name, entries, entries.get))


def test_a_name_alone_says_which_card_it_will_be(entries: dict[str, ToolEntry]) -> None:
    names = ["bash", "Terminal", "Edit", "str_replace_editor", "fly", "codebase_search"]

    assert [announced_name(name, entries, entries.get) for name in names] == [
        "terminal", "terminal", "patch", "str_replace_editor", "fly", "codebase_search",
    ]  # fmt: skip


def test_an_alias_never_reaches_a_tool_that_is_not_offered(entries: dict[str, ToolEntry]) -> None:
    offered = entries.keys() - {"terminal", "patch"}

    assert meant_call("bash", {"command": "ls"}, offered, entries.get).name == "bash"
    assert meant_call("Terminal", {"command": "ls"}, offered, entries.get).name == "Terminal"
    assert meant_call("delete_file", {"path": "a"}, offered, entries.get).name == "delete_file"
    assert "Call terminal" not in instead("bash", offered, entries.get)


def _guest(name: str, **more: Any) -> ToolEntry:
    return ToolEntry(
        name, more.pop("toolset", "mcp-x"), {"type": "object", "properties": {}}, lambda a: a, "", **more
    )


def test_a_server_s_tool_of_that_name_wins_over_an_alias(entries: dict[str, ToolEntry]) -> None:
    known = {**entries, "bash": _guest("bash")}

    meant = meant_call("bash", {"cmd": "ls"}, known, known.get)

    assert (meant.name, meant.arguments, meant.note) == ("bash", {"cmd": "ls"}, "")
    # One that is known and not offered is not replaced either.
    assert meant_call("bash", {"command": "ls"}, entries, known.get).name == "bash"


def test_a_tool_of_a_plugin_in_the_place_of_ours_gets_its_arguments_as_they_are(
    entries: dict[str, ToolEntry],
) -> None:
    known = {**entries, "terminal": _guest("terminal", toolset="terminal", source="plugin x")}

    assert meant_call("terminal", {"cmd": "ls"}, known, known.get).arguments == {"cmd": "ls"}
    assert meant_call("bash", {"command": "ls"}, known, known.get).name == "bash"
    assert instead("bash", known, known.get) == "There is no tool 'bash'. Call terminal."


def test_names_that_differ_in_case_alone_are_told_apart() -> None:
    known = {"Find": _guest("Find"), "find": _guest("find")}

    assert meant_call("FIND", {}, known, known.get).name == "FIND"
    assert meant_call("Find", {}, known, known.get).name == "Find"


def test_a_call_by_name_is_looked_at_too(entries: dict[str, ToolEntry]) -> None:
    offered = {*entries, "more_tools"}

    meant = understood("more_tools", {"name": "Task", "arguments": {"prompt": "Look."}}, offered, entries.get)

    assert meant is not None
    assert meant.arguments == {"name": "delegate_task", "arguments": {"goal": "Look."}}
    assert understood("more_tools", {"query": "plan"}, offered, entries.get) is None


def test_a_call_that_is_right_is_left_as_it_is(entries: dict[str, ToolEntry]) -> None:
    assert understood("terminal", {"command": "ls"}, entries, entries.get) is None


@each(
    ("tool", "arguments", "told"),
    [
        ("read_file", {"path": "a", "file_path": "b"}, "`path` and `file_path`"),
        ("read_file", {"path": "a", "limit": 3, "end_line": 9}, "limit and the last line say different things"),
        ("read_file", {"path": "a", "start_line": 9, "end_line": 3}, "the last line, 3, is before the first, 9"),
        ("read_file", {"path": "a", "end_line": "last"}, "'end_line' has to be a whole number"),
        ("terminal", {"command": "a", "cmd": "b"}, "`command` and `cmd`"),
        ("terminal", {"command": "a", "timeout": 5, "timeout_ms": 7000}, "`timeout` and `timeout_ms`"),
        ("patch", {"path": "a", "old_string": "x", "search": "y", "new_string": "z"}, "`old_string` and `search`"),
        ("patch", {"path": "a", "edits": [{"old": "x", "search": "y", "new": "z"}]}, "say different things"),
        ("search_files", {"pattern": "x", "ignore_case": True, "case_sensitive": True}, "say different things"),
        ("terminal", {"command": "a", "stdin": "y"}, "has no argument 'stdin'"),
        ("terminal", {"command": "a", "shell": "fish"}, "Nothing was done."),
        ("write_file", {"path": "a", "content": "x", "mode": "append"}, "It takes: path, content."),
        ("patch", {**EDIT, "dry_run": True}, "has no argument 'dry_run'"),
        ("execute_code", {"code": "1", "language": "node"}, "has no argument 'language'"),
    ],
)
def test_what_contradicts_itself_or_means_nothing_is_an_error_before_anything_runs(
    entries: dict[str, ToolEntry], tool: str, arguments: dict[str, Any], told: str
) -> None:
    assert told in checked(entries[tool], arguments).problem


def test_the_same_thing_said_twice_is_no_contradiction(entries: dict[str, ToolEntry]) -> None:
    assert checked(entries["read_file"], {"path": "a", "file_path": "a"}).arguments == {"path": "a"}


def test_what_a_look_up_does_not_take_is_said_with_its_result(entries: dict[str, ToolEntry]) -> None:
    ready = checked(entries["search_files"], {"pattern": "x", "depth": 2})

    assert (ready.problem, ready.arguments) == ("", {"pattern": "x"} | {"depth": 2})
    assert "no argument 'depth'" in ready.note


def test_the_tables_name_nothing_that_does_not_exist(entries: dict[str, ToolEntry]) -> None:
    everything = {entry.name: entry for entry in select(("all",))} | entries
    for alias in TOOLS.values():
        assert set(alias.tools) <= everything.keys()
        for name in alias.fixed:
            assert any(name in everything[tool].schema["properties"] for tool in alias.tools)
    for tool, table in ARGUMENTS.items():
        wanted = {each.name for each in table.values() if not each.name.startswith("_")}
        assert wanted <= everything[tool].schema["properties"].keys()
    for tool, name in (*ITEMS, *((tool, "") for tool, _ in WORDS)):
        assert not name or name in everything[tool].schema["properties"]
    names = {*TOOLS, *(name for table in ARGUMENTS.values() for name in table)}
    assert {name for name in names if name != compared(name)} == set()
    assert not {compared(name) for name in everything} & TOOLS.keys()
    for tool, example in EXAMPLES.items():
        assert checked(everything[tool], json.loads(example)).problem == ""


def test_arguments_that_are_no_object_in_a_wrapper_stay() -> None:
    assert named_as_ours("x", {"arguments": "words"}, {}) == {"arguments": "words"}
    with pytest.raises(Unclear, match="a call for each"):
        named_as_ours("read_file", {"paths": ["a", "b"]}, {"path": {}})


def test_the_registry_s_tools_are_found_by_default() -> None:
    load_builtin_tools()

    assert meant_call("bash", {"command": "ls"}, {"terminal"}, Toolbox().get).name == "terminal"


def test_arguments_of_any_kind_raise_nothing_but_what_is_unclear(entries: dict[str, ToolEntry]) -> None:
    odd: list[Any] = [None, True, 0, -1.5, 10**30, "", "x", "{", [], [1], [None], ["a", {}], {}, {"a": [1]}]
    chance = random.Random(7)
    for alias, (tool, *_) in [(name, TOOLS[name].tools or ("",)) for name in TOOLS]:
        names = [*ARGUMENTS.get(tool, {}), *(entries[tool].schema["properties"] if tool in entries else ())]
        for _ in range(60):
            chosen = chance.sample(names, min(len(names), chance.randint(1, 4)))
            given = {name: chance.choice(odd) for name in chosen}
            for called in (alias, tool):
                try:
                    understood(called, given, entries, entries.get)
                except Unclear:
                    continue


def test_a_number_of_replacements_that_is_expected_is_not_taken_for_all(entries: dict[str, ToolEntry]) -> None:
    edit = {"path": "a.py", "old_string": "a", "new_string": "b"}
    assert (
        "replace_all" not in meant_call("patch", {**edit, "expected_replacements": 2}, entries, entries.get).arguments
    )
    assert checked(entries["patch"], {**edit, "expected_replacements": 2}).problem
    assert not checked(entries["patch"], {**edit, "expected_replacements": 1}).problem


def test_a_list_with_operators_of_the_shell_is_no_command(entries: dict[str, ToolEntry]) -> None:
    assert meant_call("shell", {"command": ["cd", "x", "&&", "ls"]}, entries, entries.get).name == "shell"


def test_a_timeout_that_is_no_whole_number_of_thousands_stays_seconds(entries: dict[str, ToolEntry]) -> None:
    given = {"command": "make", "timeout": 7200}
    assert meant_call("bash", given, entries, entries.get).arguments["timeout"] == 7200
