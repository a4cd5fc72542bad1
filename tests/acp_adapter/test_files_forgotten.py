"""A file that was read in a turn that was taken back has not been read: it is not replaced unseen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.editor import PLAIN
from tests.support.in_memory import EditorFactory


@pytest.mark.parametrize("taken_back", [False, True])
async def test_a_write_after_an_undone_read_asks_for_a_new_one(
    taken_back: bool, start: EditorFactory, workspace: Path
) -> None:
    editor = await start()
    await editor.initialize(PLAIN)
    (workspace / "notes.txt").write_text("old\n")
    session = await editor.new_session(workspace)
    await editor.prompt(session, "read notes.txt")
    if taken_back:
        await editor.prompt(session, "/undo")
    await editor.prompt(session, "write notes.txt new")
    card = list(editor.cards(session).values())[-1]
    assert card["status"] == ("failed" if taken_back else "completed")
    assert (workspace / "notes.txt").read_text() == ("old\n" if taken_back else "new")
    assert ("ead it" in json.dumps(card)) == taken_back
