"""Plan mode from its beginning to a plan that was approved, or not; and what the person says with a no."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.editor import ZED, Editor
from tests.support.editor_policies import never, pick
from tests.support.editor_profiles import SHOWS_NAMES
from tests.support.in_memory import EditorFactory, permission_questions

_PLAN = "# Plan\n\n1. Write it"
_PROPOSE = f"call exit_plan_mode {json.dumps({'plan': _PLAN})}"


async def _plan(start: EditorFactory, workspace: Path, profile: dict[str, Any] = SHOWS_NAMES) -> tuple[Editor, str]:
    agent = await start()
    await agent.initialize(profile)
    session = await agent.new_session(workspace)
    await agent.request("session/set_mode", {"sessionId": session, "modeId": "plan"})
    return agent, session


def _cards(agent: Editor, session: str) -> list[tuple[str, str]]:
    cards = agent.cards(session).values()
    return [(card["status"], json.dumps(card.get("content"), ensure_ascii=False)) for card in cards]


async def test_in_plan_mode_reading_works_and_nothing_is_changed_or_asked(
    start: EditorFactory, workspace: Path
) -> None:
    agent, session = await _plan(start, workspace)
    before = sorted(workspace.rglob("*"))
    await agent.prompt(
        session,
        "read sums.py\nsearch add\nrun ls\nrun pwd\nwrite a.txt x\nrun touch b.txt\nedit sums.py a - b => a + b",
    )
    cards = _cards(agent, session)
    assert [status for status, _ in cards] == ["completed"] * 4 + ["failed"] * 3
    assert all("In plan mode nothing is changed." in content for _, content in (cards[4], cards[6]))
    # The command is refused, or tried where the sandbox holds it to reading.
    assert any(why in cards[5][1] for why in ("In plan mode", "Permission denied", "Read-only"))
    assert permission_questions(agent) == []
    assert sorted(workspace.rglob("*")) == before


@pytest.mark.parametrize(
    ("option", "mode", "questions"), [("plan_default", "default", 2), ("plan_accept_edits", "accept_edits", 1)]
)
async def test_an_approved_plan_goes_on_in_the_mode_that_was_chosen(
    option: str, mode: str, questions: int, start: EditorFactory, workspace: Path
) -> None:
    agent, session = await _plan(start, workspace)
    agent.on_permission = pick(option, "allow_once")
    await agent.prompt(session, f"{_PROPOSE}\nwrite a.txt text\nsay done")
    assert (workspace / "a.txt").read_text() == "text"
    assert [status for status, _ in _cards(agent, session)] == ["completed", "completed"]
    assert len(permission_questions(agent)) == questions
    assert agent.updates(session, "current_mode_update")[-1]["currentModeId"] == mode
    await agent.request("session/close", {"sessionId": session})
    assert (await agent.load_session(session, workspace))["modes"]["currentModeId"] == mode


async def test_the_plan_is_asked_about_on_its_card_and_the_mode_changes_before_the_card_ends(
    start: EditorFactory, workspace: Path
) -> None:
    agent, session = await _plan(start, workspace)
    agent.on_permission = pick("plan_default")
    await agent.prompt(session, _PROPOSE)
    [question] = permission_questions(agent)
    card = question.params["toolCall"]
    assert (card["kind"], card["status"]) == ("switch_mode", "pending")
    assert card["content"] == [{"type": "content", "content": {"type": "text", "text": _PLAN}}]

    def place(of: Any) -> int:
        return next(at for at, frame in enumerate(agent.frames) if of(frame))

    order = [
        place(lambda f: f.is_update(session, "tool_call") and f.update["toolCallId"] == card["toolCallId"]),
        agent.frames.index(question),
        place(lambda f: f.update.get("currentModeId") == "default"),
        place(lambda f: f.is_update(session) and f.update.get("status") == "completed"),
    ]
    assert order == sorted(order)


async def test_a_rejected_plan_keeps_the_mode(start: EditorFactory, workspace: Path) -> None:
    agent, session = await _plan(start, workspace)
    agent.on_permission = pick("plan_reject")
    await agent.prompt(session, f"{_PROPOSE}\nwrite a.txt text")
    assert [status for status, _ in _cards(agent, session)] == ["failed", "failed"]
    assert "Rejected." in _cards(agent, session)[0][1]
    assert not (workspace / "a.txt").exists()


async def test_words_about_a_plan_reach_the_model(start: EditorFactory, workspace: Path) -> None:
    async def fill(params: dict[str, Any]) -> dict[str, Any]:
        return {"action": "accept", "content": {"reason": "Test first."}}

    agent, session = await _plan(start, workspace, ZED)
    agent.host.forms = fill
    agent.handlers["elicitation/create"] = fill
    agent.on_permission = pick("plan_revise")
    await agent.prompt(session, _PROPOSE)
    assert "Test first." in _cards(agent, session)[0][1]


async def test_outside_of_plan_mode_there_is_none_to_leave(start: EditorFactory, workspace: Path) -> None:
    agent, session = await _plan(start, workspace)
    await agent.request("session/set_mode", {"sessionId": session, "modeId": "default"})
    await agent.prompt(session, _PROPOSE)
    assert permission_questions(agent) == []
    assert "not in plan mode" in _cards(agent, session)[0][1]


async def test_a_person_who_leaves_plan_mode_by_hand_answers_the_plan(start: EditorFactory, workspace: Path) -> None:
    agent, session = await _plan(start, workspace)
    agent.on_permission = never
    turn = agent.begin_prompt(session, f"{_PROPOSE}\nwrite a.txt text")
    await agent.wait_for_call("session/request_permission")
    await agent.request("session/set_mode", {"sessionId": session, "modeId": "dont_ask"})
    assert (await agent.answer(turn))["stopReason"] == "end_turn"
    assert (workspace / "a.txt").read_text() == "text"
    assert agent.updates(session, "current_mode_update")[-1]["currentModeId"] == "dont_ask"


async def test_who_rejects_and_tells_why_sees_their_words_on_the_card(start: EditorFactory, workspace: Path) -> None:
    forms: list[dict[str, Any]] = []

    async def fill(params: dict[str, Any]) -> dict[str, Any]:
        forms.append(params)
        return {"action": "accept", "content": {"reason": "Put it into docs."}}

    agent, session = await _plan(start, workspace, ZED)
    await agent.request("session/set_mode", {"sessionId": session, "modeId": "default"})
    agent.handlers["elicitation/create"] = fill
    agent.on_permission = pick("reject_why")
    await agent.prompt(session, "write a.txt text")
    [(status, content)] = _cards(agent, session)
    assert status == "failed"
    assert 'Rejected. You said: \\"Put it into docs.\\"' in content
    assert forms[0]["toolCallId"] == permission_questions(agent)[0].params["toolCall"]["toolCallId"]


async def test_a_cancel_while_the_words_are_written_ends_the_turn(start: EditorFactory, workspace: Path) -> None:
    agent, session = await _plan(start, workspace, ZED)
    await agent.request("session/set_mode", {"sessionId": session, "modeId": "default"})

    async def cancel(params: dict[str, Any]) -> dict[str, Any]:
        agent.cancel(session)
        await agent.wait_for_call("$/cancel_request")
        return {"action": "cancel"}

    agent.handlers["elicitation/create"] = cancel
    agent.on_permission = pick("reject_why")
    assert (await agent.prompt(session, "write a.txt text"))["stopReason"] == "cancelled"
    assert not (workspace / "a.txt").exists()


async def test_an_editor_without_forms_is_not_offered_to_tell_why(start: EditorFactory, workspace: Path) -> None:
    agent, session = await _plan(start, workspace)
    agent.on_permission = pick("plan_reject")
    await agent.prompt(session, _PROPOSE)
    offered = [option["optionId"] for option in permission_questions(agent)[0].params["options"]]
    assert offered == ["plan_default", "plan_accept_edits", "plan_reject"]
