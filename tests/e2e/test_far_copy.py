"""A session that works on a copy of its workspace, in a process: what comes back, and what a kill leaves."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import EditorFactory
from tests.support.editor import PLAIN
from tests.support.editor_policies import Decision
from tests.support.fake_engine import FakeEngine


@pytest.fixture
def there(tmp_path: Path, home: Path) -> Iterator[Path]:
    engine = FakeEngine(tmp_path / "engine")
    part = {"backend": "docker", "docker_program": str(engine.program), "docker_mount": False, "sync": "both"}
    (home / "config.yaml").write_text(json.dumps({"terminal": {**part, "cwd": str(tmp_path / "there")}}))
    yield tmp_path / "there"
    engine.end()


async def test_a_command_changes_a_file_there_and_a_yes_brings_it_back(
    there: Path, agent_in: EditorFactory, workspace: Path
) -> None:
    (workspace / "f.txt").write_text("old\n")
    editor = await agent_in("--offline")
    await editor.initialize(PLAIN)
    session = await editor.new_session(workspace)
    seen: list[tuple[str, str]] = []

    async def look(params: dict[str, Any]) -> Decision:
        diffs = [part for part in params["toolCall"].get("content", ()) if part["type"] == "diff"]
        seen.extend((diff["path"], (workspace / "f.txt").read_text()) for diff in diffs)
        return "allow_once" if "allow_once" in str(params["options"]) else str(params["options"][0]["optionId"])

    editor.on_permission = look
    await editor.prompt(session, "run sed -i s/old/new/ f.txt")
    assert seen == [(str(workspace / "f.txt"), "old\n")]
    assert (workspace / "f.txt").read_text() == "new\n"
    assert (there / "f.txt").read_text() == "new\n"


@pytest.mark.slow
async def test_what_was_not_brought_back_when_the_process_was_killed_is_saved_by_the_next_one(
    there: Path, editor: EditorFactory, workspace: Path
) -> None:
    (workspace / "f.txt").write_text("old\n")
    killed = await editor("--offline")
    await killed.initialize(PLAIN)
    session = await killed.new_session(workspace)
    killed.begin_prompt(session, "run echo later > f.txt; echo written; sleep 600")
    await killed.until(lambda: (there / "f.txt").exists() and (there / "f.txt").read_text() == "later\n")
    await killed.kill()
    assert (workspace / "f.txt").read_text() == "old\n"
    later = await editor("--offline")
    await later.initialize(PLAIN)
    await later.load_session(session, workspace)
    # The next container is this machine, too.
    shutil.rmtree(there)
    await later.prompt(session, "hello")
    told = re.search(r"`(git -C [^`]*\.patch)`", json.dumps(later.updates(session)))
    assert told is not None
    assert (workspace / "f.txt").read_text() == "old\n"
    subprocess.run(told[1], shell=True, check=True)  # noqa: ASYNC221
    assert (workspace / "f.txt").read_text() == "later\n"
