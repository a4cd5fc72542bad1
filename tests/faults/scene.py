"""A kind of work in which the agent is killed, and what has to hold then."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tests.faults.stage import Stage
from tests.support.editor import Editor
from tests.support.merged_view import MergedView

Act = Callable[[Stage, Editor], Awaitable[None]]


async def nothing(stage: Stage, agent: Editor) -> None:
    """Nothing is done."""


def as_it_is(stage: Stage, view: MergedView) -> None:
    """Nothing more is looked at."""


def no_arguments(stage: Stage) -> tuple[str, ...]:
    return ()


def as_made(stage: Stage) -> None:
    """The home is as it is made."""


@dataclass(frozen=True, slots=True)
class Scene:
    """One kind of work.

    Attributes:
        act: what is done while the fault may strike.
        before: what is done first, without faults; the session is open then.
        shown: a look at what is shown when the session is loaded again.
        greeted: what is done first with the agent that was started again.
        holds: a look at the agent that was started again, before its next prompt.
        settled: a look after that prompt, at what may take a while.
        prepare: makes the home.
        arguments: of the agent.
        at_start: the fault may strike from the process's first moment; `act` opens the session.
    """

    act: Act
    before: Act = nothing
    shown: Callable[[Stage, MergedView], None] = as_it_is
    greeted: Act = nothing
    holds: Act = nothing
    settled: Act = nothing
    prepare: Callable[[Stage], None] = as_made
    arguments: Callable[[Stage], tuple[str, ...]] = no_arguments
    at_start: bool = False


def says(prompt: str) -> Act:
    """One prompt."""

    async def act(stage: Stage, agent: Editor) -> None:
        await stage.say(agent, prompt)

    return act
