"""Permission questions: what asks in which mode, what each answer does, and that unsure means no."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agent_core.config import ConfigSource
from agent_core.home import Home
from tests.support.editor import PLAIN, Editor
from tests.support.editor_policies import (
    after,
    allow,
    choose,
    dismiss,
    in_turn,
    never,
    pick,
    press,
    reject,
    rubbish,
)
from tests.support.editor_profiles import SHOWS_NAMES
from tests.support.in_memory import EditorFactory, permission_questions, serving
from tests.support.model_server import ModelServer, Reply, ToolCall
from tests.support.settings_files import configure, use_model

_WORK = "write inside.txt text\nrun rm -f gone.txt\nsay done"


async def _start(
    start: EditorFactory, workspace: Path, profile: Mapping[str, Any] = SHOWS_NAMES, mode: str = ""
) -> tuple[Editor, str]:
    agent = await start()
    await agent.initialize(profile)
    session = await agent.new_session(workspace)
    if mode:
        await _set_mode(agent, session, mode)
    return agent, session


async def _set_mode(agent: Editor, session: str, mode: str) -> None:
    await agent.request("session/set_mode", {"sessionId": session, "modeId": mode})


def _asked(agent: Editor) -> list[str]:
    return [frame.params["toolCall"]["title"] for frame in permission_questions(agent)]


def _subjects(agent: Editor) -> list[str]:
    """What was asked about, without the reasons."""
    return [title.split(":")[0].split(" (")[0] for title in _asked(agent)]


def _withdrawn(agent: Editor) -> list[Any]:
    return [frame.params["requestId"] for frame in agent.frames if frame.method == "$/cancel_request"]


def _content(agent: Editor, session: str, number: int = 0) -> str:
    return json.dumps(list(agent.cards(session).values())[number]["content"], ensure_ascii=False)


@pytest.mark.parametrize(("mode", "questions"), [("default", 2), ("accept_edits", 1), ("dont_ask", 0)])
async def test_each_mode_asks_for_what_it_says(
    mode: str, questions: int, start: EditorFactory, workspace: Path
) -> None:
    (workspace / "gone.txt").write_text("x")
    agent, session = await _start(start, workspace)
    await _set_mode(agent, session, mode)
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
    agent, session = await _start(start, workspace, mode="accept_edits")
    agent.on_permission = reject
    await agent.prompt(session, "read ../secret.txt\nread link/secret.txt\nwrite link/new.txt x")
    assert len(_asked(agent)) == 3
    assert all(card["status"] == "failed" for card in agent.cards(session).values())
    assert not (tmp_path / "new.txt").exists()


async def test_a_command_is_asked_for_with_itself_and_the_reason(start: EditorFactory, workspace: Path) -> None:
    agent, session = await _start(start, workspace)
    await agent.prompt(session, "run rm -rf build")
    assert _asked(agent) == ["rm -rf build (it deletes directories with all that is in them)"]


async def test_the_floor_holds_even_in_dont_ask(start: EditorFactory, workspace: Path) -> None:
    agent, session = await _start(start, workspace, mode="dont_ask")
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
    assert _subjects(agent) == ["Create one.txt", "Create two.txt", "rm -f x", "rm -f y"]
    assert (workspace / "one.txt").read_text() == "b"
    other = await agent.new_session(workspace)
    before = len(_asked(agent))
    await agent.prompt(other, "read one.txt\nwrite one.txt d")
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
    assert "Rejected" in json.dumps(card["content"])
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
    assert "no answer within" in _content(agent, session)
    assert _withdrawn(agent) == [permission_questions(agent)[0].id]


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


async def test_what_is_allowed_for_good_is_not_asked_in_the_next_session_until_it_is_taken_back(
    start: EditorFactory, workspace: Path
) -> None:
    agent, session = await _start(start, workspace)
    agent.on_permission = in_turn(pick("allow_kept"), pick("reject_once"))
    await agent.prompt(session, "edit sums.py a - b => a + b")
    again = await agent.new_session(workspace)
    await agent.prompt(again, "edit sums.py a + b => b + a")
    assert "b + a" in (workspace / "sums.py").read_text()
    await agent.prompt(again, "/permissions revoke 1")
    await agent.prompt(again, "edit sums.py b + a => a + b")
    assert "b + a" in (workspace / "sums.py").read_text()
    assert len(_asked(agent)) == 2


async def test_a_project_narrows_and_says_what_it_may_not(start: EditorFactory, workspace: Path, home: Path) -> None:
    configure(home, {"approvals": {"mode": "off", "allow": ["write: sums.py"]}})
    (workspace / ".hermes").mkdir()
    (workspace / ".hermes/config.yaml").write_text("approvals: {mode: auto, deny: ['write: sums.py'], allow: [rm *]}")
    agent, session = await _start(start, workspace)
    assert agent.opened[session]["modes"]["currentModeId"] == "default"
    await agent.prompt(session, "edit sums.py a - b => a + b")
    assert "a - b" in (workspace / "sums.py").read_text()
    assert _asked(agent) == []
    assert "approvals.allow" in agent.text(session)


_SIMPLE = "write src/one.txt a"


@pytest.mark.parametrize(
    ("option", "work", "asked"),
    [
        ("allow_once", f"{_SIMPLE}\n{_SIMPLE}b", ["Create src/one.txt", "Edit src/one.txt"]),
        (
            "allow_session",
            f"{_SIMPLE}\n{_SIMPLE}b\nwrite src/two.txt c",
            ["Create src/one.txt", "Create src/two.txt"],
        ),
        (
            "allow_directory",
            f"{_SIMPLE}\nwrite src/deep/two.txt b\nwrite src/../top.txt c\nwrite srcx/three.txt d",
            ["Create src/one.txt", "Create top.txt", "Create srcx/three.txt"],
        ),
        (
            "allow_prefix",
            "run cp sums.py a.py\nrun cp sums.py b.py\nrun cp -r sums.py c.py\nrun cp sums.py ../d.py\nrun mv a.py e",
            ["cp sums.py a.py", "cp -r sums.py c.py", "cp sums.py ../d.py", "mv a.py e"],
        ),
        ("reject_once", f"{_SIMPLE}\n{_SIMPLE}b", ["Create src/one.txt", "Create src/one.txt"]),
        (
            "reject_always",
            f"{_SIMPLE}\n{_SIMPLE}b\nwrite src/two.txt c",
            ["Create src/one.txt", "Create src/two.txt"],
        ),
    ],
)
async def test_each_answer_reaches_as_far_as_it_says(
    option: str, work: str, asked: list[str], start: EditorFactory, workspace: Path, home: Path
) -> None:
    configure(home, {"approvals": {"mode": "all"}})
    agent, session = await _start(start, workspace)
    others = pick("reject_once" if option.startswith("reject") else "allow_once")
    agent.on_permission = in_turn(pick(option), others)
    await agent.prompt(session, work)
    assert _subjects(agent) == asked
    made = {card["status"] for card in agent.cards(session).values()}
    assert made == {"failed" if option.startswith("reject") else "completed"}


async def test_edits_in_a_directory_are_not_those_of_a_sensitive_file(start: EditorFactory, workspace: Path) -> None:
    agent, session = await _start(start, workspace)
    agent.on_permission = in_turn(pick("allow_directory"), allow, reject)
    await agent.prompt(session, "write one.txt a\nwrite two.txt b\nwrite .env SECRET=1\nwrite .husky/pre-push c")
    assert _subjects(agent) == ["Create one.txt", "Read .env", "Create .env", "Create .husky/pre-push"]
    assert not (workspace / ".env").exists()


async def test_a_link_below_an_allowed_directory_leads_out_of_it(
    start: EditorFactory, workspace: Path, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    (workspace / "src").mkdir()
    (workspace / "src/link").symlink_to(tmp_path / "elsewhere")
    agent, session = await _start(start, workspace)
    agent.on_permission = in_turn(pick("allow_directory"), allow, reject)
    await agent.prompt(session, "write src/one.txt a\nwrite src/link/two.txt b")
    assert len(_asked(agent)) == 3
    assert not (tmp_path / "elsewhere/two.txt").exists()


async def test_what_is_always_rejected_is_told_so_in_every_mode(start: EditorFactory, workspace: Path) -> None:
    agent, session = await _start(start, workspace)
    agent.on_permission = pick("reject_always")
    await agent.prompt(session, _SIMPLE)
    await _set_mode(agent, session, "dont_ask")
    await agent.prompt(session, _SIMPLE)
    assert len(_asked(agent)) == 1
    assert "for the rest of the session" in _content(agent, session, 0)
    assert "Rejected: you said no to" in _content(agent, session, 1)


async def test_a_cancel_ends_all_questions_at_once_and_withdraws_the_open_one(
    start: EditorFactory, workspace: Path
) -> None:
    agent, session = await _start(start, workspace)
    agent.on_permission = never
    agent.answers_on_cancel = False
    turn = agent.begin_prompt(session, "parallel\nwrite a.txt 1\nwrite b.txt 2\nwrite c.txt 3\nend\nsay done")
    question = await agent.wait_for_call("session/request_permission")
    agent.cancel(session)
    assert (await agent.answer(turn))["stopReason"] == "cancelled"
    assert len(_asked(agent)) == 1
    assert _withdrawn(agent) == [question.id]
    assert {card["status"] for card in agent.cards(session).values()} == {"failed"}


@pytest.mark.parametrize(
    ("mode", "status"), [("dont_ask", "completed"), ("accept_edits", "completed"), ("plan", "failed")]
)
async def test_another_mode_answers_the_open_question_and_it_is_withdrawn(
    mode: str, status: str, start: EditorFactory, workspace: Path
) -> None:
    agent, session = await _start(start, workspace)
    agent.on_permission = never
    turn = agent.begin_prompt(session, "write new.txt text")
    question = await agent.wait_for_call("session/request_permission")
    await _set_mode(agent, session, mode)
    assert (await agent.answer(turn))["stopReason"] == "end_turn"
    assert _withdrawn(agent) == [question.id]
    assert next(iter(agent.cards(session).values()))["status"] == status
    assert (workspace / "new.txt").exists() == (status == "completed")


async def test_a_question_stays_open_in_a_mode_that_would_ask_as_well(start: EditorFactory, workspace: Path) -> None:
    go = asyncio.Event()
    agent, session = await _start(start, workspace)
    agent.on_permission = after(go, allow)
    turn = agent.begin_prompt(session, "run rm -f gone.txt")
    await agent.wait_for_call("session/request_permission")
    await _set_mode(agent, session, "accept_edits")
    go.set()
    assert (await agent.answer(turn))["stopReason"] == "end_turn"
    assert len(_asked(agent)) == 1
    assert _withdrawn(agent) == []
    assert next(iter(agent.cards(session).values()))["status"] == "completed"


async def test_a_late_answer_to_a_withdrawn_question_changes_nothing(start: EditorFactory, workspace: Path) -> None:
    late = asyncio.Event()
    agent, session = await _start(start, workspace)
    agent.on_permission = after(late, pick("allow_session"))
    turn = agent.begin_prompt(session, "write new.txt text")
    await agent.wait_for_call("session/request_permission")
    await _set_mode(agent, session, "plan")
    await agent.answer(turn)
    late.set()
    await _set_mode(agent, session, "default")
    agent.on_permission = reject
    await agent.prompt(session, "write new.txt text")
    assert len(_asked(agent)) == 2
    assert not (workspace / "new.txt").exists()


@pytest.mark.long
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


@pytest.mark.parametrize("name", ["CodeCompanion.nvim", "an editor that nobody knows", "Zed Fork"])
async def test_a_button_for_each_kind_of_answer_allows_no_more_than_its_person_sees(
    name: str, start: EditorFactory, workspace: Path
) -> None:
    agent = await start()
    await agent.initialize(PLAIN, name=name)
    session = await agent.new_session(workspace)
    agent.on_permission = press("allow_always")
    await agent.prompt(session, "edit sums.py a - b => a + b\nedit sums.py a + b => a * b\nwrite other.txt x")
    assert _subjects(agent) == ["Edit sums.py", "Create other.txt"]
    other = await agent.new_session(workspace)
    await agent.prompt(other, "edit sums.py a * b => a + b")
    assert _subjects(agent)[2:] == ["Edit sums.py"]
    for frame in permission_questions(agent):
        kinds = [option["kind"] for option in frame.params["options"]]
        assert kinds == ["allow_once", "allow_always", "reject_once", "reject_always"]


@pytest.mark.parametrize("work", ["run rm -rf build", "write new.txt x", "edit sums.py a - b => a + b"])
async def test_a_permission_question_repeats_what_its_card_says_and_the_card_says_it_before(
    work: str, start: EditorFactory, workspace: Path
) -> None:
    agent, session = await _start(start, workspace, PLAIN)
    at_the_question: dict[str, Any] = {}

    async def look(_: dict[str, Any]) -> str:
        at_the_question.update(next(iter(agent.cards(session).values())))
        return "reject_once"

    agent.on_permission = look
    await agent.prompt(session, work)
    [question] = permission_questions(agent)
    asked = question.params["toolCall"]
    assert {"kind", "title", "status", "locations", "content"} <= asked.keys()
    seen = {key: at_the_question.get(key, []) for key in asked}
    assert seen == asked


async def test_a_rejected_card_has_one_word_and_the_model_has_the_advice(home: Path, workspace: Path) -> None:
    writes = Reply(tool_calls=[ToolCall("c", "write_file", {"path": "a.txt", "content": "x"})])
    with ModelServer(writes, Reply("So.")) as model:
        use_model(home, model)
        async with serving(home, config=ConfigSource(Home(home))) as agent:
            await agent.initialize()
            session = await agent.new_session(workspace)
            agent.on_permission = reject
            await agent.prompt(session, "Write it.")
        told = json.dumps(model.requests[-1].body, ensure_ascii=False)
    [card] = agent.cards(session).values()
    assert [block["content"]["text"] for block in card["content"]] == ["Rejected."]
    assert "was not allowed (the user said no)" in told
    assert "Do not try it again, or to get the same effect another way" in told


async def test_a_card_that_is_cancelled_says_that_it_was_stopped(start: EditorFactory, workspace: Path) -> None:
    agent, session = await _start(start, workspace)
    agent.on_permission = never
    turn = agent.begin_prompt(session, "write new.txt x")
    await agent.wait_for_call("session/request_permission")
    agent.cancel(session)
    await agent.answer(turn)
    [card] = agent.cards(session).values()
    assert [block["content"]["text"] for block in card["content"]] == ["Stopped."]
