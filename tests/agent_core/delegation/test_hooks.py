"""A session's hooks hear of its sub-agents' tool calls, and may send a sub-agent on."""

from __future__ import annotations

from pathlib import Path

from agent_core.callbacks import CallFinished
from agent_core.providers.offline import OfflineProvider
from tests.support.agents import Ears
from tests.support.delegating import delegates
from tests.support.hooks import hook, hooked_agent, session_hooks


def test_tool_calls_of_a_sub_agent_are_guarded_and_its_end_is_no_end_of_the_session(workspace: Path) -> None:
    heard: list[tuple[str, str]] = []

    def hear(hook_event_name: str, tool_name: str = "") -> None:
        heard.append((hook_event_name, tool_name))

    def guard(tool_name: str, args: dict[str, str]) -> str | None:
        heard.append(("pre_tool_call", tool_name))
        return "Not that one." if args.get("path") == "sums.py" else None

    names = ("session_start", "prompt", "stop", "subagent_stop")
    hooks = session_hooks(hook("pre_tool_call", guard), *(hook(name, hear) for name in names), cwd=workspace)
    ears = Ears()
    agent = hooked_agent(workspace, hooks=hooks, provider=OfflineProvider(), callbacks=ears.callbacks())

    agent.chat(delegates("read sums.py"))

    assert [event for event in heard if event[0] != "stop"] == [
        ("session_start", ""),
        ("prompt", ""),
        ("pre_tool_call", "delegate_task"),
        ("pre_tool_call", "read_file"),
        ("subagent_stop", ""),
    ]
    [reading] = [step for step in ears.of("tool") if isinstance(step, CallFinished) and step.name == "read_file"]
    assert "Not that one." in reading.result.text
