"""System calls that do a part of what was asked, or are interrupted by signals: nothing is lost, cut or doubled."""

from __future__ import annotations

import json

import pytest

from tests.faults.fault import PART, Fault
from tests.faults.stage import Stage
from tests.support.settings_files import configure

_OURS = ("acp_adapter", "tools.environments.output", "agent_core.batch.trajectories")
_CALLS = (
    *(Fault("os.write", PART, caller=caller) for caller in _OURS),
    Fault("os.read", PART, caller="acp_adapter.jsonrpc"),
    Fault("sqlite.write", PART),
    Fault("sqlite.read", PART),
)
_TEXT = "-".join(["Wörter"] * 5_000)
_WORK = f"write made.txt {_TEXT}\nedit sums.py a - b => a + b\nrun seq 1 60000\nread made.txt\nsay {_TEXT[:2_000]}"


async def _whole_turn(stage: Stage, *faults: Fault, signals: bool) -> None:
    configure(stage.home, {"agent": {"save_trajectories": True}})
    recording = stage.scratch / "recording.jsonl"
    stage.arguments = ("--offline", "--record", str(recording))
    agent = await stage.start(*faults, armed=True, signals=signals)
    await stage.open(agent)
    assert _TEXT[:2_000] in await stage.say(agent, _WORK)
    assert {card["status"] for card in agent.cards(stage.session).values()} == {"completed"}
    assert "/outputs/" in json.dumps(agent.cards(stage.session))
    await agent.close(expect=0, within=30)
    assert not faults or sorted(stage.struck()) == list(range(len(faults)))
    assert (stage.workspace / "made.txt").read_text().strip() == _TEXT
    assert b"a + b" in stage.files()["sums.py"]
    [output] = (path for path in (stage.home / "outputs").rglob("*") if path.is_file())
    assert output.read_text() == "".join(f"{number}\n" for number in range(1, 60_001))
    for file, least in ((recording, 10), (stage.home / "trajectories" / "completed.jsonl", 1)):
        lines = [json.loads(line) for line in file.read_bytes().splitlines()]
        assert len(lines) >= least
    stage.arguments = ("--offline",)
    again = await stage.start()
    await stage.open(again)
    stage.check_view(again)
    stage.check_database()
    assert stage.leftovers() == []


@pytest.mark.long
async def test_reads_and_writes_that_do_a_part_lose_nothing_of_a_turn(stage: Stage) -> None:
    await _whole_turn(stage, *_CALLS, signals=False)


@pytest.mark.long
async def test_signals_that_interrupt_every_call_change_nothing_of_a_turn(stage: Stage) -> None:
    await _whole_turn(stage, signals=True)
