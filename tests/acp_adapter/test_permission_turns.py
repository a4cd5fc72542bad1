"""Permission questions: what asks in which mode, what each answer does, and that unsure means no."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.editor import Editor
from tests.support.editor_policies import after, allow, choose, dismiss, never, reject, rubbish
from tests.support.in_memory import EditorFactory
from tests.support.settings_files import configure

_WORK = "write inside.txt text\nrun rm -f gone.txt\nsay done"


async def _start(start: EditorFactory, workspace: Path) -> tuple[Editor, str]:
    agent = await start()
    await agent.initialize()
    return agent, await agent.new_session(workspace)


def _asked(agent: Editor) -> list[str]:
    return [
        frame.params["toolCall"]["title"] for frame in agent.frames if frame.method == "session/request_permission"
    ]


@pytest.mark.parametrize(("mode", "questions"), [("default", 2), ("accept_edits", 1), ("dont_ask", 0)])
async def test_each_mode_asks_for_what_it_says(
    mode: str, questions: int, start: EditorFactory, workspace: Path
) -> None:
    (workspace / "gone.txt").write_text("x")
    agent, session = await _start(start, workspace)
    await agent.request("session/set_mode", {"sessionId": session, "modeId": mode})
    await agent.prompt(session, _WORK)
    assert len(_asked(agent)) == questions
    assert (workspace / "inside.txt").read_text() == "text"
    assert not (workspace / "gone.txt").exists()


async def test_ordinary_commands_and_reading_do_not_ask(start: EditorFactory, workspace: Path) -> None:
    agent, session = await _start(start, workspace)
    await agent.prompt(session, "read sums.py\nsearch add\nrun git status\nrun ls\ntodo A; B")
    assert _asked(agent) == []


async def test_files_outside_the_roots_ask_to_be_read_and_written(
    start: EditorFactory, workspace: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    (workspace / "link").symlink_to(tmp_path)
    agent, session = await _start(start, workspace)
    await agent.request("session/set_mode", {"sessionId": session, "modeId": "accept_edits"})
    agent.on_permission = reject
    await agent.prompt(session, "read ../secret.txt\nread link/secret.txt\nwrite link/new.txt x")
    assert len(_asked(agent)) == 3
    assert all(card["status"] == "failed" for card in agent.cards(session).values())
    assert not (tmp_path / "new.txt").exists()


async def test_a_command_is_asked_for_with_itself_and_the_reason(start: EditorFactory, workspace: Path) -> None:
    agent, session = await _start(start, workspace)
    await agent.prompt(session, "run rm -rf build")
    assert _asked(agent) == ["rm -rf build (it deletes files)"]


async def test_the_floor_holds_even_in_dont_ask(start: EditorFactory, workspace: Path) -> None:
    agent, session = await _start(start, workspace)
    await agent.request("session/set_mode", {"sessionId": session, "modeId": "dont_ask"})
    await agent.prompt(session, "run echo begun && rm -rf / --no-preserve-root")
    card = next(iter(agent.cards(session).values()))
    assert card["status"] == "failed"
    assert "deletes the root" in json.dumps(card["content"])


async def test_always_covers_the_same_action_and_nothing_wider(start: EditorFactory, workspace: Path) -> None:
    agent, session = await _start(start, workspace)
    agent.on_permission = choose("allow_always")
    await agent.prompt(
        session, "write one.txt a\nwrite one.txt b\nwrite two.txt c\nrun rm -f x\nrun rm -f x\nrun rm -f y"
    )
    assert [title.split(":")[0].split(" (")[0] for title in _asked(agent)] == [
        "Create one.txt", "Create two.txt", "rm -f x", "rm -f y",
    ]  # fmt: skip
    assert (workspace / "one.txt").read_text() == "b"
    other = await agent.new_session(workspace)
    before = len(_asked(agent))
    await agent.prompt(other, "write one.txt d")
    assert len(_asked(agent)) == before + 1


@pytest.mark.parametrize("decide", [reject, dismiss, rubbish(), rubbish({}), rubbish({"outcome": "selected"})])
async def test_anything_but_a_clear_yes_changes_nothing_and_the_model_is_told(
    decide: Any, start: EditorFactory, workspace: Path
) -> None:
    agent, session = await _start(start, workspace)
    agent.on_permission = decide
    answer = await agent.prompt(session, "write new.txt text\nsay went on")
    assert answer["stopReason"] == "end_turn"
    assert not (workspace / "new.txt").exists()
    card = next(iter(agent.cards(session).values()))
    assert card["status"] == "failed"
    assert "not allowed" in json.dumps(card["content"])
    assert "went on" in agent.text(session)


async def test_no_answer_in_time_means_no_and_a_late_yes_is_ignored(
    start: EditorFactory, workspace: Path, home: Path
) -> None:
    configure(home, {"approvals": {"timeout": 0.2}})
    late = asyncio.Event()
    agent, session = await _start(start, workspace)
    agent.on_permission = after(late, allow)
    answer = await agent.prompt(session, "write new.txt text")
    assert answer["stopReason"] == "end_turn"
    late.set()
    assert (await agent.prompt(session, "say next"))["stopReason"] == "end_turn"
    assert not (workspace / "new.txt").exists()
    assert "no answer within" in json.dumps(next(iter(agent.cards(session).values()))["content"])


async def test_an_editor_that_answers_twice_and_late_gets_one_effect(start: EditorFactory, workspace: Path) -> None:
    go = asyncio.Event()
    agent, session = await _start(start, workspace)
    agent.answer_twice = True
    agent.on_permission = after(go, allow)
    turn = agent.begin_prompt(session, "write new.txt text\nsay done")
    await agent.wait_for_call("session/request_permission")
    assert not (workspace / "new.txt").exists()
    go.set()
    assert (await agent.answer(turn))["stopReason"] == "end_turn"
    assert (workspace / "new.txt").read_text() == "text"
    assert (await agent.prompt(session, "say next"))["stopReason"] == "end_turn"


async def test_a_file_that_changes_while_the_question_is_open_is_not_overwritten(
    start: EditorFactory, workspace: Path
) -> None:
    async def meddle(_: dict) -> str:
        (workspace / "sums.py").write_text("changed by someone else\n")
        return "allow_once"

    agent, session = await _start(start, workspace)
    agent.on_permission = meddle
    await agent.prompt(session, "edit sums.py a - b => a + b")
    assert (workspace / "sums.py").read_text() == "changed by someone else\n"
    assert next(iter(agent.cards(session).values()))["status"] == "failed"


async def test_settings_allow_commands_and_choose_the_first_mode(
    start: EditorFactory, workspace: Path, home: Path
) -> None:
    configure(home, {"command_allowlist": ["rm -f gone.txt"], "approvals": {"mode": "manual"}})
    agent, session = await _start(start, workspace)
    await agent.prompt(session, "run rm -f gone.txt")
    assert _asked(agent) == []
    configure(home, {"approvals": {"mode": "off"}})
    session = await agent.new_session(workspace)
    assert agent.opened[session]["modes"]["currentModeId"] == "dont_ask"


async def test_fifty_sessions_that_wait_for_an_answer_do_not_delay_the_next(
    start: EditorFactory, workspace: Path
) -> None:
    agent = await start()
    await agent.initialize()
    agent.on_permission = never
    waiting = []
    for number in range(50):
        session = await agent.new_session(workspace)
        waiting.append((session, agent.begin_prompt(session, f"write {number}.txt x")))
    questions = lambda: len(_asked(agent)) == 50  # noqa: E731
    await agent.until(questions, 20)
    last = await agent.new_session(workspace)
    assert (await agent.prompt(last, "say quick", timeout=5))["stopReason"] == "end_turn"
    for session, turn in waiting:
        agent.cancel(session)
        assert (await agent.answer(turn))["stopReason"] == "cancelled"
