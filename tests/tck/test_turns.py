"""PROMPT, CANCEL, PROMPTCAP, CLIENTCAP: what a prompt may hold, and what comes of it."""
# ruff: noqa: N802 - a requirement's id is the test's name

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.editor import MINIMAL, PLAIN, PROFILES, RpcError
from tests.support.editor_policies import never
from tests.tck.conftest import Started
from tests.tck.place import capabilities, text, tried

_PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
_SOUND = "UklGRg=="
_EVERYTHING = "read sums.py\nwrite new.txt x\nedit sums.py a - b => a + b\nrun echo x\nsearch add\ntodo A; B\nsay x"
_OFFERS = {
    "fs/read_text_file": ("fs", "readTextFile"),
    "fs/write_text_file": ("fs", "writeTextFile"),
    "terminal/create": ("terminal",),
    "elicitation/create": ("elicitation",),
}


async def test_PROMPT_001_a_prompt_is_answered_with_why_it_ended(started: Started, workspace: Path) -> None:
    """A stop reason of the protocol."""
    agent = await started()
    answer = await agent.prompt(await agent.new_session(workspace), "say x")
    assert answer["stopReason"] == "end_turn"


async def test_PROMPT_002_everything_is_told_before_the_answer(started: Started, workspace: Path) -> None:
    """No text, thought or tool call comes after it."""
    agent = await started()
    session = await agent.new_session(workspace)
    await agent.prompt(session, "stream 500\nrun echo x\nsay the end")
    assert agent.text(session).endswith("the end\n")
    await agent.request("session/list", {})
    at = next(
        index for index, frame in enumerate(agent.frames) if "stopReason" in (frame.message.get("result") or {})
    )
    assert not [frame for frame in agent.frames[at:] if frame.update.get("sessionUpdate", "").endswith("chunk")]


async def test_PROMPT_003_text_and_links_are_always_taken(started: Started, workspace: Path) -> None:
    """The two kinds of content that need no capability."""
    agent = await started(MINIMAL)
    session = await agent.new_session(workspace)
    link = {"type": "resource_link", "name": "sums.py", "uri": f"file://{workspace}/sums.py"}
    assert (await agent.prompt(session, [text("say x"), link]))["stopReason"] == "end_turn"
    assert agent.text(session).startswith("x")


async def test_CANCEL_001_a_cancelled_prompt_is_answered_as_cancelled(started: Started, workspace: Path) -> None:
    """While the model speaks, while a command runs, while a question is open: never an error."""
    agent = await started()
    agent.on_permission = never
    session = await agent.new_session(workspace)
    scripts = (
        ("say x\nsleep 60", "agent_message_chunk"),
        ("run echo x; sleep 60", "tool_call_update"),
        ("edit sums.py a - b => a + b", "tool_call_update"),
    )
    for script, sign in scripts:
        since = len(agent.frames)
        turn = agent.begin_prompt(session, script)
        await agent.wait_for_update(session, sign, since=since)
        agent.cancel(session)
        assert (await agent.answer(turn))["stopReason"] == "cancelled"


async def test_CANCEL_002_a_cancel_of_nothing_is_harmless(started: Started, workspace: Path) -> None:
    """The next prompt runs."""
    agent = await started()
    session = await agent.new_session(workspace)
    agent.cancel(session)
    assert (await agent.prompt(session, "say x"))["stopReason"] == "end_turn"


@pytest.mark.parametrize(
    ("capability", "block"),
    [
        pytest.param("image", {"type": "image", "mimeType": "image/png", "data": _PICTURE}, id="PROMPTCAP_001_image"),
        pytest.param(
            "audio", {"type": "audio", "mimeType": "audio/wav", "data": "UklGRg=="}, id="PROMPTCAP_002_audio"
        ),
        pytest.param(
            "embeddedContext",
            {"type": "resource", "resource": {"uri": "file:///srv/a.txt", "text": "x"}},
            id="PROMPTCAP_003_embedded",
        ),
    ],
)
async def test_PROMPTCAP_001_PROMPTCAP_002_PROMPTCAP_003_offered_content_is_taken_and_other_is_answered(
    capability: str, block: dict[str, Any], started: Started, workspace: Path
) -> None:
    """What is offered ends a turn as any other; what is not is said or refused, never dropped in silence."""
    agent = await started()
    session = await agent.new_session(workspace)
    offered = capabilities(agent)["promptCapabilities"][capability]
    outcome = await tried(agent, "session/prompt", {"sessionId": session, "prompt": [text("say x"), block]})
    if isinstance(outcome, RpcError):
        assert (offered, outcome.code) == (False, -32602)
        return
    assert outcome["stopReason"] == "end_turn"
    told = agent.text(session) + agent.text(session, "agent_thought_chunk")
    assert offered or capability in told.lower()


@pytest.mark.parametrize("profile", PROFILES)
async def test_CLIENTCAP_001_CLIENTCAP_002_CLIENTCAP_003_nothing_is_called_that_was_not_offered(
    profile: str, started: Started, workspace: Path
) -> None:
    """Files, terminals and forms of the editor only where it offered them; the work is done all the same."""
    agent = await started(PROFILES[profile])
    session = await agent.new_session(workspace)
    assert (await agent.prompt(session, _EVERYTHING))["stopReason"] == "end_turn"
    called = {frame.method for frame in agent.frames if not frame.ours and frame.id is not None and frame.method}
    for method, path in _OFFERS.items():
        assert method not in called or _offers(PROFILES[profile], path), f"{method} was not offered"
    assert {card["status"] for card in agent.cards(session).values()} == {"completed"}


def _offers(profile: dict[str, Any], path: tuple[str, ...]) -> bool:
    value: Any = profile
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value is not None and value is not False


async def test_the_baseline_needs_no_capability(started: Started, workspace: Path) -> None:
    """An editor that offers nothing has whole turns."""
    agent = await started(PLAIN)
    session = await agent.new_session(workspace)
    assert (await agent.prompt(session, "read sums.py\nsay x"))["stopReason"] == "end_turn"
