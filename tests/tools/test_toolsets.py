"""Which tools a selection of toolsets holds."""

import pytest

from tools import toolsets as toolsets_module
from tools.registry import ToolRegistry
from tools.toolsets import TOOLSETS, get_tool_definitions, select


@pytest.fixture
def registry(monkeypatch):
    registry = ToolRegistry()
    monkeypatch.setattr(toolsets_module, "registry", registry)
    for name, toolset in (("read_file", "files"), ("terminal", "terminal"), ("todo", "planning"), ("extra", "own")):
        registry.register(name=name, toolset=toolset, schema={"type": "object"}, handler=lambda args, **kw: "{}")
    return registry


def _names(enabled, disabled=()):
    return [entry.name for entry in select(enabled, disabled)]


@pytest.mark.parametrize(
    ("enabled", "disabled", "expected"),
    [
        (["hermes-acp"], [], ["read_file", "terminal", "todo"]),
        (["files"], [], ["read_file"]),
        (["files", "own"], [], ["extra", "read_file"]),
        (["hermes-acp", "own"], ["terminal"], ["extra", "read_file", "todo"]),
        (["hermes-acp"], ["hermes-acp"], []),
        (["own", "hermes-acp"], ["hermes-acp"], ["extra"]),
        (["no-such"], [], []),
        ([], [], []),
        (["files", "files"], [], ["read_file"]),
    ],
)
@pytest.mark.usefixtures("registry")
def test_a_selection_is_what_is_enabled_without_what_is_disabled(enabled, disabled, expected):
    assert _names(enabled, disabled) == expected


def test_an_unavailable_tool_is_not_offered(registry):
    registry.register(
        name="device",
        toolset="own",
        schema={"type": "object"},
        handler=lambda args, **kw: "{}",
        check_fn=lambda: False,
    )

    assert _names(["own"]) == ["extra"]


@pytest.mark.usefixtures("registry")
def test_definitions_come_in_the_order_of_names_whatever_the_order_asked_in():
    forwards = get_tool_definitions(["files", "terminal", "planning"])
    backwards = get_tool_definitions(["planning", "terminal", "files"])

    assert forwards == backwards
    assert [definition["function"]["name"] for definition in forwards] == ["read_file", "terminal", "todo"]


def test_the_editor_s_toolset_holds_the_tools_that_come_with_the_program():
    names = {definition["function"]["name"] for definition in get_tool_definitions(["hermes-acp"])}

    assert {"read_file", "write_file", "patch", "search_files", "terminal", "todo", "session_search"} <= names


def test_every_toolset_that_is_included_has_a_tool():
    for included in TOOLSETS["hermes-acp"]:
        assert select([included]), included
