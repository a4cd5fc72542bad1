"""Tool calls as cards: each tool, each way to end."""

from __future__ import annotations

from tests.support.scenarios.scenario import Scenarios
from tests.support.scenarios.stage import Stage

scenario = Scenarios()


@scenario
async def read_a_file(stage: Stage) -> None:
    """Reading in the workspace asks nobody."""
    await stage.begin()
    await stage.prompt("read sums.py")


@scenario
async def read_nothing(stage: Stage) -> None:
    """A file that is not there: the card fails, the turn goes on."""
    await stage.begin()
    await stage.prompt("read nowhere.py", "say Not there.")


@scenario
async def search(stage: Stage) -> None:
    """A search of the workspace."""
    await stage.begin()
    await stage.prompt("search def add")


@scenario
async def edit_in_accept_edits(stage: Stage) -> None:
    """In the mode accept_edits an edit is not asked for; its diff is on the card when it is done."""
    await stage.begin()
    await stage.choose("session/set_mode", modeId="accept_edits")
    await stage.prompt("edit sums.py a - b => a + b")


@scenario
async def edit_that_does_not_fit(stage: Stage) -> None:
    """An edit of text that is not in the file fails and asks nobody."""
    await stage.begin()
    await stage.prompt("edit sums.py a * b => a + b", "say It does not fit.")


@scenario
async def command(stage: Stage) -> None:
    """A harmless command: live in the editor's way, with its exit code."""
    await stage.begin()
    await stage.prompt("run echo checked")


@scenario
async def failing_command(stage: Stage) -> None:
    """A command that fails is failed, with what it printed."""
    await stage.begin()
    await stage.prompt("run echo broken; exit 3", "say It failed.")


@scenario
async def no_match(stage: Stage) -> None:
    """An exit code that is an answer is no failure."""
    await stage.begin()
    await stage.prompt("run grep -n zebra sums.py", "say No match.")


@scenario
async def killed_command(stage: Stage) -> None:
    """A command that a signal ends is failed."""
    await stage.begin()
    await stage.prompt("run echo before; kill -9 $$", "say It died.")


@scenario
async def long_output(stage: Stage) -> None:
    """Output without end is shown in part, and says how much there is."""
    await stage.begin()
    await stage.prompt("run seq 1 20000", "say Long.")


@scenario
async def plan(stage: Stage) -> None:
    """A plan is always sent whole, with its entries' status."""
    await stage.begin()
    await stage.prompt(
        "todo Read it; Mend it; Test it",
        'call todo {"merge": true, "todos": [{"id": "1", "content": "Read it", "status": "completed"},'
        ' {"id": "2", "content": "Mend it", "status": "in_progress"}]}',
        "say Planned.",
    )


@scenario
async def parallel_reads(stage: Stage) -> None:
    """Several calls in one answer: all are announced first, and each card ends."""
    await stage.begin()
    # One of them waits for the other, so that their ends have an order.
    await stage.prompt("parallel", "read sums.py", "run echo second", "end", "say Both.")


@scenario
async def unknown_tool(stage: Stage) -> None:
    """A tool that there is not: a failed card, and the model is told."""
    await stage.begin()
    await stage.prompt('call fly {"to": "the moon"}', "say No.")


@scenario
async def bad_arguments(stage: Stage) -> None:
    """Arguments that are no JSON, or not what the tool takes, fail on the card."""
    await stage.begin()
    await stage.prompt("call read_file {not json", 'call read_file {"path": 7}', "say No.")
