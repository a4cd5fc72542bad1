"""The mode and the options that the person chooses for a session."""

from __future__ import annotations

from typing import Any

from tests.model.lived import MODES, Lived, Mode
from tests.model.process import PATIENCE
from tests.model.world import World


async def mode(world: World, session: Lived) -> None:
    """Another mode, by either of the two methods."""
    chosen = world.chance.choice(MODES)
    if world.chance.random() < 0.5:
        await choose_mode(world, session, chosen)
        return
    session.mode = chosen
    world.did(f"mode: {session.mode} in {session.id}")
    await _option(world, session, "mode", value=session.mode)


async def choose_mode(world: World, session: Lived, chosen: Mode) -> None:
    """session/set_mode."""
    session.mode = chosen
    world.did(f"mode: {session.mode} in {session.id}")
    await world.agent.request("session/set_mode", {"sessionId": session.id, "modeId": chosen}, PATIENCE)


async def edits(world: World, session: Lived) -> None:
    """The option that shows every edit first."""
    session.edits = world.chance.choice(("mode", "ask"))
    world.did(f"edits: {session.edits} in {session.id}")
    await _option(world, session, "edits", value=session.edits)


async def terminals(world: World, session: Lived) -> None:
    """Whether commands run in the editor's own terminals; it need not be offered to be chosen."""
    session.terminals = world.chance.random() < 0.5
    world.did(f"terminals: {session.terminals} in {session.id}")
    await _option(world, session, "editor_terminals", type="boolean", value=session.terminals)


async def model(world: World, session: Lived) -> None:
    """One of the models that the server offers by now."""
    chosen = {"sessionId": session.id, "configId": "model", "value": session.model}
    answer = await world.agent.request("session/set_config_option", chosen, PATIENCE)
    (offered,) = (option["options"] for option in answer["configOptions"] if option["id"] == "model")
    session.model = world.chance.choice([each["value"] for group in offered for each in group["options"]])
    world.did(f"model: {session.model} in {session.id}")
    await _option(world, session, "model", value=session.model)


def check_choices(session: Lived, answer: dict[str, Any]) -> None:
    """Mode and options are as they were left."""
    if "modes" in answer:
        told = answer["modes"]["currentModeId"]
        assert told == session.mode, f"{session.id} is in mode {told}, not {session.mode}"
    options = {option["id"]: option.get("currentValue") for option in answer["configOptions"]}
    wanted: dict[str, Any] = {"mode": session.mode, "edits": session.edits, "model": session.model}
    if "editor_terminals" in options:
        wanted["editor_terminals"] = session.terminals
    assert wanted.items() <= options.items(), f"options of {session.id}: {options}, wanted {wanted}"


async def _option(world: World, session: Lived, name: str, **value: Any) -> None:
    chosen = {"sessionId": session.id, "configId": name, **value}
    check_choices(session, await world.agent.request("session/set_config_option", chosen, PATIENCE))
