"""Scenes of sign-ins at MCP servers, of a project's plugins that are trusted, and of turns kept to train with."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import urllib.request
from pathlib import Path
from typing import Any

from agent_core.mcp.oauth import ServerTokens
from agent_core.mcp.sign_in import sign_in
from agent_core.mcp.specs import ServerSpec
from agent_core.providers.token_store import FILE_NAME
from tests.faults.scene import Scene, says
from tests.faults.stage import Stage
from tests.support.app_server import serving
from tests.support.chaos_remains import eventually
from tests.support.editor import Editor
from tests.support.plugins import add_plugin, tool
from tests.support.settings_files import configure

_OTHERS = {"providers": {"another": {"access_token": "kept"}}}
_SOON_OVER = 10
_WAITING = 20
_FULL = 64 * 1024 * 1024


def _visit(url: str) -> None:
    threading.Thread(target=lambda: urllib.request.urlopen(url).read(), daemon=True).start()


def _signed_in(stage: Stage) -> None:
    """The sign-in has to be renewed by whoever connects next."""
    from tests.support.mcp_oauth_server import oauth_app  # noqa: PLC0415 - loads the SDK

    origin = stage.stack.enter_context(serving(lambda origin: oauth_app(origin, _SOON_OVER)))
    spec = ServerSpec("api", "http", url=f"{origin}/mcp")
    configure(stage.home, {"mcp_servers": {"api": {"url": spec.url}}})
    (stage.home / FILE_NAME).write_text(json.dumps({"version": 1, **_OTHERS}))
    stage.facts["spec"] = spec
    _sign_in(stage)


def _sign_in(stage: Stage) -> None:
    sign_in(stage.facts["spec"], stage.scratch, ServerTokens(stage.home), _visit)


async def _open(stage: Stage, agent: Editor) -> None:
    await stage.open(agent)
    await agent.prompt(stage.session, "say First.")
    await agent.exit_code(_WAITING)


async def _sign_ins_are_whole(stage: Stage, agent: Editor) -> None:
    """None of another server is lost; what a killed process had renewed and not stored is told to be over."""
    kept = json.loads((stage.home / FILE_NAME).read_text())
    assert kept["providers"] == _OTHERS["providers"]
    assert kept["mcp"][stage.facts["spec"].url]["tokens"]["refresh_token"]
    said = await _state_of_server(stage, agent)
    assert "| ready |" in said or "hermes-acp mcp login" in said, said


async def _state_of_server(stage: Stage, agent: Editor) -> str:
    said = "| connecting |"
    while "| connecting |" in said:
        since = len(agent.text(stage.session))
        await agent.prompt(stage.session, "/mcp")
        said = agent.text(stage.session)[since:]
    return said


async def _a_new_sign_in_works(stage: Stage, agent: Editor) -> None:
    await asyncio.to_thread(_sign_in, stage)
    await agent.prompt(stage.session, "/mcp reconnect api")
    await _state_of_server(stage, agent)
    await stage.say(agent, "call mcp__api__who {}\nsay Called.")
    assert list(agent.cards(stage.session).values())[-1]["status"] == "completed"


def _a_plugin_in_the_project(stage: Stage) -> None:
    add_plugin(stage.workspace / ".hermes" / "plugins", "theirs", tool("theirs_tool"))
    (stage.home / "plugins.json").write_text(json.dumps({"version": 1, "disabled": ["another"]}))


async def _trust(stage: Stage, agent: Editor) -> None:
    await agent.prompt(stage.session, "/trust all")
    await agent.exit_code(_WAITING)


async def _is_trusted_or_not(stage: Stage, agent: Editor) -> None:
    kept = json.loads((stage.home / "plugins.json").read_text())
    assert kept["disabled"] == ["another"]
    await agent.prompt(stage.session, "call theirs_tool {}")
    trusted = bool(kept.get("trusted"))
    assert list(agent.cards(stage.session).values())[-1]["status"] == ("completed" if trusted else "failed")
    await agent.prompt(stage.session, "/trust all")
    await agent.prompt(stage.session, "call theirs_tool {}")
    assert list(agent.cards(stage.session).values())[-1]["status"] == "completed"


async def _only_what_is_trusted_is_kept(stage: Stage, agent: Editor) -> None:
    [digest] = (stage.home / "cache" / "trusted").iterdir()
    assert [path.name for path in digest.iterdir()] == ["theirs"]


def _keeps_turns(stage: Stage) -> None:
    configure(stage.home, {"agent": {"save_trajectories": True}})


def _keeps_many_turns(stage: Stage) -> None:
    _keeps_turns(stage)
    file = _trajectories(stage) / "completed.jsonl"
    file.parent.mkdir()
    file.touch()
    os.truncate(file, _FULL)


async def _each_line_is_a_turn(stage: Stage, agent: Editor) -> None:
    file = _trajectories(stage) / "completed.jsonl"

    def lines() -> list[bytes]:
        return file.read_bytes().splitlines() if file.exists() else []

    # They are written in the background; what a killed process has left half goes then.
    await eventually(lambda: any(b'"say Still here."' in line for line in lines()), lines)
    prompts = [_last_prompt(json.loads(line)) for line in lines()]
    assert prompts == [each for each in ("say First.", "say Second.", "say Still here.") if each in prompts]


def _last_prompt(line: dict[str, Any]) -> str:
    return str([each["value"] for each in line["conversations"] if each["from"] == "human"][-1])


def _trajectories(stage: Stage) -> Path:
    return stage.home / "trajectories"


TRUSTING = {
    "a renewed sign-in": Scene(
        _open, prepare=_signed_in, holds=_sign_ins_are_whole, settled=_a_new_sign_in_works, at_start=True
    ),
    "a trust": Scene(
        _trust, prepare=_a_plugin_in_the_project, holds=_is_trusted_or_not, settled=_only_what_is_trusted_is_kept
    ),
    "a trajectory": Scene(
        says("say Second."), prepare=_keeps_turns, before=says("say First."), settled=_each_line_is_a_turn
    ),
    "full trajectories": Scene(says("say Second."), prepare=_keeps_many_turns, settled=_each_line_is_a_turn),
}
