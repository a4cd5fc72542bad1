"""Scenes of the home: what is kept beside the conversations."""

from __future__ import annotations

import json

import yaml

from acp_adapter.auth import CONFIGURED
from tests.faults.scene import Scene, says
from tests.faults.stage import Stage
from tests.support.editor import Editor
from tests.support.editor_policies import pick
from tests.support.settings_files import configure

_REMEMBER = "call memory {}\nsay Remembered."
_WAITING = 20


def _remembers(content: str) -> str:
    return _REMEMBER.format(json.dumps({"action": "add", "content": content}))


async def _memory_is_whole(stage: Stage, agent: Editor) -> None:
    [text] = [path.read_text() for path in (stage.home / "memories").rglob("*.md") if "first" in path.read_text()]
    assert text.strip().splitlines()[0] == "the first fact"
    assert "second" not in text or "the second fact" in text


async def _remember_more(stage: Stage, agent: Editor) -> None:
    await stage.say(agent, _remembers("the third fact"))
    assert not list((stage.home / "memories").glob(".*.tmp"))


async def _allow_for_good(stage: Stage, agent: Editor) -> None:
    await stage.choose(agent, "default")
    agent.on_permission = pick("allow_kept")
    await stage.say(agent, "write one text\nsay Ran.")


async def _grants_are_whole(stage: Stage, agent: Editor) -> None:
    file = stage.home / "permissions.yaml"
    assert all(entry["kind"] for entry in yaml.safe_load(file.read_text()) or ()) if file.exists() else True


async def _sign_out(stage: Stage, agent: Editor) -> None:
    await agent.request("logout", {})


async def _signs_in(stage: Stage, agent: Editor) -> None:
    await agent.request("authenticate", {"methodId": CONFIGURED})


def _records(stage: Stage) -> tuple[str, ...]:
    return ("--record", str(stage.scratch / "recording.jsonl"))


async def _recording_is_readable(stage: Stage, agent: Editor) -> None:
    lines = (stage.scratch / "recording.jsonl").read_bytes().splitlines()
    broken = 0
    for line in lines:
        try:
            json.loads(line)
        except ValueError:
            broken += 1
    assert broken <= 1, lines


def _a_full_log(stage: Stage) -> None:
    logs = stage.home / "logs"
    logs.mkdir()
    (logs / "hermes-acp.log").write_bytes(b"x" * (32 << 20))
    configure(stage.home, {"not_a_setting": 1})  # which is logged


async def _open(stage: Stage, agent: Editor) -> None:
    await stage.open(agent)
    await stage.say(agent, "say First.")
    await agent.exit_code(_WAITING)


KEEPING = {
    "a memory": Scene(
        says(_remembers("the second fact")),
        before=says(_remembers("the first fact")),
        holds=_memory_is_whole,
        settled=_remember_more,
    ),
    "a yes for good": Scene(_allow_for_good, holds=_grants_are_whole),
    "a sign-out": Scene(_sign_out, before=says("say First."), greeted=_signs_in),
    "a recording": Scene(says("say First."), arguments=_records, holds=_recording_is_readable),
    "a full log": Scene(_open, prepare=_a_full_log, at_start=True),
    "the first answer": Scene(_open, at_start=True),
    "a report of what runs": Scene(says("sleep 6\nsay Slept.")),
}
