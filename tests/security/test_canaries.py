"""Planted secrets are in no log, export, recording, error, trace or program's variables; what is kept is private."""

from __future__ import annotations

import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from acp_adapter.cli.doctor.main import main as doctor
from acp_adapter.cli.inspect.main import main as inspect
from tests.security.planting import WRITTEN, Planted, as_json, plant
from tests.support.collector import Collector
from tests.support.editor import Editor, RpcError
from tests.support.model_server import ModelServer, Reply, Status, ToolCall
from tests.support.subcommands import main_of

mcp, sessions, usage = map(main_of, ("mcp", "sessions", "usage"))

pytestmark = pytest.mark.long

_PROGRAM = "import os\nprint('VARIABLES', dict(os.environ))"
_SENT = ("key of the model", "header of the model")
"""What a model's server has, and so may tell again."""


def _script(planted: Planted) -> Iterator[Reply | Status]:
    calls = [
        ToolCall("1", "terminal", {"command": "env; set"}),
        ToolCall("2", "execute_code", {"code": _PROGRAM}),
        ToolCall("3", "write_file", {"path": "new.py", "content": "x = 1\n"}),
        ToolCall("4", "mcp__plain__variable", {"text": "GITHUB_TOKEN"}),
        ToolCall("5", "terminal", {"command": "env", "background": True}),
    ]
    yield from (Reply(tool_calls=[call]) for call in calls)
    yield Reply("Done.")
    yield Status(401, {"error": {"message": f"No such key: {' '.join(planted.secrets[name] for name in _SENT)}"}})


def _files(*folders: Path) -> Iterator[tuple[str, str]]:
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file() and path.name not in WRITTEN:
                yield str(path), path.read_bytes().decode("utf-8", "replace")


async def _used(planted: Planted, workspace: Path, record: Path) -> tuple[Editor, str]:
    """A process in which everything was done that keeps or tells something; and the session's id."""
    async with await Editor.spawn("--record", str(record), "--verbose", env=planted.variables, cwd="/") as agent:
        await agent.initialize()
        session = await agent.new_session(workspace)
        await agent.request("session/set_mode", {"sessionId": session, "modeId": "dont_ask"})
        while "| plain | ready" not in agent.text(session):
            await agent.prompt(session, "/mcp")
        await agent.prompt(session, "Look around.")
        with pytest.raises(RpcError, match="401"):
            await agent.prompt(session, "And now?")
        for command in ("/export html", "/export md", "/export jsonl"):
            await agent.prompt(session, command)
    return agent, session


async def test_what_was_planted_is_found_nowhere(
    home: Path, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    record = tmp_path / "wire.jsonl"
    with Collector() as collector, ModelServer() as server:
        planted = plant(home, tmp_path, server, endpoint=collector.address)
        server.add(*_script(planted))
        agent, session = await _used(planted, workspace, record)
        spans = collector.wait_for("invoke_agent hermes-acp")
        asked = as_json([request.body for request in server.requests])
    statuses = {key: card["status"] for key, card in agent.cards(session).items()}
    assert statuses == dict.fromkeys("12345", "completed"), as_json(agent.cards(session)["4"])
    for name, value in planted.variables.items():
        monkeypatch.setenv(name, value)
    doctor(["--json"])
    sessions(["list"])
    mcp(["list"])
    usage([])
    inspect([str(record)])
    told = {
        "wire": as_json([frame.message for frame in agent.frames]),
        "stderr": agent.stderr,
        "model": asked,
        "spans": as_json([(span.name, span.attributes, span.events) for span in spans]),
        "commands": "".join(capsys.readouterr()),
        **dict(_files(home, tmp_path)),
    }
    for wanted in ("logs/hermes-acp.log", "trajectories/completed.jsonl", "hermes-acp.db", "wire.jsonl", "wire.html"):
        assert any(name.endswith(wanted) for name in told), wanted
    assert all(told[str(path)] for path in planted.children.values())
    # The one that was written down for that server.
    own = {str(planted.children["mcp"]): ["variable of a server"]}
    assert {name: found for name, text in told.items() if (found := planted.found_in(text))} == own
    assert list(_open_to_others(home, record, record.with_suffix(".html"))) == []


async def test_what_leaves_by_text_of_the_session_is_taken_out_of_what_is_kept_for_others(
    home: Path, workspace: Path, tmp_path: Path
) -> None:
    """The session itself keeps what was said in it; copies for others do not."""
    record = tmp_path / "wire.jsonl"
    with ModelServer(default=Reply("I see.")) as server, Collector() as collector:
        planted = plant(home, tmp_path, server, endpoint=collector.address)
        everything = " | ".join(planted.secrets.values())
        async with await Editor.spawn("--record", str(record), env=planted.variables, cwd="/") as agent:
            await agent.initialize()
            session = await agent.new_session(workspace)
            await agent.prompt(session, f"These: {everything}")
            for command in ("/export html", "/export md", "/export jsonl"):
                await agent.prompt(session, command)
    programs = {str(path) for path in planted.children.values()}
    kept = {
        name: text for name, text in _files(home, tmp_path) if "hermes-acp.db" not in name and name not in programs
    }
    assert len([name for name in kept if "/exports/" in name]) == 3
    assert {name: found for name, text in kept.items() if (found := planted.found_in(text))} == {}


def _open_to_others(home: Path, *files: Path) -> Iterator[str]:
    """What of a used home others may read or change; the test's own settings are not of us."""
    modes: Mapping[Path, int] = {path: path.lstat().st_mode for path in (*home.rglob("*"), *files)}
    for path, mode in modes.items():
        if path.name not in WRITTEN[:2] and stat.S_IMODE(mode) & 0o077:
            yield f"{stat.S_IMODE(mode):o} {path}"
