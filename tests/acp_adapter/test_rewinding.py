"""`/undo`, `/rewind N`, `/redo`, and the method for programs: conversation and files come back together."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from acp_adapter.client_io import files
from acp_adapter.client_io import files as writing
from tests.support.editor import Editor, RpcError
from tests.support.editor_policies import allow, never, reject
from tests.support.in_memory import serving
from tests.support.merged_view import merged_view


@pytest.fixture
async def session(editor: Editor, workspace: Path) -> str:
    session = await editor.new_session(workspace)
    await editor.request("session/set_mode", {"sessionId": session, "modeId": "dont_ask"})
    return session


async def _said(editor: Editor, session: str, command: str) -> str:
    """What the agent says to a command."""
    before = len(editor.text(session))
    assert (await editor.prompt(session, command))["stopReason"] == "end_turn"
    return editor.text(session)[before:]


async def _prompts(editor: Editor, session: str, workspace: Path) -> list[str]:
    """The prompts that are shown when the session is loaded, but for commands."""
    known = len(editor.updates(session))
    await editor.load_session(session, workspace)
    prompts = merged_view(editor.updates(session)[known:]).texts("user_message_chunk")
    return [prompt for prompt in prompts if not prompt.startswith("/")]


async def _rewind(editor: Editor, session: str, **params: Any) -> dict[str, Any]:
    found: dict[str, Any] = await editor.request("_hermes/session/rewind", {"sessionId": session, **params})
    return found


async def test_undo_takes_the_last_turn_back_with_its_files(editor: Editor, session: str, workspace: Path) -> None:
    original = (workspace / "sums.py").read_text()
    await editor.prompt(session, "say First.")
    await editor.prompt(session, "edit sums.py a - b => a + b\nwrite new.txt hello\nrun rm README.md")
    said = await _said(editor, session, "/undo")
    assert (workspace / "sums.py").read_text() == original
    assert (workspace / "README.md").exists()
    assert not (workspace / "new.txt").exists()
    for name in ("sums.py", "new.txt", "README.md", "taken back"):
        assert name in said
    assert await _prompts(editor, session, workspace) == ["say First."]


async def test_rewind_takes_several_turns_back_and_redo_brings_them_again(
    editor: Editor, session: str, workspace: Path
) -> None:
    for number in range(3):
        await editor.prompt(session, f"write data.txt {number}")
    await _said(editor, session, "/rewind 2")
    assert (workspace / "data.txt").read_text() == "0"
    said = await _said(editor, session, "/redo")
    assert "brought back" in said
    assert (workspace / "data.txt").read_text() == "2"
    assert len(await _prompts(editor, session, workspace)) == 3


async def test_the_model_does_not_see_what_was_taken_back(editor: Editor, session: str, workspace: Path) -> None:
    await editor.prompt(session, "todo read; edit")
    await editor.prompt(session, "todo read; edit; test")
    await editor.prompt(session, "/undo")
    assert [entry["content"] for entry in editor.updates(session, "plan")[-1]["entries"]] == ["read", "edit"]
    assert (await editor.prompt(session, "say Going on."))["stopReason"] == "end_turn"
    assert await _prompts(editor, session, workspace) == ["todo read; edit", "say Going on."]


@pytest.mark.parametrize(
    ("policy", "kept"), [(allow, False), (reject, True)], ids=["replaced after a yes", "left after a no"]
)
async def test_a_file_that_someone_else_has_changed_is_asked_about_in_any_mode(
    policy: Any, kept: bool, editor: Editor, session: str, workspace: Path
) -> None:
    await editor.prompt(session, "write data.txt agent\nwrite other.txt agent")
    (workspace / "data.txt").write_text("mine")
    editor.on_permission = policy
    said = await _said(editor, session, "/undo")
    (asked,) = [frame for frame in editor.frames if frame.method == "session/request_permission"]
    assert asked.params["toolCall"]["content"][0]["oldText"] == "mine"
    assert (workspace / "data.txt").exists() is kept
    assert not (workspace / "other.txt").exists()
    assert ("Left as they are" in said) is kept
    (card,) = [card for card in editor.cards(session).values() if "Take back" in card["title"]]
    assert card["status"] == ("failed" if kept else "completed")


_SCRIPT = "run python3 -c \"import pathlib; [pathlib.Path(n).write_text('made') for n in ('one.txt', 'two.txt')]\""


@pytest.mark.parametrize(("policy", "left"), [(allow, []), (reject, ["one.txt", "two.txt"])], ids=["yes", "no"])
async def test_files_that_a_command_does_not_name_are_asked_about_once(
    policy: Any, left: list[str], editor: Editor, session: str, workspace: Path
) -> None:
    await editor.prompt(session, f"{_SCRIPT}\nwrite three.txt mine")
    editor.on_permission = policy
    await editor.prompt(session, "/undo")
    (asked,) = [frame for frame in editor.frames if frame.method == "session/request_permission"]
    assert "1 more" in asked.params["toolCall"]["title"]
    assert sorted(path.name for path in workspace.glob("*.txt")) == left


async def test_without_an_answer_a_changed_file_stays(home: Path, workspace: Path) -> None:
    (home / "config.yaml").write_text("approvals: {timeout: 0.05}\n", encoding="utf-8")
    async with serving(home) as editor:
        await editor.initialize()
        session = await editor.new_session(workspace)
        await editor.request("session/set_mode", {"sessionId": session, "modeId": "accept_edits"})
        await editor.prompt(session, "write data.txt agent")
        (workspace / "data.txt").write_text("mine")
        editor.on_permission = never
        assert "Left as they are" in await _said(editor, session, "/undo")
        (card,) = [card for card in editor.cards(session).values() if "Take back" in card["title"]]
        assert "no answer" in str(card["content"])
        assert (workspace / "data.txt").read_text() == "mine"


async def test_a_cancel_at_the_question_breaks_the_undo_off(editor: Editor, session: str, workspace: Path) -> None:
    await editor.prompt(session, "write data.txt agent\nwrite other.txt agent")
    for name in ("data.txt", "other.txt"):
        (workspace / name).write_text("mine")
    editor.on_permission = never
    undo = editor.begin_prompt(session, "/undo")
    await editor.wait_for_call("session/request_permission")
    editor.cancel(session)
    assert (await editor.answer(undo))["stopReason"] == "cancelled"
    assert "Broken off" in editor.text(session)
    assert len([frame for frame in editor.frames if frame.method == "session/request_permission"]) == 1
    assert len(await _prompts(editor, session, workspace)) == 1
    editor.on_permission = allow
    assert "taken back" in await _said(editor, session, "/undo")
    assert not (workspace / "data.txt").exists()


@pytest.mark.parametrize("command", ["/undo", "/redo", "/rewind 3"])
async def test_without_anything_to_take_back_it_says_so(command: str, editor: Editor, session: str) -> None:
    assert "nothing to" in (await _said(editor, session, command)).lower()


async def test_a_command_that_is_not_right_says_how_it_is_written(editor: Editor, session: str) -> None:
    await editor.prompt(session, "say Hello.")
    assert "/rewind 2" in await _said(editor, session, "/rewind two")


async def test_redo_is_over_once_the_conversation_went_on(editor: Editor, session: str) -> None:
    await editor.prompt(session, "say One.")
    await editor.prompt(session, "/undo")
    await editor.prompt(session, "say Two.")
    assert "redo" in (await _said(editor, session, "/redo")).lower()


async def test_an_undo_outlasts_the_process(home: Path, workspace: Path) -> None:
    async with serving(home) as editor:
        await editor.initialize()
        session = await editor.new_session(workspace)
        await editor.request("session/set_mode", {"sessionId": session, "modeId": "dont_ask"})
        await editor.prompt(session, "write data.txt one")
        await editor.prompt(session, "write data.txt two")
    async with serving(home) as editor:
        await editor.initialize()
        await editor.load_session(session, workspace)
        await _said(editor, session, "/undo")
        assert (workspace / "data.txt").read_text() == "one"
    async with serving(home) as editor:
        await editor.initialize()
        await editor.load_session(session, workspace)
        await _said(editor, session, "/redo")
        assert (workspace / "data.txt").read_text() == "two"


async def test_calls_have_other_ids_than_those_that_were_shown_and_taken_back(home: Path, workspace: Path) -> None:
    async with serving(home) as editor:
        await editor.initialize()
        session = await editor.new_session(workspace)
        await editor.prompt(session, "read README.md")
    async with serving(home) as editor:
        await editor.initialize()
        await editor.load_session(session, workspace)
        await _said(editor, session, "/undo")
        await editor.prompt(session, "read README.md")
        begun = [update for update in editor.updates(session) if update["sessionUpdate"] == "tool_call"]
        assert [update["toolCallId"] for update in begun] == ["offline_1", "offline_1-2"]


class TestWhatTheEditorHasNotSaved:
    """An undo changes no file under text that the person has not saved."""

    async def test_such_a_file_is_left_and_said(self, editor: Editor, session: str, workspace: Path) -> None:
        path, original = workspace / "sums.py", (workspace / "sums.py").read_text()
        await editor.prompt(session, "edit sums.py a - b => a + b\nwrite other.txt agent")
        after = path.read_text()
        editor.host.buffers[str(path)] = "typed, and not saved\n"
        said = await _said(editor, session, "/undo")
        assert (path.read_text(), editor.host.buffers[str(path)]) == (after, "typed, and not saved\n")
        assert not (workspace / "other.txt").exists()
        assert "Left as they are:\n- `sums.py`: it has unsaved changes in the editor; save or discard" in said
        del editor.host.buffers[str(path)]  # discarded: as was said
        await _said(editor, session, "/redo")
        assert (workspace / "other.txt").read_text() == "agent"
        await _said(editor, session, "/undo")
        assert (path.read_text(), (workspace / "other.txt").exists()) == (original, False)

    async def test_nor_is_one_deleted(self, editor: Editor, session: str, workspace: Path) -> None:
        await editor.prompt(session, "write data.txt agent")
        editor.host.buffers[str(workspace / "data.txt")] = "agent, and typed"
        assert "unsaved changes" in await _said(editor, session, "/undo")
        assert (workspace / "data.txt").read_text() == "agent"

    async def test_an_open_file_that_is_saved_is_taken_back(
        self, editor: Editor, session: str, workspace: Path
    ) -> None:
        await editor.prompt(session, "write data.txt agent")
        editor.host.buffers[str(workspace / "data.txt")] = "agent"
        await _said(editor, session, "/undo")
        assert not (workspace / "data.txt").exists()

    async def test_a_redo_looks_as_well(self, editor: Editor, session: str, workspace: Path) -> None:
        path = workspace / "sums.py"
        await editor.prompt(session, "edit sums.py a - b => a + b")
        await _said(editor, session, "/undo")
        before = path.read_text()
        editor.host.buffers[str(path)] = "typed\n"
        assert "then `/undo` and `/redo` again" in await _said(editor, session, "/redo")
        assert path.read_text() == before

    async def test_a_silent_editor_holds_it_up_once_and_that_is_said(
        self, editor: Editor, session: str, workspace: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await editor.prompt(session, "write one.txt agent\nwrite two.txt agent\nwrite three.txt agent")
        monkeypatch.setattr(files, "READ_SECONDS", 0.05)

        async def hang(_: Any) -> Any:
            await asyncio.get_running_loop().create_future()

        editor.handlers["fs/read_text_file"] = hang
        since = len(editor.frames)
        assert "The editor did not answer" in await _said(editor, session, "/undo")
        asked = [frame for frame in editor.frames[since:] if frame.method == "fs/read_text_file"]
        assert len(asked) == 1
        assert sorted(path.name for path in workspace.glob("*.txt")) == []

    async def test_a_file_that_the_editor_may_still_write_is_left(
        self, editor: Editor, session: str, workspace: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(writing, "WRITE_SECONDS", 0.05)

        async def hang(_: Any) -> Any:
            await asyncio.get_running_loop().create_future()

        await editor.prompt(session, "write data.txt first")
        editor.handlers["fs/write_text_file"] = hang
        await editor.prompt(session, "write data.txt second")
        assert "may still do so" in await _said(editor, session, "/rewind 2")
        assert (workspace / "data.txt").read_text() == "first"

    async def test_programs_are_told_too(self, editor: Editor, session: str, workspace: Path) -> None:
        await editor.prompt(session, "write data.txt agent")
        editor.host.buffers[str(workspace / "data.txt")] = "typed"
        told = await _rewind(editor, session, overwrite=[str(workspace / "data.txt")])
        assert [(entry["path"], "unsaved" in entry["detail"]) for entry in told["kept"]] == [
            (str(workspace / "data.txt"), True)
        ]
        assert (workspace / "data.txt").read_text() == "agent"


class TestForPrograms:
    async def test_a_preview_tells_and_changes_nothing(self, editor: Editor, session: str, workspace: Path) -> None:
        await editor.prompt(session, "write data.txt agent")
        told = await _rewind(editor, session, preview=True)
        assert told["turns"] == [{"number": 1, "prompt": "write data.txt agent"}]
        (file,) = told["files"]
        assert (file["path"], file["action"], file["state"]) == (str(workspace / "data.txt"), "delete", "clean")
        assert (workspace / "data.txt").exists()
        assert "done" not in told

    async def test_it_is_done_and_told(self, editor: Editor, session: str, workspace: Path) -> None:
        await editor.prompt(session, "write data.txt agent")
        told = await _rewind(editor, session)
        assert [entry["path"] for entry in told["done"]] == [str(workspace / "data.txt")]
        assert not (workspace / "data.txt").exists()
        assert [entry["path"] for entry in (await _rewind(editor, session, redo=True))["done"]]
        assert (workspace / "data.txt").read_text() == "agent"

    async def test_a_conflict_is_replaced_only_where_it_is_named(
        self, editor: Editor, session: str, workspace: Path
    ) -> None:
        await editor.prompt(session, "write one.txt agent\nwrite two.txt agent")
        for name in ("one.txt", "two.txt"):
            (workspace / name).write_text("mine")
        told = await _rewind(editor, session, overwrite=[str(workspace / "one.txt")])
        assert [entry["path"] for entry in told["kept"]] == [str(workspace / "two.txt")]
        assert not (workspace / "one.txt").exists()
        assert (workspace / "two.txt").read_text() == "mine"

    async def test_what_a_command_does_not_name_is_taken_back_only_if_that_is_said(
        self, editor: Editor, session: str, workspace: Path
    ) -> None:
        await editor.prompt(session, _SCRIPT)
        told = await _rewind(editor, session, preview=True)
        assert {file["state"] for file in told["files"]} == {"found"}
        assert len((await _rewind(editor, session, found=True))["done"]) == 2
        assert not (workspace / "one.txt").exists()

    @pytest.mark.parametrize(
        "params", [{"turns": 0}, {"turns": "1"}, {"turns": True}, {"overwrite": "x"}, {"overwrite": [1]}]
    )
    async def test_wrong_parameters_are_refused(self, params: dict[str, Any], editor: Editor, session: str) -> None:
        await editor.prompt(session, "say Hello.")
        with pytest.raises(RpcError) as failed:
            await _rewind(editor, session, **params)
        assert failed.value.code == -32602

    async def test_not_while_a_prompt_runs(self, editor: Editor, session: str) -> None:
        turn = editor.begin_prompt(session, "say Begun.\nsleep 60")
        await editor.wait_for_update(session, "agent_message_chunk")
        with pytest.raises(RpcError, match="running"):
            await _rewind(editor, session)
        editor.cancel(session)
        await editor.answer(turn)

    async def test_an_unknown_session_is_an_error(self, editor: Editor) -> None:
        with pytest.raises(RpcError) as failed:
            await _rewind(editor, "ses_none")
        assert failed.value.code == -32002


def _remember(action: str, content: str = "", **more: str) -> str:
    return f"call memory {json.dumps({'action': action, 'content': content, **more})}"


def _remembered(home: Path) -> str:
    return (home / "memories" / "MEMORY.md").read_text()


async def test_an_undone_turn_s_memory_is_forgotten_and_redo_brings_it_back(
    editor: Editor, session: str, home: Path
) -> None:
    await editor.prompt(session, _remember("add", "Uses make"))
    await editor.prompt(
        session, f"{_remember('add', 'Uses nose')}\n{_remember('replace', 'Uses just', old_text='make')}"
    )
    assert _remembered(home) == "Uses just\n§\nUses nose\n"
    said = await _said(editor, session, "/undo")
    assert _remembered(home) == "Uses make\n"
    assert "- Changed back to: Uses make\n" in said
    assert "- Forgotten: Uses nose" in said
    await _said(editor, session, "/redo")
    assert _remembered(home) == "Uses just\n§\nUses nose\n"


async def test_an_entry_that_an_undone_turn_removed_is_remembered_again(
    editor: Editor, session: str, home: Path
) -> None:
    await editor.prompt(session, _remember("add", "Uses make"))
    await editor.prompt(session, _remember("remove", old_text="make"))
    assert "Remembered again: Uses make" in await _said(editor, session, "/undo")
    assert _remembered(home).strip() == "Uses make"


async def test_an_undo_leaves_memory_alone_that_is_not_as_the_turn_left_it(
    editor: Editor, session: str, home: Path
) -> None:
    await editor.prompt(session, f"{_remember('add', 'Uses make')}\n{_remember('add', 'Uses nose')}")
    (home / "memories" / "MEMORY.md").write_text("Mine\n§\nUses GNU make\n§\nUses nose\n")
    said = await _said(editor, session, "/undo")
    assert _remembered(home) == "Mine\n§\nUses GNU make\n"
    assert "Not there any more as the turn left it: Uses make" in said
    assert "Forgotten: Uses nose" in said


async def test_programs_are_told_of_memory_that_was_taken_back(editor: Editor, session: str, home: Path) -> None:
    await editor.prompt(session, _remember("add", "Uses make"))
    assert (await _rewind(editor, session))["memory"] == ["Forgotten: Uses make"]
    assert _remembered(home).strip() == ""
    assert (await _rewind(editor, session, redo=True))["memory"] == ["Remembered again: Uses make"]
