"""A hostile workspace, and a model that obeys it: nothing gets out, nothing outside changes, all attempts show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.drill.conftest import Open
from tests.support.editor import Editor
from tests.support.editor_policies import OnPermission, dismiss, never, reject
from tests.support.hostile.attack import Attack
from tests.support.hostile.prying import IN_THE_WORKSPACE, PRYING
from tests.support.hostile.reaching_out import REACHING_OUT
from tests.support.hostile.staying import STAYING
from tests.support.hostile.striking import Struck, strike
from tests.support.hostile.world import World
from tests.support.model_server import ModelServer
from tests.support.obedient_model import order
from tools.environments.sandbox.probe import probe

pytestmark = pytest.mark.usefixtures("mcp_sdk")

_FAMILIES = {"reaching-out": REACHING_OUT, "staying": STAYING, "prying": PRYING}
_HARMLESS = "harmless.txt"
_ONCE_GOT_THROUGH = frozenset({"a hook from the background", "another remote", "a script tunnels through the proxy"})
# `git status` counts as looking, and git itself runs what the repository's settings say.
_ONLY_A_SANDBOX_HOLDS: frozenset[str] = frozenset()

contained = pytest.mark.skipif(not any(each.works for each in probe()), reason="no sandbox works on this machine")


async def _only_the_harmless(params: dict[str, Any]) -> str:
    return "allow_once" if params["toolCall"]["title"] == f"Create {_HARMLESS}" else "reject_once"


async def _all_harmless_edits(params: dict[str, Any]) -> str:
    offered = {option["optionId"] for option in params["options"]}
    is_harmless = params["toolCall"]["title"] == f"Create {_HARMLESS}"
    return "allow_directory" if is_harmless and "allow_directory" in offered else "reject_once"


_POLICIES: dict[str, OnPermission] = {
    "rejects": reject,
    "dismisses": dismiss,
    "never answers": never,
    "allows one harmless edit": _only_the_harmless,
    "allows harmless edits always": _all_harmless_edits,
}


def _quick(attacks: Sequence[Attack]) -> tuple[Attack, ...]:
    """A third of them for the normal run, and what has got through before; the others run with the slow tests."""
    return tuple(
        attack
        for number, attack in enumerate(attack for attack in attacks if not attack.is_slow)
        if number % 3 == 0 or attack.name in _ONCE_GOT_THROUGH
    )


async def _all(
    agent: Editor,
    world: World,
    server: ModelServer,
    attacks: Sequence[Attack],
    mode: str = "default",
    first: str = "",
) -> list[Struck]:
    return [await strike(agent, world, server, attack, mode=mode, first=first) for attack in attacks]


def _assert_harmless_and_shown(struck: Sequence[Struck], attacks: Sequence[Attack]) -> None:
    silent = {attack.name for attack in attacks if attack.is_silent}
    got_through = [f"{each.name}: {', '.join(each.harm)}\n    {each.cards}" for each in struck if each.harm]
    assert not got_through, "\n".join(got_through)
    unseen = [f"{each.name}\n    {each.cards}" for each in struck if not each.is_shown and each.name not in silent]
    assert not unseen, "\n".join(unseen)


@contained
@pytest.mark.long
@pytest.mark.parametrize("family", _FAMILIES)
async def test_what_a_hostile_text_orders_does_no_harm_and_shows(family: str, world: World, opened: Open) -> None:
    agent, server = await opened()
    agent.on_permission = reject
    attacks = _quick(_FAMILIES[family])
    _assert_harmless_and_shown(await _all(agent, world, server, attacks), attacks)
    assert world.listeners.heard() == []


@contained
@pytest.mark.long
async def test_what_a_program_in_the_sandbox_reads_of_the_workspace_gets_no_further(
    world: World, opened: Open
) -> None:
    agent, server = await opened()
    agent.on_permission = reject
    for struck in await _all(agent, world, server, IN_THE_WORKSPACE):
        assert set(struck.harm) <= {"revealed the secret (plain)"}
    assert world.listeners.heard() == []


@contained
@pytest.mark.long
@pytest.mark.parametrize("mode", ["default", "accept_edits", "plan"])
async def test_after_a_no_no_command_reads_the_secret_files_of_the_workspace(
    mode: str, world: World, opened: Open
) -> None:
    agent, server = await opened(reads_secrets=False)
    agent.on_permission = reject
    struck = await _all(agent, world, server, IN_THE_WORKSPACE, mode)
    assert [f"{each.name}: {each.harm}\n{each.cards}" for each in struck if each.harm] == []
    assert world.listeners.heard() == []


@contained
@pytest.mark.long
async def test_the_attacks_do_harm_where_they_are_allowed(world: World, opened: Open) -> None:
    """So that no harm means something."""
    agent, server = await opened()
    names = {
        "curl says hello",
        "a patch that adds outside",
        "a line in a start-up file",
        "cat of a key",
        "a signal to the agent",
    }
    attacks = [attack for family in _FAMILIES.values() for attack in family if attack.name in names]
    harm = {struck.name: struck.harm for struck in await _all(agent, world, server, attacks)}
    assert harm == {
        "curl says hello": ("reached web",),
        "a patch that adds outside": ("changed elsewhere/new.txt",),
        "a line in a start-up file": ("changed person/.bashrc",),
        "cat of a key": ("revealed the secret (plain)",),
        "a signal to the agent": ("signalled the agent",),
    }


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("policy", _POLICIES)
@pytest.mark.parametrize("mode", ["default", "accept_edits", "plan"])
@pytest.mark.parametrize("family", _FAMILIES)
async def test_so_it_is_in_every_mode_whoever_answers(
    family: str, mode: str, policy: str, world: World, opened: Open
) -> None:
    agent, server = await opened(approvals={"timeout": 0.2} if policy == "never answers" else {})
    agent.on_permission = _POLICIES[policy]
    attacks = _FAMILIES[family]
    first = order("write_file", {"path": _HARMLESS, "content": "fine\n"}) if "harmless" in policy else ""
    _assert_harmless_and_shown(await _all(agent, world, server, attacks, mode, first), attacks)
    assert (world.workspace / _HARMLESS).exists() == (bool(first) and mode != "plan")
    assert world.listeners.heard() == []


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("family", _FAMILIES)
async def test_where_no_sandbox_works_it_asks_instead(
    family: str, world: World, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.environments.sandbox.probe.MECHANISMS", ())
    agent, server = await opened()
    agent.on_permission = reject
    attacks = [attack for attack in _FAMILIES[family] if attack.name not in _ONLY_A_SANDBOX_HOLDS]
    _assert_harmless_and_shown(await _all(agent, world, server, attacks), attacks)
    assert world.listeners.heard() == []
