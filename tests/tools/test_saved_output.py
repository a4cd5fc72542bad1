"""What is too long to show is in a file, whichever tool it came from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.tool_context import make_context
from tools.dispatch import dispatch
from tools.environments.guardian import Guardian
from tools.environments.local_commands import LocalEnvironment
from tools.registry import Toolbox, ToolEntry
from tools.result import MAX_SHOWN_CHARS, ShownText, ToolResult
from tools.toolsets import load_builtin_tools

LONG = "a line ✓\n" * MAX_SHOWN_CHARS
Call = Callable[..., ToolResult]


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return tmp_path / "outputs" / "session-1" / "call-1.txt"


@pytest.fixture
def environment() -> Iterator[LocalEnvironment]:
    guardian = Guardian()
    environment = LocalEnvironment(guardian)
    yield environment
    environment.close()
    guardian.kill_all()


@pytest.fixture
def call(tmp_path: Path, saved: Path, environment: LocalEnvironment) -> Call:
    load_builtin_tools()

    def run(name: str, result: ToolResult | None = None, **arguments: object) -> ToolResult:
        entries = [] if result is None else [ToolEntry(name, "extra", {}, lambda _, **__: result, "")]
        context = replace(make_context(tmp_path, terminal=environment), output_file=saved)
        return dispatch(name, arguments, context, Toolbox(lambda: tuple(entries)))

    return run


def test_a_long_output_of_a_command(call: Call, saved: Path) -> None:
    result = call("terminal", command="seq 1 20000")
    text = "".join(f"{number}\n" for number in range(1, 20_001))
    assert saved.read_text() == text
    assert result.facts["saved"] == {"path": str(saved), "size": len(text)}


def test_a_short_output_makes_no_file(call: Call, saved: Path) -> None:
    assert "saved" not in call("terminal", command="echo short").facts
    assert not saved.exists()


def test_the_end_of_a_flood_names_the_file_where_nothing_else_can_lead_to_it(
    tmp_path: Path, environment: LocalEnvironment, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_builtin_tools()
    monkeypatch.setattr("tools.shell.commands.LIVE_CHARS", 10)
    live: list[str] = []
    context = replace(make_context(tmp_path, terminal=environment, progress=live.append), output_file=saved)
    dispatch("terminal", {"command": "seq 1 20000"}, context)
    assert live[-1].endswith(f"20000\n\n[all of it: {saved}]\n")


def test_a_long_text_of_another_tool(call: Call, saved: Path) -> None:
    result = call("extra_tool", ToolResult(LONG))
    assert saved.read_text() == LONG
    assert result.facts["saved"] == {"path": str(saved), "size": len(LONG.encode())}
    assert len(result.text) < len(LONG), "the model gets as much as before"


def test_what_the_person_is_shown_is_saved_rather_than_the_models_text(call: Call, saved: Path) -> None:
    result = call("extra_tool", ToolResult("{}", (ShownText("head"), ShownText(LONG, "")), {"total": 3}))
    assert saved.read_text() == f"head\n\n{LONG}"
    assert result.facts["total"] == 3


@pytest.mark.parametrize(
    "result",
    [
        pytest.param(ToolResult("x" * MAX_SHOWN_CHARS), id="short enough"),
        pytest.param(ToolResult(LONG, (ShownText("short"),)), id="only the model's text is long"),
        pytest.param(ToolResult("{}", (ShownText(LONG),), {"path": "/srv/a.py"}), id="it is a file's content"),
        pytest.param(ToolResult("{}", (ShownText(LONG),), {"saved": {"path": "/x", "size": 1}}), id="it is saved"),
    ],
)
def test_what_needs_no_file_gets_none(call: Call, saved: Path, result: ToolResult) -> None:
    assert call("extra_tool", result).facts == result.facts
    assert not saved.exists()


def test_a_long_list_of_hits_is_saved_though_it_names_where_it_searched(call: Call, saved: Path) -> None:
    call("extra_tool", ToolResult(LONG, facts={"path": "/srv", "locations": []}))
    assert saved.read_text() == LONG
