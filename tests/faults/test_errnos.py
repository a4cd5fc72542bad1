"""A disk that takes nothing, files that cannot be opened: it is told, the turn goes on, all is stored afterwards."""

from __future__ import annotations

import asyncio
import resource
from pathlib import Path

import pytest

from tests.faults.fault import Fault
from tests.faults.stage import Stage
from tests.support.editor import PLAIN, Editor
from tests.support.waiting import wait_until

_CALLS = ("os.replace", "os.mkdir", "os.link", "os.fsync", "os.write", "sqlite.write")
_SAID = {
    "ENOSPC": "no space left",
    "EROFS": "ould not be",
    "EIO": "ould not be",
    "EDQUOT": "ould not be",
}
_CODES = [code if code == "ENOSPC" else pytest.param(code, marks=pytest.mark.slow) for code in _SAID]


def takes_nothing(place: Path, code: str) -> list[Fault]:
    """Whatever would write below `place` fails."""
    opens = [Fault(seam, code, path=str(place), writing=True) for seam in ("os.open", "open")]
    return [*opens, *(Fault(seam, code, path=str(place)) for seam in _CALLS)]


def told(agent: Editor, since: int) -> str:
    """All that was shown since then."""
    return " ".join(str(frame.message) for frame in agent.frames[since:] if not frame.ours)


@pytest.mark.long
@pytest.mark.parametrize("code", _CODES)
async def test_a_home_that_takes_nothing_for_a_while_loses_nothing(stage: Stage, code: str) -> None:
    agent = await stage.start(*takes_nothing(stage.home, code))
    await stage.open(agent)
    await stage.say(agent, "say First.")
    since = len(agent.frames)
    stage.armed.touch()
    await stage.say(agent, "write made.txt text\nrun echo ran\nsay Under.")
    assert _SAID[code] in told(agent, since)
    assert "Traceback" not in told(agent, since)
    assert stage.struck()
    stage.armed.unlink()
    await stage.say(agent, "say After.")
    await agent.close(expect=0)

    again = await stage.start()
    await stage.open(again)
    view = stage.check_view(again)
    said = [word for word in "".join(view.texts()).split() if word in {"First.", "Under.", "After."}]
    assert said == ["First.", "Under.", "After."]
    stage.check_database()
    assert (stage.workspace / "made.txt").read_text().strip() == "text"


@pytest.mark.long
@pytest.mark.parametrize("code", _CODES)
async def test_a_workspace_that_takes_nothing_stays_as_it_is_and_the_model_is_told(stage: Stage, code: str) -> None:
    agent = await stage.start(*takes_nothing(stage.workspace, code), *_at_descriptors(code))
    await stage.open(agent)
    await stage.say(agent, "read sums.py\nread README.md\nsay First.")
    before = stage.files()
    stage.armed.touch()
    prompt = "edit sums.py a - b => a + b\nwrite README.md other\nwrite deep/new.txt text\nsay Under."
    await stage.say(agent, prompt)
    assert stage.files() == before
    failed = [card for card in agent.cards(stage.session).values() if card["status"] == "failed"]
    assert len(failed) == 3
    stage.armed.unlink()
    await stage.say(agent, "edit sums.py a - b => a + b\nsay After.")
    assert b"a + b" in stage.files()["sums.py"]
    await agent.close(expect=0)
    assert stage.leftovers() == []


def _at_descriptors(code: str) -> list[Fault]:
    """The file tools name a file within a directory that is held open."""
    return [
        Fault("os.open", code, caller="tools.environments.atomic_writes", path=".hermes-", writing=True),
        Fault("os.replace", code, caller="tools.environments.atomic_writes"),
        Fault("os.link", code, caller="tools.environments.atomic_writes"),
        Fault("os.mkdir", code, caller="tools.environments.atomic_writes"),
        Fault("os.open", code, caller="tools.environments.atomic_writes", path="README.md", writing=True),
        Fault("os.open", code, caller="tools.environments.atomic_writes", path="sums.py", writing=True),
    ]


@pytest.mark.long
async def test_without_descriptors_the_turn_ends_readably_and_the_next_one_works(stage: Stage) -> None:
    agent = await stage.start()
    await stage.open(agent)
    await stage.say(agent, "read README.md\nrun echo first\nsay First.")
    assert agent.process is not None
    pid, since = agent.process.pid, len(agent.frames)
    usual = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    most = max(int(entry.name) for entry in Path(f"/proc/{pid}/fd").iterdir()) + 1
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (most, usual[1]))
    free = [number for number in range(most) if not Path(f"/proc/{pid}/fd/{number}").exists()]
    await stage.say(agent, "read sums.py\nrun echo ran\nwrite made.txt text\nsay Under.")
    resource.prlimit(pid, resource.RLIMIT_NOFILE, usual)
    assert "Traceback" not in told(agent, since), free
    assert "files: None" not in told(agent, since)
    await stage.say(agent, "read sums.py\nrun echo after\nwrite later.txt text\nsay After.")
    last = list(agent.cards(stage.session).values())[-3:]
    assert [card["status"] for card in last] == ["completed"] * 3, (free, last)
    await agent.close(expect=0)
    again = await stage.start()
    await stage.open(again, PLAIN)
    stage.check_view(again)
    await asyncio.to_thread(wait_until, lambda: not stage.leftovers())
    stage.check_database()
