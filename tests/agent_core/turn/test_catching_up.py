"""What was said in turns that broke off before the model was told comes with the next turn, if hooks let it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent_core.agent import AIAgent
from agent_core.errors import HookRefused
from agent_core.events import SaidText, UserSaid
from agent_core.hooks.session_hooks import SessionHooks
from agent_core.messages import INTERRUPTED_TURN
from tests.support.agents import Ears
from tests.support.hooks import hook, hooked_agent, into, session_hooks
from tests.support.scripted_provider import ScriptedProvider, says
from tests.support.session_database import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path / "hermes-acp.db")
    desk.store.create("s", str(tmp_path))
    yield desk
    desk.close()


def _say_and_break_off(desk: Desk, turn: str, text: str) -> None:
    desk.store.journal("s", turn).record(UserSaid(f"{turn}-prompt", (SaidText(text),)))
    desk.store.begin_turn("s", turn)
    desk.store.end_turn("s", turn, "cancelled")


def _agent(desk: Desk, cwd: Path, hooks: SessionHooks, ears: Ears | None = None, *words: str) -> AIAgent:
    options: dict[str, Any] = {"callbacks": ears.callbacks()} if ears is not None else {}
    scripts = [says(each) for each in words or ("Ok.",)]
    return hooked_agent(cwd, *scripts, hooks=hooks, session_store=desk.store, session_id="s", **options)


def _asked(agent: AIAgent, number: int = -1) -> list[Any]:
    """What a request showed the model."""
    assert isinstance(agent.provider, ScriptedProvider)
    return [message["content"] for message in agent.provider.requests[number].messages[1:]]


def test_without_hooks_it_is_told_before_the_next_prompt(desk: Desk, tmp_path: Path) -> None:
    _say_and_break_off(desk, "t1", "mend the gate")
    _say_and_break_off(desk, "t2", "and the fence")
    agent = _agent(desk, tmp_path, session_hooks(), None, "Ok.", "Still.")

    agent.chat("go on")
    first = ["mend the gate", INTERRUPTED_TURN, "and the fence", INTERRUPTED_TURN, "go on"]
    assert _asked(agent) == first

    agent.chat("and now")
    assert _asked(agent) == [*first, "Ok.", "and now"], "it is told once"


def test_hooks_are_asked_about_it_as_about_any_prompt_and_say_something_to_it(desk: Desk, tmp_path: Path) -> None:
    turns: list[str] = []
    told = hook("prompt", lambda prompt: {"context": f"On {prompt}."})
    _say_and_break_off(desk, "t1", "the gate")
    agent = _agent(desk, tmp_path, session_hooks(told, hook("prompt", into(turns, "turn_id"))))

    result = agent.run_conversation("the fence")

    said = "{}\n\n[Not from the user. Their hooks say:]\nOn {}."
    assert _asked(agent) == [
        said.format("the gate", "the gate"),
        INTERRUPTED_TURN,
        said.format("the fence", "the fence"),
    ]
    assert turns == ["t1", result["turn_id"]]


def test_what_they_refuse_is_left_out_for_good_with_a_line_for_the_person(desk: Desk, tmp_path: Path) -> None:
    asked: list[str] = []

    def no_keys(prompt: str) -> dict[str, str] | None:
        asked.append(prompt)
        return {"decision": "block", "reason": "It holds a key."} if "key" in prompt else None

    _say_and_break_off(desk, "t1", "here is my key " + "x" * 99)
    _say_and_break_off(desk, "t2", "mend the gate")
    ears = Ears()
    agent = _agent(desk, tmp_path, session_hooks(hook("prompt", no_keys)), ears, "Ok.", "Ok.")

    agent.chat("go on")

    assert _asked(agent) == ["mend the gate", INTERRUPTED_TURN, "go on"]
    (line,) = [status.text for status in ears.of("status") if status.kind == "hook"]
    assert "is left out: «here is my key xxx" in line
    assert line.endswith("It holds a key. Nothing was sent to the model.")
    assert len(line) < 250
    assert desk.rows("SELECT outcome FROM turns WHERE number = 1") == [("error",)]
    agent.chat("and now")
    assert [each[:7] for each in asked] == ["here is", "mend th", "go on", "and now"], "nobody is asked twice"


def test_one_that_wants_the_turn_to_end_ends_no_other_turn(desk: Desk, tmp_path: Path) -> None:
    stop = hook("prompt", lambda prompt: {"continue": False, "stopReason": "no"} if "gate" in prompt else None)
    _say_and_break_off(desk, "t1", "mend the gate")
    agent = _agent(desk, tmp_path, session_hooks(stop))

    assert agent.chat("go on") == "Ok."
    assert _asked(agent) == ["go on"]


def test_a_hook_that_breaks_refuses_it(desk: Desk, tmp_path: Path) -> None:
    def broken(prompt: str) -> None:
        if "gate" in prompt:
            raise ValueError("broken")

    _say_and_break_off(desk, "t1", "mend the gate")
    agent = _agent(desk, tmp_path, session_hooks(hook("prompt", broken)))

    agent.chat("go on")

    assert _asked(agent) == ["go on"]


def test_what_comes_before_stays_told_where_the_turn_s_own_prompt_is_refused(desk: Desk, tmp_path: Path) -> None:
    refuse = hook("prompt", lambda prompt: {"decision": "block"} if prompt == "no" else None)
    _say_and_break_off(desk, "t1", "mend the gate")
    agent = _agent(desk, tmp_path, session_hooks(refuse))

    with pytest.raises(HookRefused):
        agent.chat("no")
    agent.chat("go on")

    assert _asked(agent) == ["mend the gate", INTERRUPTED_TURN, "go on"]
