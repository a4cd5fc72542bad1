"""What a model is told in the middle of its turn: one message of the person's words, the hooks' and our note."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agent_core.stop_reasons import CLOSING_NOTE
from tests.agent_core.conftest import AddTool
from tests.support.agents import Ears
from tests.support.hooks import hook, hooked_agent, session_hooks
from tests.support.scripted_provider import ScriptedProvider, says, uses

_BESIDE = "[Not from the user. Their hooks say:]\nBe brief."


def _brief(prompt: str) -> dict[str, str]:
    return {"context": "Be brief."}


def _last_message(provider: Any) -> Any:
    assert isinstance(provider, ScriptedProvider)
    return provider.requests[-1].messages[-1]


def test_words_that_come_when_the_budget_is_spent_end_with_the_note_to_close(
    tmp_path: Path, add_tool: AddTool
) -> None:
    hooks = session_hooks(hook("prompt", _brief))
    agent = hooked_agent(tmp_path, uses(("c", "speak", {})), says("Done."), hooks=hooks, max_iterations=1)
    add_tool("speak", lambda args, **_: agent.steer("left") and "{}")

    agent.chat("go")

    assert _last_message(agent.provider)["content"] == f"left\n\n{_BESIDE}\n\n{CLOSING_NOTE}"


def test_words_that_come_before_a_turn_is_sent_on_go_before_what_sends_it_on(tmp_path: Path) -> None:
    ears = Ears()

    def more(stop_hook_active: bool) -> str | None:
        return None if stop_hook_active or not agent.steer("left") else "Run the tests."

    hooks = session_hooks(hook("prompt", _brief), hook("stop", more))
    agent = hooked_agent(tmp_path, says("Done."), says("Tested."), hooks=hooks, callbacks=ears.callbacks())

    assert agent.chat("go") == "Tested."

    note = "[Not from the user. The hook of the test says:]\nRun the tests."
    message = _last_message(agent.provider)
    assert message["content"] == f"left\n\n{_BESIDE}\n\n{note}"
    assert message["beside"] == f"{_BESIDE}\n\n{note}"
    assert "A hook of yours wants more: the model goes on." in ears.of("thinking")
