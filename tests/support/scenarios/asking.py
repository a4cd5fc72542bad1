"""Questions of the model to the person: by form where the editor has forms, as text where it has none."""

from __future__ import annotations

from tests.support.scenarios.scenario import Scenarios
from tests.support.scenarios.stage import Stage

scenario = Scenarios()

_ASK = 'call clarify {"question": "Which database?", "choices": ["SQLite", "Postgres"]}'


@scenario
async def clarify_answered(stage: Stage) -> None:
    """A form waits for its answer; a question as text is answered by the next prompt."""
    await stage.begin()
    stage.fill({"answer": "SQLite"})
    await stage.prompt(_ASK, "say Thank you.")


@scenario.only("zed")
async def clarify_in_own_words(stage: Stage) -> None:
    """A form has room for an answer that is none of the choices."""
    await stage.begin()
    stage.fill({"answer_other": "Plain files will do."})
    await stage.prompt(_ASK, "say Thank you.")


@scenario.only("zed")
async def clarify_declined(stage: Stage) -> None:
    """Who does not want to answer is not asked again; the turn goes on."""
    await stage.begin()
    stage.fill(None)
    await stage.prompt(_ASK, "say I take SQLite.")


@scenario
async def clarify_wants_a_secret(stage: Stage) -> None:
    """A model that asks for a password is refused: nobody is asked."""
    await stage.begin()
    await stage.prompt('call clarify {"question": "Please enter your API key."}', "say Then not.")
