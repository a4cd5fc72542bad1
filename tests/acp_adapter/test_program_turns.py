"""Programs that call tools, in a session: their cards, the cards of their calls, questions, undo, a later load."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.editor import PLAIN, ZED, Editor
from tests.support.editor_policies import allow
from tests.support.in_memory import serving
from tests.support.settings_files import configure
from tests.support.waiting import wait_until

_ALL = "from hermes_tools import *\n"
_META = "hermes"


def _program(code: str) -> str:
    return f"call execute_code {json.dumps({'code': code})}"


async def _session(editor: Editor, workspace: Path, mode: str = "dont_ask") -> str:
    session = await editor.new_session(workspace)
    await editor.request("session/set_mode", {"sessionId": session, "modeId": mode})
    return session


def _calls(editor: Editor, session: str) -> list[dict[str, Any]]:
    return [update for update in editor.updates(session) if update["sessionUpdate"] == "tool_call"]


@pytest.mark.parametrize("profile", [PLAIN, ZED], ids=["plain", "zed"])
async def test_the_card_shows_the_program_and_its_output(
    home: Path, workspace: Path, profile: dict[str, Any]
) -> None:
    code = "import os\nprint('hello')"
    async with serving(home) as editor:
        await editor.initialize(profile)
        session = await _session(editor, workspace)
        await editor.prompt(session, _program(code))
        [card] = editor.cards(session).values()
        updates = [each for each in editor.updates(session) if each["sessionUpdate"].startswith("tool_call")]
    assert card["title"] == "python: print('hello') …"
    assert (card["kind"], card["status"]) == ("execute", "completed")
    shown = [[block["content"]["text"] for block in each["content"]] for each in updates if "content" in each]
    program = f"```python\n{code}\n```"
    assert shown == [[program], [program, "```\nhello\n```"], [program, "```\nhello\n```\nexit code 0"]]


async def test_each_call_has_a_card_that_names_the_programs_live_and_when_loaded(
    editor: Editor, workspace: Path
) -> None:
    session = await _session(editor, workspace)
    code = f"{_ALL}print(read_file('sums.py')['total_lines'])\nterminal('echo in a command')"
    await editor.prompt(session, _program(code))
    live = _calls(editor, session)
    assert [card["name"] for card in live] == ["execute_code", "read_file", "terminal"]
    program, *nested = live
    assert {card["_meta"][_META]["parentToolCallId"] for card in nested} == {program["toolCallId"]}
    assert {card["status"] for card in editor.cards(session).values()} == {"completed"}
    known = len(editor.updates(session))
    await editor.load_session(session, workspace)
    loaded = [each for each in editor.updates(session)[known:] if each["sessionUpdate"] == "tool_call"]
    assert [card["name"] for card in loaded] == ["execute_code", "read_file", "terminal"]
    assert {card["_meta"][_META]["parentToolCallId"] for card in loaded[1:]} == {program["toolCallId"]}


async def test_a_question_of_a_call_stands_on_the_card_of_that_call(editor: Editor, workspace: Path) -> None:
    session = await _session(editor, workspace, "default")
    editor.on_permission = allow
    await editor.prompt(session, _program(f"{_ALL}patch(path='sums.py', old_string='a - b', new_string='a + b')"))
    asked = [frame.params["toolCall"] for frame in editor.frames if frame.method == "session/request_permission"]
    [call] = [card["toolCallId"] for card in _calls(editor, session) if card["name"] == "patch"]
    assert asked[-1]["toolCallId"] == call
    assert "a + b" in (workspace / "sums.py").read_text()


async def test_undo_takes_back_what_the_program_and_its_calls_have_changed(editor: Editor, workspace: Path) -> None:
    original = (workspace / "sums.py").read_text()
    session = await _session(editor, workspace)
    code = f"""{_ALL}
from pathlib import Path
patch(path="sums.py", old_string="a - b", new_string="a + b")
Path("sums.py").write_text(Path("sums.py").read_text() + "# more\\n")
patch(path="sums.py", old_string="# more", new_string="# even more")
write_file("by_call.txt", "1")
Path("by_itself.txt").write_text("2")
terminal("echo 3 > by_command.txt; rm README.md")
"""
    await editor.prompt(session, _program(code))
    changed = (workspace / "sums.py").read_text()
    assert changed.endswith("# even more\n")
    made = [workspace / name for name in ("by_call.txt", "by_itself.txt", "by_command.txt")]
    assert all(path.exists() for path in made)
    await editor.prompt(session, "/undo")
    assert (workspace / "sums.py").read_text() == original
    assert not any(path.exists() for path in made)
    assert (workspace / "README.md").exists()
    await editor.prompt(session, "/redo")
    assert (workspace / "sums.py").read_text() == changed
    assert all(path.exists() for path in made)


async def test_settings_limit_programs(home: Path, workspace: Path) -> None:
    configure(home, {"code_execution": {"max_tool_calls": 1, "timeout": 60, "mode": "project"}})
    async with serving(home) as editor:
        await editor.initialize(ZED)
        session = await _session(editor, workspace)
        await editor.prompt(session, _program(f"{_ALL}read_file('sums.py')\nread_file('README.md')"))
        assert [card["name"] for card in _calls(editor, session)] == ["execute_code", "read_file"]
        assert "has made its 1 calls" in json.dumps(editor.updates(session))


async def test_a_cancelled_program_is_over_and_so_are_its_calls(editor: Editor, workspace: Path) -> None:
    session = await _session(editor, workspace)
    prompt = editor.begin_prompt(session, _program(f"{_ALL}terminal('touch begun; sleep 60')"))
    await asyncio.to_thread(wait_until, (workspace / "begun").exists)
    editor.cancel(session)
    assert (await prompt)["stopReason"] == "cancelled"
    assert {card["status"] for card in editor.cards(session).values()} == {"failed"}
