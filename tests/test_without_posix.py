"""Nothing needs at its import, or on the way to an answer, what Windows has not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.editor import PLAIN, Editor
from tests.support.model_server import ModelServer, Reply
from tests.support.settings_files import use_model

ROOT = Path(__file__).parents[1]
POOR = [sys.executable, "-m", "tests.support.without_posix"]
# Programs of their own: they run on other machines and in commands, where these systems are.
ELSEWHERE = {
    "tools.environments.programs.client",
}


def modules() -> list[str]:
    files = (path for name in ("acp_adapter", "agent_core", "tools") for path in (ROOT / name).rglob("*.py"))
    names = (".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in files)
    return sorted(name for name in names if not name.endswith("__main__") and name not in ELSEWHERE)


@pytest.mark.long
def test_every_module_can_be_imported() -> None:
    ran = subprocess.run(
        [*POOR, "import"],
        check=False,
        cwd=ROOT,
        input="\n".join(modules()),
        capture_output=True,
        text=True,
        timeout=55,
    )
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == {}


@pytest.mark.long
async def test_the_server_answers_and_says_of_files_and_commands_what_to_do(
    home: Path, workspace: Path, model_server: ModelServer
) -> None:
    model_server.add(Reply("All is well."))
    use_model(home, model_server)
    async with await Editor.spawn(command=[*POOR, "serve"], cwd=ROOT) as editor:
        await editor.initialize(PLAIN)
        session = await editor.new_session(workspace)
        assert (await editor.prompt(session, "Is all well?"))["stopReason"] == "end_turn"
        assert editor.text(session) == "All is well."
    async with await Editor.spawn(command=[*POOR, "serve", "--offline"], cwd=ROOT) as editor:
        await editor.initialize(PLAIN)
        session = await editor.new_session(workspace)
        for line in ("read sums.py", "run echo hi", "write new.txt hi"):
            await editor.prompt(session, line)
        cards = list(editor.cards(session).values())
    assert [card["status"] for card in cards] == ["failed"] * 3
    for card in cards:
        assert "inside WSL" in json.dumps(card["content"])
    assert not (workspace / "new.txt").exists()
