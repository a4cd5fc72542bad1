"""Whole turns of a session that works on a copy of its workspace, as an editor sees them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.editor import PLAIN, ZED, Editor
from tests.support.editor_host import RpcError
from tests.support.editor_policies import Decision, OnPermission, allow, never, reject
from tests.support.fake_engine import FakeEngine
from tests.support.in_memory import EditorFactory

Patch = pytest.MonkeyPatch


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[FakeEngine]:
    engine = FakeEngine(tmp_path / "engine")
    yield engine
    engine.end()


@pytest.fixture
def there(tmp_path: Path) -> Path:
    # The engine's containers are this machine: the copy needs a directory of its own.
    return tmp_path / "there"


def works_on_a_copy(home: Path, engine: FakeEngine, there: Path, **terminal: object) -> None:
    part = {"docker_program": str(engine.program), "docker_mount": False, "cwd": str(there), "sync": "both"}
    (home / "config.yaml").write_text(json.dumps({"terminal": {"backend": "docker", **part, **terminal}}))


async def opened(start: EditorFactory, workspace: Path) -> tuple[Editor, str]:
    editor = await start()
    await editor.initialize(PLAIN)
    return editor, await editor.new_session(workspace)


def run(command: str) -> None:
    """Run a command that somebody was told."""
    subprocess.run(command, shell=True, check=True)


def asking(asked: list[dict[str, Any]], answer: OnPermission = allow) -> OnPermission:
    """Notes what is asked about files, with the content that is shown."""

    async def decide(params: dict[str, Any]) -> Decision:
        diffs = [part for part in params["toolCall"].get("content", ()) if part["type"] == "diff"]
        asked.extend(diffs)
        return await (answer if diffs else allow)(params)

    return decide


async def test_what_a_command_changes_there_is_asked_about_and_comes_back(
    engine: FakeEngine, start: EditorFactory, home: Path, workspace: Path, there: Path
) -> None:
    (workspace / "f.txt").write_text("old\n")
    works_on_a_copy(home, engine, there)
    editor, session = await opened(start, workspace)
    asked: list[dict[str, Any]] = []
    editor.on_permission = asking(asked)
    await editor.prompt(session, "run echo new > f.txt; echo more > g.txt")
    shown = {Path(each["path"]): (each.get("oldText"), each["newText"]) for each in asked}
    assert shown == {workspace / "f.txt": ("old\n", "new\n"), workspace / "g.txt": (None, "more\n")}
    assert (workspace / "f.txt").read_text() == "new\n"
    assert (workspace / "g.txt").read_text() == "more\n"
    titles = [card["title"] for card in editor.cards(session).values()]
    assert titles[0].startswith("Copy the workspace to the container")
    assert titles[-1].startswith("Bring changes back from the container")


async def test_undo_takes_back_here_what_came_back_and_the_next_turn_takes_it_there(
    engine: FakeEngine, start: EditorFactory, home: Path, workspace: Path, there: Path
) -> None:
    (workspace / "f.txt").write_text("old\n")
    works_on_a_copy(home, engine, there)
    editor, session = await opened(start, workspace)
    await editor.prompt(session, "run echo new > f.txt; echo more > g.txt")
    await editor.prompt(session, "/undo")
    assert (workspace / "f.txt").read_text() == "old\n"
    assert not (workspace / "g.txt").exists()
    await editor.prompt(session, "run cat f.txt; ls")
    assert (there / "f.txt").read_text() == "old\n"
    assert not (there / "g.txt").exists()


async def test_an_edit_that_was_agreed_to_there_is_not_asked_about_again(
    engine: FakeEngine, start: EditorFactory, home: Path, workspace: Path, there: Path
) -> None:
    works_on_a_copy(home, engine, there)
    editor, session = await opened(start, workspace)
    asked: list[dict[str, Any]] = []
    editor.on_permission = asking(asked)
    await editor.prompt(session, "write f.txt mine")
    assert (workspace / "f.txt").read_text() == "mine"
    assert [each["path"] for each in asked] == [str(there / "f.txt")]
    await editor.prompt(session, "run echo other > f.txt")
    assert [each["path"] for each in asked[1:]] == [str(workspace / "f.txt")]


async def test_what_is_refused_stays_there_is_kept_as_a_patch_and_not_asked_about_again(
    engine: FakeEngine, start: EditorFactory, home: Path, workspace: Path, there: Path
) -> None:
    (workspace / "f.txt").write_text("old\n")
    works_on_a_copy(home, engine, there)
    editor, session = await opened(start, workspace)
    asked: list[dict[str, Any]] = []
    editor.on_permission = asking(asked, reject)
    await editor.prompt(session, "run echo new > f.txt")
    assert (workspace / "f.txt").read_text() == "old\n"
    told = re.search(r"this makes it here: `(git -C .*\.patch)`", editor.text(session))
    assert told is not None
    await editor.prompt(session, "run cat f.txt")
    assert len(asked) == 1
    run(told[1])
    assert (workspace / "f.txt").read_text() == "new\n"
    await editor.prompt(session, "run echo newer > f.txt")
    assert len(asked) == 2


async def test_what_both_sides_have_changed_is_left_alone_and_kept_as_it_is_there(
    engine: FakeEngine, start: EditorFactory, home: Path, workspace: Path, there: Path
) -> None:
    (workspace / "f.txt").write_text("one\ntwo\nthree\n")
    works_on_a_copy(home, engine, there)
    editor, session = await opened(start, workspace)
    # The command changes both, as a person would meanwhile.
    await editor.prompt(session, f"run echo four >> f.txt; sed -i 's/one/1/' {workspace}/f.txt")
    assert (workspace / "f.txt").read_text() == "1\ntwo\nthree\n"
    assert "f.txt was changed on both sides" in editor.text(session)
    told = re.search(r"kept as it is there, for a week: (\S*)\.", editor.text(session))
    assert told is not None
    assert Path(told[1], "f.txt").read_text() == "one\ntwo\nthree\nfour\n"
    await editor.prompt(session, "run cat f.txt")
    assert (there / "f.txt").read_text() == "one\ntwo\nthree\nfour\n"


async def test_a_rule_that_denies_holds_for_what_comes_back(
    engine: FakeEngine, start: EditorFactory, home: Path, workspace: Path, there: Path
) -> None:
    (workspace / "locked.txt").write_text("old\n")
    works_on_a_copy(home, engine, there)
    config = json.loads((home / "config.yaml").read_text())
    (home / "config.yaml").write_text(json.dumps({**config, "approvals": {"deny": ["write: locked.txt"]}}))
    editor, session = await opened(start, workspace)
    asked: list[dict[str, Any]] = []
    editor.on_permission = asking(asked)
    await editor.prompt(session, 'run cat locked.txt; printf new | dd of=lock""ed.txt')
    assert (workspace / "locked.txt").read_text() == "old\n"
    assert asked == []


@pytest.mark.long
async def test_what_is_not_brought_back_at_the_session_s_end_is_kept_and_told_when_it_is_loaded(
    engine: FakeEngine, start: EditorFactory, home: Path, workspace: Path, there: Path
) -> None:
    (workspace / "f.txt").write_text("old\n")
    works_on_a_copy(home, engine, there)
    editor, session = await opened(start, workspace)
    await editor.prompt(session, "run echo begun")
    (there / "f.txt").write_text("later\n")
    await editor.request("session/close", {"sessionId": session})
    assert engine.boxes() == {}
    assert (workspace / "f.txt").read_text() == "old\n"
    shutil.rmtree(there)
    await editor.load_session(session, workspace)
    await editor.prompt(session, "hello")
    told = re.search(r"`(git -C [^`]*\.patch)`", json.dumps(editor.updates(session)))
    assert told is not None
    run(told[1])
    assert (workspace / "f.txt").read_text() == "later\n"


async def test_without_sync_the_person_is_told_once_that_nothing_is_there(
    engine: FakeEngine, start: EditorFactory, home: Path, workspace: Path, there: Path
) -> None:
    (workspace / "f.txt").write_text("old\n")
    there.mkdir()
    works_on_a_copy(home, engine, there, sync=False)
    editor, session = await opened(start, workspace)
    await editor.prompt(session, "run ls")
    await editor.prompt(session, "run ls")
    assert editor.text(session).count("Nothing of the project is on the container") == 1
    assert list(there.iterdir()) == []


async def test_nothing_comes_back_with_in_alone(
    engine: FakeEngine, start: EditorFactory, home: Path, workspace: Path, there: Path
) -> None:
    (workspace / "f.txt").write_text("old\n")
    works_on_a_copy(home, engine, there, sync="in")
    editor, session = await opened(start, workspace)
    await editor.prompt(session, "run echo new > f.txt")
    assert (there / "f.txt").read_text() == "new\n"
    assert (workspace / "f.txt").read_text() == "old\n"


async def test_too_much_is_not_copied_and_the_error_names_the_setting(
    engine: FakeEngine, start: EditorFactory, home: Path, workspace: Path, there: Path
) -> None:
    for number in range(3):
        (workspace / f"{number}.txt").write_text("x")
    works_on_a_copy(home, engine, there, sync_files=2)
    editor, session = await opened(start, workspace)
    with pytest.raises(RpcError, match=r"raise terminal\.sync_files"):
        await editor.prompt(session, "run ls")
    assert list(there.iterdir()) == []


async def test_in_plan_mode_nothing_comes_back_until_it_is_left(
    engine: FakeEngine, start: EditorFactory, home: Path, workspace: Path, there: Path
) -> None:
    (workspace / "f.txt").write_text("old\n")
    works_on_a_copy(home, engine, there)
    editor, session = await opened(start, workspace)
    await editor.prompt(session, "run ls")
    await editor.request("session/set_mode", {"sessionId": session, "modeId": "plan"})
    (there / "f.txt").write_text("new\n")
    await editor.prompt(session, "run cat f.txt")
    assert (workspace / "f.txt").read_text() == "old\n"
    await editor.request("session/set_mode", {"sessionId": session, "modeId": "accept_edits"})
    await editor.prompt(session, "run cat f.txt")
    assert (workspace / "f.txt").read_text() == "new\n"


async def test_a_cancel_while_a_change_is_asked_about_leaves_it_for_the_next_turn(
    engine: FakeEngine, start: EditorFactory, home: Path, workspace: Path, there: Path
) -> None:
    (workspace / "f.txt").write_text("old\n")
    works_on_a_copy(home, engine, there)
    editor, session = await opened(start, workspace)
    asked: list[dict[str, Any]] = []
    editor.on_permission = asking(asked, never)
    prompt = editor.begin_prompt(session, "run echo new > f.txt")
    await editor.until(lambda: asked)
    editor.cancel(session)
    assert (await prompt)["stopReason"] == "cancelled"
    assert (workspace / "f.txt").read_text() == "old\n"
    editor.on_permission = allow
    await editor.prompt(session, "run cat f.txt")
    assert (workspace / "f.txt").read_text() == "new\n"


@pytest.mark.long
async def test_a_container_that_is_kept_keeps_its_changes_for_the_next_session(
    engine: FakeEngine, start: EditorFactory, home: Path, workspace: Path, there: Path
) -> None:
    (workspace / "f.txt").write_text("old\n")
    works_on_a_copy(home, engine, there, container_persistent=True)
    editor, session = await opened(start, workspace)
    await editor.prompt(session, "run ls")
    (there / "f.txt").write_text("new\n")
    await editor.request("session/close", {"sessionId": session})
    assert list(engine.boxes().values()) == [False]
    await editor.load_session(session, workspace)
    await editor.prompt(session, "run cat f.txt")
    assert (workspace / "f.txt").read_text() == "new\n"
    assert "is gone" not in editor.text(session)


async def test_a_cancel_while_the_workspace_is_copied_keeps_the_prompt(
    engine: FakeEngine,
    start: EditorFactory,
    home: Path,
    workspace: Path,
    there: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (workspace / "f.txt").write_text("old\n")
    works_on_a_copy(home, engine, there)
    monkeypatch.setattr(
        "agent_core.remote.remote_dir.FIRST", "cat >/dev/null; sleep 600; : {root}{id}{token}{digest}{git}"
    )
    editor, session = await opened(start, workspace)
    prompt = editor.begin_prompt(session, "run ls")
    await editor.until(lambda: "Copying the workspace" in json.dumps(editor.updates(session)))
    editor.cancel(session)
    assert (await prompt)["stopReason"] == "cancelled"
    monkeypatch.undo()
    works_on_a_copy(home, engine, there)
    await editor.prompt(session, "run cat f.txt")
    assert "old" in json.dumps(editor.updates(session))


async def test_what_an_editor_has_unsaved_is_not_replaced(
    engine: FakeEngine, start: EditorFactory, home: Path, workspace: Path, there: Path
) -> None:
    (workspace / "f.txt").write_text("old\n")
    works_on_a_copy(home, engine, there)
    editor = await start()
    await editor.initialize(ZED)
    session = await editor.new_session(workspace)
    editor.host.buffers[str(workspace / "f.txt")] = "unsaved\n"
    await editor.prompt(session, "run echo new > f.txt")
    assert (workspace / "f.txt").read_text() == "old\n"
    assert editor.host.buffers[str(workspace / "f.txt")] == "unsaved\n"
    assert "f.txt could not be changed here" in editor.text(session)


async def test_nothing_is_begun_where_the_place_cannot_be_reached(
    engine: FakeEngine, start: EditorFactory, home: Path, workspace: Path, there: Path
) -> None:
    works_on_a_copy(home, engine, there)
    engine.go_down()
    editor, session = await opened(start, workspace)
    with pytest.raises(RpcError, match=r"the engine does not run.*The model was not asked"):
        await editor.prompt(session, "run ls")
