"""What the person chooses for a session."""

from __future__ import annotations

from typing import Any

from agent_core.home import Home
from agent_core.providers.available_models import ModelLists, OfferedModel
from tests.support.model_server import Reply
from tests.support.scenarios.scenario import Scenarios
from tests.support.scenarios.stage import Stage

scenario = Scenarios()


def _two_providers(stage: Stage) -> None:
    """One whose model can think more or less, and a server of the person's own; both lists are known already."""
    openai, own = stage.server(Reply("From openai.")), stage.server(Reply("From our own."))
    stage.settings(
        model={"provider": "openai", "default": "gpt-5.2"},
        providers={
            "openai": {"base_url": openai.base_url, "api_key": "k", "api_mode": "chat_completions"},
            "own": {"base_url": own.base_url, "model": "first"},
        },
    )
    known = {f"openai {openai.base_url}": (), f"own {own.base_url}": (OfferedModel("second"),)}
    ModelLists(Home(stage.home)).learned(known)
    stage.use_own_settings()


async def _set(stage: Stage, name: str, value: Any) -> None:
    kind = {"type": "boolean"} if isinstance(value, bool) else {}
    await stage.ask("session/set_config_option", configId=name, value=value, **kind)


@scenario.whole_for("zed")
async def options_with_models(stage: Stage) -> None:
    """The models of every provider, by provider, and how much the model thinks, where it can be chosen."""
    _two_providers(stage)
    await stage.begin()


@scenario
async def option_model(stage: Stage) -> None:
    """The next request goes to the chosen model; a model that does not exist changes nothing."""
    _two_providers(stage)
    await stage.begin()
    await stage.prompt("Who are you?")
    await _set(stage, "model", "own:second")
    await stage.prompt("And now?")
    choice = {"sessionId": stage.session, "configId": "model", "value": "nobody:nothing"}
    await stage.refused("session/set_config_option", choice)


@scenario
async def option_effort(stage: Stage) -> None:
    """How much a model thinks is an option of those that can; it goes with the model."""
    _two_providers(stage)
    await stage.begin()
    await _set(stage, "thought_level", "high")
    await _set(stage, "model", "own:first")
    choice = {"sessionId": stage.session, "configId": "thought_level", "value": "high"}
    await stage.refused("session/set_config_option", choice)


@scenario
async def option_edits(stage: Stage) -> None:
    """Every edit shown first, in a mode that would not ask."""
    await stage.begin()
    await stage.choose("session/set_mode", modeId="accept_edits")
    await _set(stage, "edits", "ask")
    await stage.prompt("edit sums.py a - b => a + b")


@scenario
async def option_thoughts(stage: Stage) -> None:
    """A switch, for clients that show switches: without it, no reasoning is sent."""
    await stage.begin()
    if stage.offers("thoughts"):
        await _set(stage, "thoughts", False)
    await stage.prompt("think It is a greeting.", "say Hello.")


@scenario
async def options_are_kept(stage: Stage) -> None:
    """What was chosen comes back with the session."""
    _two_providers(stage)
    await stage.begin()
    await _set(stage, "thought_level", "low")
    await _set(stage, "edits", "ask")
    if stage.offers("thoughts"):
        await _set(stage, "thoughts", False)
    await stage.prompt("Who are you?")
    await stage.reconnect()
    await stage.load()
