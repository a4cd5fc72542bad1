"""Which tools a selection of toolsets holds."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import pytest

from tools.registry import Toolbox, ToolEntry, Toolset, registered_by
from tools.toolsets import (
    TOOLSETS,
    get_tool_definitions,
    select,
    wrong_names,
)

ROOT = Path(__file__).parents[2]
SCHEMA = {"type": "object"}

_NO_TOOLS = {"README", "browser", "diagnostics", "own-tools"}
"""Pages about several tools, or about what they have in common."""


def _handler(args, **kw):
    return "{}"


@pytest.fixture
def registry(shared_registry):
    """It has a toolset `own` with the tool `extra`."""
    shared_registry.register(name="extra", toolset="own", schema=SCHEMA, handler=_handler)
    return shared_registry


@pytest.fixture
def servers():
    """The tools of two MCP servers."""
    entries = [ToolEntry(f"mcp__{name}__do", f"mcp-{name}", SCHEMA, _handler, "") for name in ("git", "db")]
    return Toolbox(lambda: entries)


def _names(enabled=None, disabled=(), toolbox=None):
    """Of the tools that come with the program only some are looked at."""
    return [entry.name for entry in select(enabled, disabled, toolbox) if entry.name in {*CORE, *ADDED}]


CORE = ["read_file", "terminal", "todo", "web_search"]
ADDED = ["extra", "zoom", "device", "mcp__git__do", "mcp__db__do"]


@pytest.mark.parametrize(
    ("enabled", "disabled", "expected"),
    [
        (None, [], CORE),
        (["hermes-acp"], [], CORE),
        (["hermes-cli"], [], CORE),
        (["files"], [], ["read_file"]),
        (["files", "own"], [], ["extra", "read_file"]),
        (["hermes-acp", "own"], ["terminal", "web"], ["extra", "read_file", "todo"]),
        (["hermes-acp"], ["hermes-acp"], []),
        (["own", "hermes-acp"], ["hermes-acp"], ["extra"]),
        (["no-such"], [], []),
        ([], [], []),
        (["files", "files"], [], ["read_file"]),
        (["debugging"], [], ["read_file", "terminal", "web_search"]),
        (["search"], [], ["web_search"]),
        (["todo", "read_file"], [], ["read_file", "todo"]),
        (["hermes-acp"], ["todo"], ["read_file", "terminal", "web_search"]),
        (["all"], ["debugging"], ["todo"]),
    ],
)
@pytest.mark.usefixtures("registry")
def test_a_selection_is_what_is_enabled_without_what_is_disabled(enabled, disabled, expected):
    assert _names(enabled, disabled) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("file", ["read_file"]),
        ("file_tools", ["read_file"]),
        ("files_tools", ["read_file"]),
        ("terminal_tools", ["terminal"]),
        ("web_tools", ["web_search"]),
        ("todo_tools", ["todo"]),
        ("skills_tools", []),
    ],
)
@pytest.mark.usefixtures("registry")
def test_names_of_earlier_times_and_other_programs_are_understood(name, expected, caplog):
    with caplog.at_level(logging.WARNING):
        definitions = get_tool_definitions([name])

    named = [definition["function"]["name"] for definition in definitions]
    assert [name for name in named if name in CORE] == expected
    assert caplog.text == ""


class TestGuests:
    def test_the_presets_hold_what_the_user_and_plugins_added(self, registry):
        with registered_by("plugin x"):
            registry.register("zoom", "theirs", SCHEMA, _handler)

        assert _names() == [*CORE, "zoom"] == _names(["hermes-cli"])
        assert _names(None, ["theirs"]) == CORE
        assert _names(["files"]) == ["read_file"]

    @pytest.mark.usefixtures("registry")
    def test_the_presets_hold_every_server_s_tools_after_the_others(self, servers):
        assert _names(None, (), servers) == [*CORE, "mcp__db__do", "mcp__git__do"]

    @pytest.mark.usefixtures("registry")
    def test_a_server_s_toolset_can_be_named(self, servers):
        assert _names(["mcp-git"], (), servers) == ["mcp__git__do"]
        assert _names(None, ["mcp-git"], servers) == [*CORE, "mcp__db__do"]
        assert _names(["files", "mcp"], ["mcp-db"], servers) == ["read_file", "mcp__git__do"]
        assert _names(None, ["mcp"], servers) == CORE

    @pytest.mark.usefixtures("registry")
    def test_who_names_toolsets_gets_no_others(self, servers):
        assert _names(["files"], (), servers) == ["read_file"]


class TestGroups:
    def test_a_plugin_s_group_is_merged_with_what_there_is(self, registry):
        registry.add_toolset("both", Toolset("Two.", tools=("todo",), includes=("own", "files")))

        assert _names(["both"]) == ["extra", "read_file", "todo"]

    def test_it_cannot_take_the_place_of_one_of_ours(self, registry):
        registry.add_toolset("files", Toolset(tools=("terminal",)))

        assert _names(["files"]) == ["read_file"]

    def test_groups_that_include_each_other_have_an_end(self, registry):
        registry.add_toolset("one", Toolset(includes=("two", "own")))
        registry.add_toolset("two", Toolset(includes=("one", "files")))

        assert _names(["one"]) == ["extra", "read_file"]


def test_an_unavailable_tool_is_not_offered(registry):
    registry.register(name="device", toolset="own", schema=SCHEMA, handler=_handler, check_fn=lambda: False)

    assert _names(["own"]) == ["extra"]
    assert get_tool_definitions(["own"]) == [registry.get("extra").definition()]


class TestUnknownNames:
    @pytest.mark.usefixtures("registry")
    def test_the_nearest_is_told(self, caplog):
        with caplog.at_level(logging.WARNING):
            get_tool_definitions(["filez"], ["termina"])

        assert "There is no toolset 'filez': did you mean 'files'?" in caplog.text
        assert "'terminal'?" in caplog.text

    @pytest.mark.usefixtures("registry")
    def test_quietly_nothing_is(self, caplog):
        with caplog.at_level(logging.WARNING):
            get_tool_definitions(["filez"], quiet=True)

        assert caplog.text == ""

    @pytest.mark.usefixtures("registry")
    def test_a_server_may_come_later(self):
        assert wrong_names(["mcp-later", "files", "todo", "memory", "hermes-acp"]) == []

    @pytest.mark.usefixtures("registry")
    def test_without_a_near_one_all_are_told(self):
        assert wrong_names(["zzzzzz"])[0].startswith("There is no toolset 'zzzzzz': there are browser, code, ")


class TestDefinitions:
    @pytest.mark.usefixtures("registry")
    def test_they_come_in_the_order_of_names_whatever_the_order_asked_in(self):
        forwards = get_tool_definitions(["read_file", "repo_map", "todo"])
        backwards = get_tool_definitions(["todo", "repo_map", "read_file"])

        assert forwards == backwards
        assert [definition["function"]["name"] for definition in forwards] == ["read_file", "repo_map", "todo"]

    def test_they_are_made_anew_after_a_registration(self, registry):
        before = get_tool_definitions(["own"])
        registry.register("extra", "own", SCHEMA, _handler, description="new")

        assert get_tool_definitions(["own"]) != before

    @pytest.mark.usefixtures("registry")
    def test_they_are_made_anew_when_the_session_s_servers_change(self):
        entries = [ToolEntry("mcp__x__do", "mcp-x", SCHEMA, _handler, "old")]
        toolbox = Toolbox(lambda: entries)
        before = get_tool_definitions(["mcp-x"], toolbox=toolbox)
        entries[:] = [ToolEntry("mcp__x__do", "mcp-x", SCHEMA, _handler, "new")]

        assert get_tool_definitions(["mcp-x"], toolbox=toolbox) != before

    def test_overrides_are_asked_each_time(self, registry):
        answers = iter(("one", "two"))
        registry.register(
            "dynamic", "own", SCHEMA, _handler, dynamic_schema_overrides=lambda: {"description": next(answers)}
        )

        told = [get_tool_definitions(["own"])[0]["function"]["description"] for _ in range(2)]

        assert told == ["one", "two"]

    def test_who_changes_what_they_got_changes_nothing_else(self, registry):
        got = get_tool_definitions(["own"])
        got[0]["function"]["parameters"]["properties"] = "changed"

        assert get_tool_definitions(["own"])[0]["function"]["parameters"] == SCHEMA
        assert registry.get("extra").schema == SCHEMA


def test_the_editor_s_toolset_holds_the_tools_that_come_with_the_program():
    names = {definition["function"]["name"] for definition in get_tool_definitions(["hermes-acp"])}

    assert {"read_file", "write_file", "patch", "search_files", "terminal", "todo", "session_search"} <= names


def test_every_toolset_of_the_editor_s_has_a_tool(shared_registry):
    assert set(TOOLSETS["hermes-acp"].includes) <= {entry.toolset for entry in shared_registry.entries()}


def test_every_tool_that_comes_with_the_program_is_in_the_editor_s_toolset(shared_registry):
    theirs = {entry.toolset for entry in shared_registry.entries() if not entry.source}
    assert {name for name in theirs if not name.startswith(("test", "stubborn"))} <= set(
        TOOLSETS["hermes-acp"].includes
    )


def test_a_process_of_its_own_discovers_every_tool_that_has_a_page() -> None:
    """What another test has imported must not hide a tool file that discovery does not see."""
    code = (
        "from tools.registry import registry\n"
        "from tools.toolsets import load_builtin_tools\n"
        "load_builtin_tools()\n"
        "print(*(entry.name for entry in registry.entries()), sep='\\n')"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    pages = {page.stem for page in (ROOT / "docs" / "tools").glob("*.md")} - _NO_TOOLS
    assert set(found) == pages
