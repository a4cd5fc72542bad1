"""Tools of the user's own, and saved results, in a session of an editor."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.editor import Editor
from tests.support.editor_policies import reject
from tests.support.in_memory import EditorFactory, start_session
from tests.support.own_tools import tool_file, write
from tools.registry import registry

_LONG = """
from tools.registry import registry
registry.register("long_one", "mine", {"type": "object"}, lambda args, **kw: "line\\n" * 90_000)
"""


@pytest.fixture(autouse=True)
def _own_tools_go_with_the_test() -> Iterator[None]:
    yield
    for entry in registry.entries():
        if entry.source:
            registry.unregister(entry.name)
    for name in [name for name in sys.modules if name.startswith("hermes_home_")]:
        del sys.modules[name]


def _asked(agent: Editor) -> int:
    return len([frame for frame in agent.frames if frame.method == "session/request_permission"])


async def test_a_file_in_the_home_is_a_tool_of_every_session(
    start: EditorFactory, workspace: Path, home: Path
) -> None:
    write(home / "tools" / "mine.py", tool_file("mine"))
    agent, session = await start_session(start, workspace)

    await agent.prompt(session, "call mine {}")

    [card] = agent.cards(session).values()
    assert card["status"] == "completed"


async def test_in_plan_mode_the_person_is_asked_before_it_runs(
    start: EditorFactory, workspace: Path, home: Path
) -> None:
    write(home / "tools" / "mine.py", tool_file("mine"))
    agent, session = await start_session(start, workspace)
    agent.on_permission = reject
    await agent.request("session/set_mode", {"sessionId": session, "modeId": "plan"})

    await agent.prompt(session, "call mine {}")

    [card] = agent.cards(session).values()
    assert _asked(agent) == 1
    assert card["status"] == "failed"


async def test_it_is_gone_where_the_settings_disable_its_toolset(
    start: EditorFactory, workspace: Path, home: Path
) -> None:
    write(home / "tools" / "mine.py", tool_file("mine"))
    (home / "config.yaml").write_text("agent: {disabled_toolsets: [mine]}\n")
    agent, session = await start_session(start, workspace)

    await agent.prompt(session, "call mine {}")

    [card] = agent.cards(session).values()
    assert card["status"] == "failed"


async def test_a_broken_file_is_told_and_the_session_goes_on(
    start: EditorFactory, workspace: Path, home: Path
) -> None:
    write(home / "tools" / "bad.py", tool_file("bad", before="def ("))
    agent, session = await start_session(start, workspace)

    await agent.prompt(session, "say still here")

    assert "no valid Python" in agent.text(session, "agent_thought_chunk")
    assert "still here" in agent.text(session)


async def test_what_was_left_out_of_a_result_is_read_without_a_question(
    start: EditorFactory, workspace: Path, home: Path
) -> None:
    write(home / "tools" / "long.py", _LONG)
    agent, session = await start_session(start, workspace)
    await agent.prompt(session, "call long_one {}")
    [saved] = (home / "outputs").glob("*/*.txt")

    await agent.prompt(session, f"read {saved}")

    assert [card["status"] for card in agent.cards(session).values()] == ["completed", "completed"]
    assert _asked(agent) == 0


async def test_that_of_another_session_is_asked_for(start: EditorFactory, workspace: Path, home: Path) -> None:
    write(home / "tools" / "long.py", _LONG)
    agent, session = await start_session(start, workspace)
    await agent.prompt(session, "call long_one {}")
    [saved] = (home / "outputs").glob("*/*.txt")
    other = await agent.new_session(workspace)

    await agent.prompt(other, f"read {saved}")

    assert _asked(agent) == 1
