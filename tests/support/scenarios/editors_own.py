"""The editor's own files and terminals, where it offers them."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.support.editor_host import RpcError
from tests.support.scenarios.scenario import Scenarios
from tests.support.scenarios.stage import Stage

scenario = Scenarios()


@scenario
async def unsaved_buffer(stage: Stage) -> None:
    """What the editor has not saved is what is read, asked about and changed; others see the disk."""
    await stage.begin()
    stage.agent.host.buffers[str(stage.workspace / "sums.py")] = "def add(a, b):\n    return a - b  # unsaved\n"
    await stage.prompt("read sums.py", "edit sums.py a - b => a + b", "say Done.")


@scenario
async def formatted_on_save(stage: Stage) -> None:
    """An editor that formats what it saves: the card shows what is in the file then."""
    await stage.begin()
    stage.agent.host.files.on_save = lambda text: text.replace("a+b", "a + b")
    await stage.prompt("edit sums.py a - b => a+b", "say Done.")


@scenario
async def editor_cannot_write(stage: Stage) -> None:
    """An editor that cannot write a file: it is written to the disk, and the card says so."""
    await stage.begin()

    async def fail(_: dict[str, Any]) -> Any:
        raise RpcError(-32603, "Internal error", {"details": "No such buffer."})

    stage.agent.handlers["fs/write_text_file"] = fail
    await stage.prompt("edit sums.py a - b => a + b", "say Then.")


@scenario
async def editor_refuses_to_write(stage: Stage) -> None:
    """An editor that does not want a file to be written: nothing is, on the disk neither."""
    await stage.begin()

    async def refuse(_: dict[str, Any]) -> Any:
        raise RpcError(-32603, "The buffer is read-only.")

    stage.agent.handlers["fs/write_text_file"] = refuse
    await stage.prompt("edit sums.py a - b => a + b", "say Then.")


@scenario
async def editor_refuses_to_read(stage: Stage) -> None:
    """A file that the editor cannot read is read from the disk."""
    await stage.begin()

    async def refuse(_: dict[str, Any]) -> Any:
        raise RpcError(-32603, "Too large for this editor.")

    stage.agent.handlers["fs/read_text_file"] = refuse
    await stage.prompt("read sums.py", "say Read.")


@scenario
async def undo_beside_unsaved_text(stage: Stage) -> None:
    """A file that is not saved in the editor is left out of an undo; others know nothing of what is not saved."""
    await stage.begin()
    await stage.prompt("edit sums.py a - b => a + b", "write new.txt new")
    stage.agent.host.buffers[str(stage.workspace / "sums.py")] = "typed\n"
    await stage.prompt("/undo")


@scenario
async def editor_terminal(stage: Stage) -> None:
    """Chosen where it is offered as a switch: commands run in the editor's terminal, which is alone on the card."""
    await stage.begin()
    await _choose_terminals(stage)
    await stage.prompt("run echo checked", "run echo broken; exit 3", "say Done.")


@scenario.only("plain", "jetbrains")
async def editor_terminal_by_settings(stage: Stage) -> None:
    """Chosen in the settings, for an editor that shows no switches; one without terminals is not asked for any."""
    stage.settings(editor={"terminals": True})
    await stage.begin()
    await stage.prompt("run echo checked", "say Done.")


@scenario
async def editor_terminal_refused(stage: Stage) -> None:
    """An editor that makes no terminal after all: the command runs without it."""
    await stage.begin()

    async def refuse(_: dict[str, Any]) -> Any:
        raise RpcError(-32603, "No terminals today.")

    stage.agent.handlers["terminal/create"] = refuse
    await _choose_terminals(stage)
    await stage.prompt("run echo checked", "say Done.")


@scenario.only("zed", "jetbrains")
async def editor_terminal_cancelled(stage: Stage) -> None:
    """A cancel ends the command in the editor's terminal, and gives the terminal back."""
    stage.settings(editor={"terminals": True})
    await stage.begin()
    waits = 0

    async def wait(params: dict[str, Any]) -> Any:
        nonlocal waits
        waits += 1
        if waits == 1:  # it is withdrawn; two answers at once would have no order
            await asyncio.Event().wait()
        return await stage.agent.host.wait_for_exit(params)

    stage.agent.handlers["terminal/wait_for_exit"] = wait
    turn = stage.begin_prompt("run echo so far; touch started; sleep 60", "say never")
    await stage.agent.wait_for_call("terminal/wait_for_exit")
    await stage.until_there("started")
    stage.agent.cancel(stage.session)
    await stage.agent.answer(turn)


async def _choose_terminals(stage: Stage) -> None:
    """Where the editor is offered the choice."""
    if stage.offers("editor_terminals"):
        await stage.ask("session/set_config_option", configId="editor_terminals", type="boolean", value=True)
