"""What comes with a prompt: files, directories and other things that it links to, pictures, sounds."""

from __future__ import annotations

from typing import Any

from tests.support.editor_policies import reject
from tests.support.scenarios.scenario import Scenarios
from tests.support.scenarios.stage import Stage

scenario = Scenarios()


def _link(uri: str, name: str) -> dict[str, Any]:
    return {"type": "resource_link", "name": name, "uri": uri}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


@scenario
async def linked_lines(stage: Stage) -> None:
    """A link to lines of a file: those are read, on a card of their own."""
    await stage.begin()
    uri = f"file://{stage.workspace}/sums.py#L2-2"
    await stage.agent.prompt(stage.session, [_text("say I see."), _link(uri, "sums.py")])


@scenario
async def linked_directory(stage: Stage) -> None:
    """A linked directory is listed."""
    await stage.begin()
    link = _link(f"file://{stage.workspace}", "workspace")
    await stage.agent.prompt(stage.session, [_text("say I see."), link])


@scenario
async def linked_unsaved(stage: Stage) -> None:
    """A linked file is what the editor shows, saved or not."""
    await stage.begin()
    stage.agent.host.buffers[str(stage.workspace / "sums.py")] = "def add(a, b): ...  # unsaved\n"
    link = _link(f"file://{stage.workspace}/sums.py", "sums.py")
    await stage.agent.prompt(stage.session, [_text("say I see."), link])


@scenario
async def linked_outside(stage: Stage) -> None:
    """A link that leads out of the session's directories is asked for; the turn goes on whatever the answer."""
    (stage.outside / "note.txt").write_text("outside\n", encoding="utf-8")
    await stage.begin()
    link = _link(f"file://{stage.outside}/note.txt", "note.txt")
    await stage.agent.prompt(stage.session, [_text("say I see."), link])
    stage.agent.on_permission = reject
    await stage.agent.prompt(stage.session, [_text("say Then not."), link])


@scenario
async def linked_nowhere(stage: Stage) -> None:
    """Links to what is not there, or not read: each is said to the model, and the turn goes on."""
    await stage.begin()
    links = [
        _link(f"file://{stage.workspace}/gone.py", "gone.py"),
        _link("https://example.org/page", "page"),
        _link("zed:///agent/thread/1", "thread"),
    ]
    await stage.agent.prompt(stage.session, [_text("say I cannot see."), *links])


@scenario
async def sound(stage: Stage) -> None:
    """A recording for a model that does not hear: it is told so, and the recording is there when loaded again."""
    await stage.begin()
    recording = {"type": "audio", "mimeType": "audio/wav", "data": "UklGRiQAAABXQVZFZm10IBAAAAABAAEA"}
    await stage.agent.prompt(stage.session, [_text("say I cannot hear."), recording])
    await stage.reconnect()
    await stage.load()


@scenario
async def broken_picture(stage: Stage) -> None:
    """Data that is no base64 is refused, and nothing of the prompt is run."""
    await stage.begin()
    picture = {"type": "image", "mimeType": "image/png", "data": "*not base64*"}
    prompt = [_text("say I see."), picture]
    await stage.refused("session/prompt", {"sessionId": stage.session, "prompt": prompt})
