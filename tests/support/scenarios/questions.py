"""Permission questions and every kind of answer to them."""

from __future__ import annotations

import asyncio

from tests.support.editor_policies import after, allow, choose, dismiss, in_turn, never, pick, reject, rubbish
from tests.support.scenarios.scenario import Scenarios
from tests.support.scenarios.stage import Stage

scenario = Scenarios()


@scenario
async def edit_allowed(stage: Stage) -> None:
    """An edit is shown as a diff on its own card, then made."""
    await stage.begin()
    await stage.prompt("edit sums.py a - b => a + b", "say Done.")


@scenario
async def new_file_allowed(stage: Stage) -> None:
    """A new file is a diff without an old text."""
    await stage.begin()
    await stage.prompt("write notes.txt first\\nsecond\\n")


@scenario
async def edit_rejected(stage: Stage) -> None:
    """A rejected edit goes from pending to failed, and the turn goes on."""
    await stage.begin()
    stage.agent.on_permission = reject
    await stage.prompt("edit sums.py a - b => a + b", "say Then not.")


@scenario
async def edit_always_allowed(stage: Stage) -> None:
    """A yes for the session covers the same file, and no other."""
    await stage.begin()
    stage.agent.on_permission = choose("allow_always")
    await stage.prompt("edit sums.py a - b => a + b", "edit sums.py a + b => b + a", "edit README.md small => tiny")


@scenario
async def edits_in_a_directory_allowed(stage: Stage) -> None:
    """A yes for a directory covers the files in it and below, and no others."""
    await stage.begin()
    stage.agent.on_permission = in_turn(pick("allow_directory", "allow_session"), reject)
    await stage.prompt(
        "edit tests/test_sums.py 4 => 0",
        "write tests/more/test_new.py new\\n",
        "edit sums.py a - b => a + b",
        "say So.",
    )


@scenario
async def edit_always_rejected(stage: Stage) -> None:
    """A no for the session is not asked again for the same file."""
    await stage.begin()
    stage.agent.on_permission = in_turn(choose("reject_always"), allow)
    await stage.prompt("edit sums.py a - b => a + b", "edit sums.py a - b => b - a", "edit README.md small => tiny")


@scenario
async def rejected_with_reason(stage: Stage) -> None:
    """Who has forms can tell why not; the model is told."""
    await stage.begin()
    stage.fill({"reason": "Write it into the tests."})
    stage.agent.on_permission = pick("reject_why", "reject_once")
    await stage.prompt("edit sums.py a - b => a + b", "say I understand.")


@scenario
async def commands_like_it_allowed(stage: Stage) -> None:
    """A yes for commands that begin alike covers those, and no others; one for this command covers it alone."""
    stage.settings(approvals={"mode": "all"})
    await stage.begin()
    stage.agent.on_permission = in_turn(pick("allow_prefix", "allow_session"), pick("allow_session"), reject)
    copies = ("run cp sums.py a.py", "run cp sums.py b.py")
    await stage.prompt(*copies, "run rm -f a.py", "run rm -f a.py", "run rm -f b.py", "say So.")


@scenario
async def parallel_with_one_denied(stage: Stage) -> None:
    """Several calls in one answer, of which one is denied: each card ends in its own way."""
    await stage.begin()
    stage.agent.on_permission = reject
    # Commands wait for each other and for the rest, so that their ends have an order.
    await stage.prompt("parallel", "read sums.py", "run rm -r tests", "run echo still", "end", "say So.")


@scenario
async def question_dismissed(stage: Stage) -> None:
    """A question that the editor closes means no; the turn goes on."""
    await stage.begin()
    stage.agent.on_permission = dismiss
    await stage.prompt("edit sums.py a - b => a + b", "say Then not.")


@scenario
async def rubbish_answer(stage: Stage) -> None:
    """An answer that is none means no."""
    await stage.begin()
    stage.agent.on_permission = rubbish()
    await stage.prompt("edit sums.py a - b => a + b", "say Then not.")


@scenario
async def answered_twice(stage: Stage) -> None:
    """The second answer to a question changes nothing."""
    await stage.begin()
    stage.agent.answer_twice = True
    await stage.prompt("edit sums.py a - b => a + b")


@scenario
async def risky_command_allowed(stage: Stage) -> None:
    """A risky command is asked for with its text and the reason."""
    await stage.begin()
    await stage.prompt("run rm -r tests")


@scenario
async def risky_command_rejected(stage: Stage) -> None:
    """A rejected command never runs."""
    await stage.begin()
    stage.agent.on_permission = reject
    await stage.prompt("run rm -r tests", "say Then not.")


@scenario
async def outside_the_workspace(stage: Stage) -> None:
    """A file outside the session's directories is asked for, to read it too."""
    await stage.begin()
    (stage.outside / "note.txt").write_text("outside\n", encoding="utf-8")
    await stage.prompt("read ../outside/note.txt")


@scenario
async def cancelled_question(stage: Stage) -> None:
    """A cancel while a question is open: the question ends, the card fails, the turn is cancelled."""
    await stage.begin()
    stage.agent.on_permission = never
    turn = stage.begin_prompt("edit sums.py a - b => a + b", "say never")
    await stage.until_asked()
    stage.agent.cancel(stage.session)
    await stage.agent.answer(turn)


@scenario
async def late_answer(stage: Stage) -> None:
    """A yes that comes after the cancel has no effect."""
    await stage.begin()
    late = asyncio.Event()
    stage.agent.answers_on_cancel = False
    stage.agent.on_permission = after(late)
    turn = stage.begin_prompt("edit sums.py a - b => a + b")
    await stage.until_asked()
    stage.agent.cancel(stage.session)
    await stage.agent.answer(turn)
    late.set()
    await stage.prompt("say still here")


@scenario
async def mode_changed_while_asking(stage: Stage) -> None:
    """A mode that is chosen while a question is open and would not ask it answers it; the question is withdrawn."""
    await stage.begin()

    async def decide(_: dict[str, object]) -> None:
        await stage.choose("session/set_mode", modeId="accept_edits")

    stage.agent.on_permission = decide
    await stage.prompt("edit sums.py a - b => a + b", "edit sums.py a + b => b + a")
