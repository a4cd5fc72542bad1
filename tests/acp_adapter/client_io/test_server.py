"""The whole server with editors that lend their files and terminals, and with one that lends nothing."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from acp_adapter.client_io import files
from tests.support.editor import JETBRAINS, MINIMAL, PLAIN, ZED, Editor
from tests.support.editor_host import RpcError
from tests.support.editor_policies import Decision, allow, choose
from tests.support.in_memory import EditorFactory

READ, WRITE = "fs/read_text_file", "fs/write_text_file"
SWITCHES = {"session": {"configOptions": {"boolean": {}}}}
_EDIT = "edit sums.py a - b => a + b\nsay done"


async def begin(
    start: EditorFactory, workspace: Path, profile: dict[str, Any] = JETBRAINS, *, terminals: bool = False
) -> tuple[Editor, str]:
    editor = await start()
    await editor.initialize({**profile, **SWITCHES} if terminals else profile)
    session = await editor.new_session(workspace)
    if terminals:
        option = {"configId": "editor_terminals", "type": "boolean", "value": True}
        await editor.request("session/set_config_option", {"sessionId": session, **option})
    return editor, session


def asked(editor: Editor) -> list[str]:
    """What the editor was asked of its files and terminals, in order."""
    return [
        frame.method
        for frame in editor.frames
        if not frame.ours and frame.method and frame.method.startswith(("fs/", "terminal/"))
    ]


def card(editor: Editor, session: str) -> dict[str, Any]:
    return next(iter(editor.cards(session).values()))


def _shows_terminal(editor: Editor, session: str) -> bool:
    parts = [part for shown in editor.cards(session).values() for part in shown.get("content", ())]
    return any(part["type"] == "terminal" for part in parts)


async def test_the_model_reads_what_is_not_saved(start: EditorFactory, workspace: Path) -> None:
    editor, session = await begin(start, workspace)
    editor.host.buffers[str(workspace / "sums.py")] = "def add(a, b):\n    return a * b  # not saved\n"
    await editor.prompt(session, "read sums.py")
    assert "not saved" in json.dumps(card(editor, session)["content"])
    assert asked(editor) == [READ]


async def test_an_edit_goes_through_the_editor_and_its_question_shows_what_is_not_saved(
    start: EditorFactory, workspace: Path
) -> None:
    editor, session = await begin(start, workspace)
    path = workspace / "sums.py"
    editor.host.buffers[str(path)] = "# not saved\ndef add(a, b):\n    return a - b\n"
    await editor.prompt(session, _EDIT)
    after = "# not saved\ndef add(a, b):\n    return a + b\n"
    assert (path.read_text(), editor.host.buffers[str(path)]) == (after, after)
    question = next(frame for frame in editor.frames if frame.method == "session/request_permission")
    assert "# not saved" in question.params["toolCall"]["content"][0]["oldText"]
    assert card(editor, session)["status"] == "completed"


async def test_what_is_typed_during_the_question_is_not_overwritten(start: EditorFactory, workspace: Path) -> None:
    editor, session = await begin(start, workspace)
    path = workspace / "sums.py"
    before = path.read_text()

    async def type_first(params: dict[str, Any]) -> Decision:
        editor.host.buffers[str(path)] = "typed meanwhile\n"
        return await allow(params)

    editor.on_permission = type_first
    await editor.prompt(session, _EDIT)
    assert (path.read_text(), editor.host.buffers[str(path)]) == (before, "typed meanwhile\n")
    assert card(editor, session)["status"] == "failed"
    assert "has changed since it was read" in json.dumps(card(editor, session)["content"])
    assert WRITE not in asked(editor)


async def test_the_card_shows_what_the_editor_has_made_of_an_edit(start: EditorFactory, workspace: Path) -> None:
    editor, session = await begin(start, workspace)
    editor.host.files.on_save = lambda text: text.replace("a + b", "(a + b)")
    await editor.prompt(session, _EDIT)
    assert (workspace / "sums.py").read_text() == "def add(a, b):\n    return (a + b)\n"
    assert card(editor, session)["content"][0]["newText"] == "def add(a, b):\n    return (a + b)\n"


async def test_an_edit_that_was_not_allowed_never_reaches_the_editor(start: EditorFactory, workspace: Path) -> None:
    editor, session = await begin(start, workspace)
    editor.on_permission = choose("reject_once")
    await editor.prompt(session, _EDIT)
    assert WRITE not in asked(editor)


async def test_a_file_that_may_not_be_read_is_not_asked_for(
    start: EditorFactory, workspace: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    editor, session = await begin(start, workspace)
    editor.on_permission = choose("reject_once")
    await editor.prompt(session, "read ../secret.txt")
    assert asked(editor) == []


async def test_a_silent_editor_does_not_hold_the_turn(
    start: EditorFactory, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "READ_SECONDS", 0.05)
    editor, session = await begin(start, workspace)

    async def never(_: Any) -> Any:
        await asyncio.Event().wait()

    editor.handlers[READ] = never
    assert (await editor.prompt(session, _EDIT))["stopReason"] == "end_turn"
    assert (workspace / "sums.py").read_text() == "def add(a, b):\n    return a + b\n"


async def test_a_write_that_the_editor_cannot_do_is_told_on_the_card(start: EditorFactory, workspace: Path) -> None:
    editor, session = await begin(start, workspace)

    async def refuse(_: Any) -> Any:
        raise RpcError(-32603, "Internal error", "no buffer for this file")

    editor.handlers[WRITE] = refuse
    await editor.prompt(session, _EDIT)
    diff, remark = card(editor, session)["content"]
    assert diff["newText"] == (workspace / "sums.py").read_text() == "def add(a, b):\n    return a + b\n"
    assert "written on disk, not through the editor" in remark["content"]["text"]
    assert "no buffer for this file" in remark["content"]["text"]


async def test_a_write_that_the_editor_refuses_fails(start: EditorFactory, workspace: Path) -> None:
    editor, session = await begin(start, workspace)
    before = (workspace / "sums.py").read_text()

    async def refuse(_: Any) -> Any:
        raise RpcError(-32603, "Internal error", {"details": "the buffer is read-only"})

    editor.handlers[WRITE] = refuse
    await editor.prompt(session, _EDIT)
    shown = card(editor, session)
    assert (workspace / "sums.py").read_text() == before
    assert shown["status"] == "failed"
    assert "refuses to write" in json.dumps(shown["content"])
    assert "the buffer is read-only" in json.dumps(shown["content"])


@pytest.mark.parametrize("profile", [MINIMAL, PLAIN], ids=["minimal", "plain"])
async def test_nothing_is_asked_of_an_editor_that_offers_nothing(
    profile: dict[str, Any], start: EditorFactory, workspace: Path
) -> None:
    editor, session = await begin(start, workspace, profile)
    await editor.prompt(session, f"read sums.py\nwrite new.txt text\nrun echo a\n{_EDIT}")
    assert asked(editor) == []
    assert (workspace / "new.txt").read_text() == "text"


async def test_terminals_are_not_used_before_somebody_chooses_them(start: EditorFactory, workspace: Path) -> None:
    editor, session = await begin(start, workspace)
    await editor.prompt(session, "run echo here")
    assert asked(editor) == []


@pytest.mark.parametrize("profile", [JETBRAINS, ZED], ids=["jetbrains", "zed"])
async def test_a_command_runs_in_the_editor_s_terminal_and_the_card_keeps_it(
    profile: dict[str, Any], start: EditorFactory, workspace: Path
) -> None:
    editor, session = await begin(start, workspace, profile, terminals=True)
    await editor.prompt(session, "run echo made > made.txt; echo there")
    shown = card(editor, session)
    assert (shown["status"], shown["rawOutput"]["exit_code"]) == ("completed", 0)
    assert shown["content"] == [{"type": "terminal", "terminalId": "term-1"}]
    assert (workspace / "made.txt").read_text() == "made\n"
    assert asked(editor) == ["terminal/create", "terminal/wait_for_exit", "terminal/output", "terminal/release"]
    assert editor.host.terminals == {}


async def test_shown_again_the_command_has_its_output_as_text(start: EditorFactory, workspace: Path) -> None:
    editor, session = await begin(start, workspace, terminals=True)
    await editor.prompt(session, "run echo there")
    await editor.request("session/close", {"sessionId": session})
    position = len(editor.frames)
    await editor.load_session(session, workspace)
    again = [frame.update for frame in editor.frames[position:] if frame.is_update(session)]
    cards = [update for update in again if update["sessionUpdate"].startswith("tool_call")]
    assert "there" in json.dumps(cards)
    assert "terminalId" not in json.dumps(cards)


async def test_the_cancel_releases_the_terminal_and_leaves_it_on_the_card(
    start: EditorFactory, workspace: Path
) -> None:
    editor, session = await begin(start, workspace, terminals=True)
    turn = editor.begin_prompt(session, "run touch begun; sleep 60")
    await editor.until(lambda: _shows_terminal(editor, session))
    editor.cancel(session)
    assert (await editor.answer(turn))["stopReason"] == "cancelled"
    await editor.until(lambda: not editor.host.terminals)
    shown = card(editor, session)
    assert (shown["status"], shown["content"][0]["type"]) == ("failed", "terminal")


async def test_an_editor_that_makes_no_terminal_gets_the_output_as_text(
    start: EditorFactory, workspace: Path
) -> None:
    editor, session = await begin(start, workspace, terminals=True)

    async def refuse(_: Any) -> Any:
        raise RpcError(-32603, "no more terminals")

    editor.handlers["terminal/create"] = refuse
    await editor.prompt(session, "run echo here")
    assert "here" in json.dumps(card(editor, session)["content"])
    assert asked(editor) == ["terminal/create"]
