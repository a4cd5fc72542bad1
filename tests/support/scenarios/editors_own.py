"""The editor's own files and terminals, where it offers them."""

from __future__ import annotations

from typing import Any

from tests.support.editor_host import RpcError
from tests.support.scenarios.scenario import Scenarios
from tests.support.scenarios.stage import Stage

scenario = Scenarios()


@scenario
async def unsaved_buffer(stage: Stage) -> None:
    """What is in the editor and not saved is what is read, asked about and changed; without the editor it is the disk."""
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
async def editor_refuses_to_write(stage: Stage) -> None:
    """An editor that cannot write a file."""
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
async def editor_terminal(stage: Stage) -> None:
    """Chosen where it is offered as a switch: commands run in the editor's terminal, which is alone on the card."""
    await stage.begin()
    if stage.offers("editor_terminals"):
        await stage.ask("session/set_config_option", configId="editor_terminals", type="boolean", value=True)
    await stage.prompt("run echo checked", "run echo broken; exit 3", "say Done.")


@scenario
async def editor_terminal_refused(stage: Stage) -> None:
    """An editor that makes no terminal after all: the command runs without it."""
    await stage.begin()

    async def refuse(_: dict[str, Any]) -> Any:
        raise RpcError(-32603, "No terminals today.")

    stage.agent.handlers["terminal/create"] = refuse
    if stage.offers("editor_terminals"):
        await stage.ask("session/set_config_option", configId="editor_terminals", type="boolean", value=True)
    await stage.prompt("run echo checked", "say Done.")


@scenario
async def editor_terminal_cancelled(stage: Stage) -> None:
    """A cancel ends the command in the editor's terminal, and gives the terminal back."""
    await stage.begin()
    if stage.offers("editor_terminals"):
        await stage.ask("session/set_config_option", configId="editor_terminals", type="boolean", value=True)
    turn = stage.begin_prompt("run touch started; echo so far; sleep 60", "say never")
    await stage.until_there("started")
    stage.agent.cancel(stage.session)
    await stage.agent.answer(turn)
