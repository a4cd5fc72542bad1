"""Stored sessions: listed, loaded, resumed, forked, closed, deleted, taken back."""

from __future__ import annotations

from typing import Any

from tests.support.scenarios.scenario import Scenarios
from tests.support.scenarios.stage import Stage

scenario = Scenarios()


def _place(stage: Stage) -> dict[str, Any]:
    return {"sessionId": stage.session, "cwd": str(stage.workspace), "mcpServers": []}


async def _a_turn(stage: Stage) -> None:
    await stage.begin()
    await stage.prompt("think Look first.", "read sums.py", "edit sums.py a - b => a + b", "run echo ok", "say Done.")


@scenario
async def load(stage: Stage) -> None:
    """Loading shows everything again before it is answered; then the session goes on."""
    await _a_turn(stage)
    await stage.reconnect()
    await stage.agent.request("session/load", _place(stage))
    await stage.prompt("say And on.")


@scenario
async def load_after_a_cancel(stage: Stage) -> None:
    """A cancelled turn is shown again as it ended."""
    await stage.begin()
    turn = stage.begin_prompt("run echo started; sleep 60")
    await stage.until_output()
    stage.agent.cancel(stage.session)
    await stage.agent.answer(turn)
    await stage.reconnect()
    await stage.agent.request("session/load", _place(stage))


@scenario
async def resume(stage: Stage) -> None:
    """Resuming shows nothing again; the session goes on."""
    await _a_turn(stage)
    await stage.reconnect()
    await stage.agent.request("session/resume", _place(stage))
    await stage.agent.wait_for_update(stage.session, "available_commands_update")
    await stage.prompt("say And on.")


@scenario
async def fork(stage: Stage) -> None:
    """A fork has the history and an id of its own."""
    await stage.begin()
    await stage.prompt("say one")
    forked = await stage.agent.request("session/fork", _place(stage))
    stage.session = forked["sessionId"]
    await stage.agent.wait_for_update(stage.session, "available_commands_update")
    await stage.prompt("say two")


@scenario
async def list_sessions(stage: Stage) -> None:
    """The list has what was prompted, newest first; a place without sessions has an empty one."""
    await stage.begin()
    await stage.prompt("say one")
    await stage.agent.request("session/list", {})
    await stage.agent.request("session/list", {"cwd": str(stage.outside)})
    await stage.refused("session/list", {"cursor": "nonsense"})


@scenario
async def delete(stage: Stage) -> None:
    """A deleted session is gone from the list; deleting it again, or one that never was, is no error."""
    await stage.begin()
    await stage.prompt("say one")
    for session in (stage.session, stage.session, "ses_of_nobody"):
        await stage.agent.request("session/delete", {"sessionId": session})
    await stage.agent.request("session/list", {})


@scenario
async def close(stage: Stage) -> None:
    """A closed session can be loaded again."""
    await stage.begin()
    await stage.prompt("say one")
    await stage.ask("session/close")
    await stage.agent.request("session/load", _place(stage))


@scenario
async def unknown_session(stage: Stage) -> None:
    """A session that is not there is the same error for every method."""
    await stage.greet()
    stage.session = "ses_of_nobody"
    for method, params in (
        ("session/load", _place(stage)),
        ("session/resume", _place(stage)),
        ("session/fork", _place(stage)),
        ("session/prompt", {"sessionId": stage.session, "prompt": [{"type": "text", "text": "say x"}]}),
        ("session/set_mode", {"sessionId": stage.session, "modeId": "default"}),
        ("session/set_config_option", {"sessionId": stage.session, "configId": "mode", "value": "default"}),
        ("session/close", {"sessionId": stage.session}),
    ):
        await stage.refused(method, params)


@scenario
async def more_directories(stage: Stage) -> None:
    """Files of an additional directory are the session's own."""
    (stage.outside / "note.txt").write_text("also mine\n", encoding="utf-8")
    await stage.begin(additionalDirectories=[str(stage.outside)])
    await stage.prompt("read ../outside/note.txt")


@scenario
async def undo(stage: Stage) -> None:
    """/undo takes the last turn and its files back, /redo brings them again."""
    await stage.begin()
    await stage.prompt("edit sums.py a - b => a + b")
    await stage.prompt("/undo")
    await stage.prompt("/redo")
    await stage.prompt("/rewind no-number")


@scenario
async def rewind_preview(stage: Stage) -> None:
    """Our own method tells what taking a turn back would change, and does it."""
    await stage.begin()
    await stage.prompt("edit sums.py a - b => a + b")
    await stage.ask("_hermes/session/rewind", turns=1, preview=True)
    await stage.ask("_hermes/session/rewind", turns=1)
    await stage.refused("_hermes/session/rewind", {"sessionId": stage.session, "turns": 0})


@scenario
async def set_mode(stage: Stage) -> None:
    """A mode set either way is told both ways; one that does not exist is refused."""
    await stage.begin()
    await stage.choose("session/set_mode", modeId="accept_edits")
    await stage.choose("session/set_config_option", "current_mode_update", configId="mode", value="dont_ask")
    await stage.refused("session/set_mode", {"sessionId": stage.session, "modeId": "yolo"})
    choice = {"sessionId": stage.session, "configId": "speed", "value": "fast"}
    await stage.refused("session/set_config_option", choice)


@scenario
async def mode_is_kept(stage: Stage) -> None:
    """A chosen mode comes back with the session."""
    await stage.begin()
    await stage.choose("session/set_mode", modeId="accept_edits")
    await stage.prompt("say one")
    await stage.reconnect()
    await stage.agent.request("session/load", _place(stage))


@scenario
async def attachments(stage: Stage) -> None:
    """A picture, a file's text and a link in a prompt; loaded again, they are all there."""
    await stage.begin()
    picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    note = {"uri": f"file://{stage.workspace}/README.md", "text": "# Sums\n", "mimeType": "text/markdown"}
    blocks = [
        {"type": "text", "text": "say I see."},
        {"type": "image", "mimeType": "image/png", "data": picture},
        {"type": "resource", "resource": note},
        {"type": "resource_link", "name": "sums.py", "uri": f"file://{stage.workspace}/sums.py"},
    ]
    await stage.agent.prompt(stage.session, blocks)
    await stage.reconnect()
    await stage.agent.request("session/load", _place(stage))


@scenario
async def unknown_slash(stage: Stage) -> None:
    """What looks like a command and is none goes to the model."""
    await stage.begin()
    await stage.prompt("/nonsense", "say The model has it.")
