"""What a person types as a command."""

from __future__ import annotations

from tests.support.editor_profiles import PROFILES
from tests.support.model_server import Recorded, Reply
from tests.support.scenarios.scenario import Scenarios
from tests.support.scenarios.stage import Stage

scenario = Scenarios()

_LONG = "lorem ipsum dolor sit amet " * 200
_SUMMED_UP = "### Done\nThe tasks were looked at one by one.\n### Next\nThe port is still to be changed."

_EXPLAIN = """\
---
description: Say a thing twice
argument-hint: what
---
say $1 and $1, as in: $ARGUMENTS
"""


@scenario
async def command_help(stage: Stage) -> None:
    """/help has every command, the person's own too."""
    stage.write(".hermes/commands/twice.md", _EXPLAIN)
    await stage.begin()
    await stage.prompt("/help")


@scenario
async def command_looks(stage: Stage) -> None:
    """Commands that only look: the tools, the window, the cost, the servers, the version."""
    await stage.begin()
    for name in ("tools", "context", "cost", "mcp", "version"):
        await stage.prompt(f"/{name}")


@scenario
async def command_model(stage: Stage) -> None:
    """/model shows what there is; one that does not exist changes nothing."""
    await stage.begin()
    await stage.prompt("/model")
    await stage.prompt("/model offline")
    await stage.prompt("/model deep-thought")


@scenario
async def command_mode(stage: Stage) -> None:
    """/mode shows and changes the mode: by a part of its name, if only one has it."""
    await stage.begin()
    await stage.prompt("/mode")
    await stage.prompt("/mode accept")
    await stage.prompt("edit sums.py a - b => a + b")
    await stage.prompt("/mode edits")


@scenario
async def command_title(stage: Stage) -> None:
    """/title gives the session a name that no later prompt changes."""
    await stage.begin()
    await stage.prompt("/title")
    await stage.prompt("say one")
    await stage.prompt("/title The sums")
    await stage.prompt("say two")
    await stage.agent.request("session/list", {})


@scenario
async def command_reset(stage: Stage) -> None:
    """/reset lets the model begin anew; the conversation stays in view, and comes back with /undo."""
    await stage.begin()
    await stage.prompt("/reset")
    await stage.prompt("todo Read it; Mend it", "say one")
    await stage.prompt("/reset")
    await stage.prompt("say two")
    await stage.reconnect()
    await stage.load()


@scenario
async def command_compact(stage: Stage) -> None:
    """/compact compresses: told with an update to who shows compactions, else in words; loaded again likewise."""
    stage.model(default=_answered)
    session = PROFILES[stage.profile].get("session", {})
    await stage.greet(session={**session, "compaction": {}})
    await stage.open()
    await stage.prompt("/compact")
    for number in range(3):
        await stage.prompt(f"Task {number}: {_LONG}")
    await stage.prompt("/compact the port")
    await stage.reconnect()
    await stage.load()


def _answered(request: Recorded) -> Reply:
    return Reply("It is done.") if b'"tools"' in request.raw else Reply(_SUMMED_UP)


@scenario
async def command_fork(stage: Stage) -> None:
    """/fork copies the conversation; the person stays, and finds the copy in the list."""
    await stage.begin()
    await stage.prompt("say one")
    await stage.prompt("/fork")
    await stage.prompt("say two")
    await stage.agent.request("session/list", {})


@scenario
async def command_export(stage: Stage) -> None:
    """/export writes the conversation into a file of the home, in the form that is named."""
    await stage.begin()
    await stage.prompt("say one")
    await stage.prompt("/export md")
    await stage.prompt("/export odt")


@scenario
async def command_init(stage: Stage) -> None:
    """/init goes to the model, with what to mind; the person sees what they typed."""
    await stage.begin()
    await stage.prompt("/init say I study the project.")
    await stage.reconnect()
    await stage.load()


@scenario
async def command_of_the_project(stage: Stage) -> None:
    """A command of the project is offered with the others; its text is the prompt, with what was typed."""
    stage.write(".hermes/commands/twice.md", _EXPLAIN)
    await stage.begin()
    await stage.prompt('/twice "good day" everybody')


@scenario.whole_for("plain")
async def command_offered_anew(stage: Stage) -> None:
    """A command that comes while the session is open is offered with the next prompt."""
    await stage.begin()
    stage.write(".hermes/commands/twice.md", _EXPLAIN)
    await stage.prompt("/twice day")


@scenario
async def command_slip(stage: Stage) -> None:
    """What is nearly a command is asked about; nothing is done, and the model is not asked."""
    await stage.begin()
    await stage.prompt("/verson")


@scenario
async def command_with_an_attachment(stage: Stage) -> None:
    """What is attached to a command that takes none is said not to be used."""
    await stage.begin()
    await stage.agent.prompt(
        stage.session,
        [
            {"type": "text", "text": "/version"},
            {"type": "resource_link", "name": "sums.py", "uri": f"file://{stage.workspace}/sums.py"},
        ],
    )
