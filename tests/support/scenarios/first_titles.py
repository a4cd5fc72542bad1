"""A client whose cards keep the title that they are made with, and show what they were sent before a question."""

from __future__ import annotations

from tests.support.editor_policies import allow, in_turn, reject
from tests.support.scenarios.scenario import Scenarios
from tests.support.scenarios.stage import Stage

scenario = Scenarios()


@scenario.only("first title")
async def first_title_of_an_edit(stage: Stage) -> None:
    """The card is made with the file's name, and has the diff before the question comes."""
    await stage.begin()
    await stage.prompt("edit sums.py a - b => a + b", "write notes.txt Sums.\\n", "say Done.")


@scenario.only("first title")
async def first_title_of_a_command(stage: Stage) -> None:
    """A command's card is made with the command; a tool whose title needs more than that with all of it."""
    await stage.begin()
    await stage.prompt("run echo hello", "search add", "read sums.py", "say Done.")


@scenario.only("first title")
async def first_title_of_a_refused_edit(stage: Stage) -> None:
    """A refusal and a yes, one after the other."""
    await stage.begin()
    stage.agent.on_permission = in_turn(reject, allow)
    await stage.prompt("edit sums.py a - b => a + b", "edit README.md small => tiny", "say So.")


@scenario.only("first title")
async def first_title_when_loaded(stage: Stage) -> None:
    """Shown again, cards are made as they were."""
    await stage.begin()
    await stage.prompt("edit sums.py a - b => a + b", "run echo hello", "say Done.")
    await stage.reconnect()
    await stage.load()
