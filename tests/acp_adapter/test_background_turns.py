"""What ends while no turn runs: a turn of its own where the client shows those, else a notice and the next prompt."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.delegating import delegates
from tests.support.editor import PLAIN, ZED, Editor, Frame
from tests.support.in_memory import EditorFactory
from tests.support.settings_files import configure

NOTICES = {**PLAIN, "session": {"notices": {}}}
SHOWS = {**NOTICES, "_meta": {"hermes": {"backgroundTurns": True}}}


def _begin(gate: Path, then: str = "true") -> str:
    """A line of a script: a command in the background that goes on with `then` when `gate` is there."""
    command = f"while ! test -e {gate}; do sleep 0.02; done; {then}"
    return f"call terminal {json.dumps({'command': command, 'background': True, 'notify_on_complete': True})}"


async def _start(
    start: EditorFactory, workspace: Path, profile: Mapping[str, Any] = SHOWS, mode: str = "dont_ask"
) -> tuple[Editor, str]:
    editor = await start()
    await editor.initialize(profile)
    session = await editor.new_session(workspace)
    await editor.request("session/set_mode", {"sessionId": session, "modeId": mode})
    return editor, session


def _is_told(frame: Frame) -> bool:
    return not frame.ours and frame.method == "session/update"


def _turn_states(editor: Editor) -> list[dict[str, Any]]:
    metas = (frame.update.get("_meta", {}).get("hermes", {}) for frame in editor.frames if _is_told(frame))
    return [meta["backgroundTurn"] for meta in metas if "backgroundTurn" in meta]


async def _own_turn_over(editor: Editor, count: int = 1) -> dict[str, Any]:
    def is_over(_: Frame) -> bool:
        return [state["state"] for state in _turn_states(editor)].count("over") >= count

    await editor.wait_for(is_over, 15, what="the end of a turn of its own")
    return _turn_states(editor)[-1]


async def _said(editor: Editor, session: str, text: str) -> None:
    await editor.wait_for(lambda _: text in editor.text(session), 15, what=text)


async def test_what_ends_when_nothing_runs_begins_a_turn_of_its_own(start: EditorFactory, workspace: Path) -> None:
    editor, session = await _start(start, workspace)
    gate = workspace / "gate"
    script = f"{_begin(gate, 'echo built; exit 3')}\nsay Building.\non news\nrun echo looked\nsay I saw it."
    await editor.prompt(session, script)
    gate.touch()
    state = await _own_turn_over(editor)

    assert state == {"state": "over", "stopReason": "end_turn"}
    assert [one["state"] for one in _turn_states(editor)] == ["running", "over"]
    assert editor.text(session) == "Building.\nI saw it.\n"
    notice = await editor.wait_for_update(session, "notice")
    assert "exit code 3" in notice["title"]
    assert [card["status"] for card in editor.cards(session).values()] == ["completed", "completed"]


async def test_in_a_turn_of_its_own_the_person_is_asked_as_in_any(start: EditorFactory, workspace: Path) -> None:
    editor, session = await _start(start, workspace, mode="default")
    gate = workspace / "gate"
    (workspace / "kept.txt").write_text("x")
    await editor.prompt(session, f"{_begin(gate)}\nsay ok\non news\nrun rm -f kept.txt\nsay gone")
    asked_before = len(editor.frames)
    gate.touch()
    await _own_turn_over(editor)

    asked = await editor.wait_for_call("session/request_permission", since=asked_before)
    assert "rm -f kept.txt" in json.dumps(asked.params)


async def test_a_turn_of_its_own_is_cancelled_as_any_and_no_other_begins_by_itself(
    start: EditorFactory, workspace: Path
) -> None:
    editor, session = await _start(start, workspace)
    first, second = workspace / "first", workspace / "second"
    await editor.prompt(session, f"{_begin(first)}\n{_begin(second)}\nsay ok\non news\nsay begun\nsleep 30")
    first.touch()
    await _said(editor, session, "begun")
    editor.cancel(session)
    assert await _own_turn_over(editor) == {"state": "over", "stopReason": "cancelled"}

    since = len(editor.frames)
    second.touch()
    assert "with your next prompt" in json.dumps(await editor.wait_for_update(session, "notice", since=since))
    assert len(_turn_states(editor)) == 2


async def test_after_a_cancel_none_begins_by_itself_though_a_command_beside_it_came_to_its_end(
    start: EditorFactory, workspace: Path
) -> None:
    editor, session = await _start(start, workspace)
    gate = workspace / "gate"
    turn = editor.begin_prompt(session, f"{_begin(gate)}\nsay begun\nsleep 30")
    await _said(editor, session, "begun")
    await editor.prompt(session, "/status")
    editor.cancel(session)
    assert (await editor.answer(turn))["stopReason"] == "cancelled"

    since = len(editor.frames)
    gate.touch()
    assert "with your next prompt" in json.dumps(await editor.wait_for_update(session, "notice", since=since))
    assert _turn_states(editor) == []


async def test_a_client_that_shows_no_such_turns_is_told_and_the_model_with_the_next_prompt(
    start: EditorFactory, workspace: Path
) -> None:
    editor, session = await _start(start, workspace, NOTICES)
    gate = workspace / "gate"
    await editor.prompt(session, f"{_begin(gate, 'exit 4')}\nsay Begun.")
    gate.touch()
    told = await editor.wait_for_update(session, "notice")
    await editor.prompt(session, "say And now?")
    await editor.prompt(session, "say Once more.")

    assert "exit code 4" in told["title"]
    assert editor.text(session) == "Begun.\nAnd now?\nOnce more.\n"
    thoughts = [f.update["content"]["text"] for f in editor.frames if f.is_update(session, "agent_thought_chunk")]
    assert len([text for text in thoughts if "exit code 4" in text]) == 1
    assert len([f for f in editor.frames if f.is_update(session, "notice")]) == 1
    assert _turn_states(editor) == []


async def test_a_client_without_notices_sees_nothing_before_the_next_prompt(
    start: EditorFactory, workspace: Path
) -> None:
    editor, session = await _start(start, workspace, ZED)
    gate = workspace / "gate"
    await editor.prompt(session, f"{_begin(gate)}\nsay Begun.")
    since = len(editor.frames)
    gate.touch()
    await _task_over(editor, session)
    assert not [frame for frame in editor.frames[since:] if _is_told(frame)]

    await editor.prompt(session, "say Next.")
    assert any("ended: exit code 0" in json.dumps(frame.update) for frame in editor.frames[since:] if _is_told(frame))


async def _task_over(editor: Editor, session: str) -> dict[str, Any]:
    for _ in range(5_000):  # nothing is told of it: it has to be asked for
        (task,) = await _tasks(editor, session)
        if task["endedAt"] is not None:
            return task
    raise AssertionError("the task does not end")


async def _tasks(editor: Editor, session: str) -> list[dict[str, Any]]:
    told = await editor.request("_hermes/session/tasks", {"sessionId": session})
    return list(told["tasks"])


async def test_with_the_setting_never_no_turn_begins_by_itself(
    start: EditorFactory, workspace: Path, home: Path
) -> None:
    configure(home, {"background": {"turns": "never"}})
    editor, session = await _start(start, workspace)
    gate = workspace / "gate"
    await editor.prompt(session, f"{_begin(gate)}\nsay Begun.")
    gate.touch()
    await editor.wait_for_update(session, "notice")

    assert _turn_states(editor) == []


async def test_the_setting_always_needs_no_offer_of_the_clients(
    start: EditorFactory, workspace: Path, home: Path
) -> None:
    configure(home, {"background": {"turns": "always"}})
    editor, session = await _start(start, workspace, PLAIN)
    gate = workspace / "gate"
    await editor.prompt(session, f"{_begin(gate)}\nsay Begun.")
    gate.touch()
    await _own_turn_over(editor)

    assert "I was told: proc_" in editor.text(session)


async def test_turns_of_its_own_do_not_go_on_for_ever(start: EditorFactory, workspace: Path, home: Path) -> None:
    configure(home, {"background": {"max_turns": 2}})
    editor, session = await _start(start, workspace)
    gate = workspace / "gate"
    again = _begin(gate, f"rm {gate}")
    await editor.prompt(session, f"{again}\nsay Begun.\non news\n{again}\nsay Again.")
    for turns in range(1, 3):
        gate.touch()
        await _own_turn_over(editor, turns)
    gate.touch()
    await editor.wait_for(lambda frame: "with your next prompt" in json.dumps(frame.message), 15, what="a notice")

    assert editor.text(session) == "Begun.\nAgain.\nAgain.\n"
    assert len(_turn_states(editor)) == 4


async def test_who_wants_to_be_asked_says_yes_or_no(start: EditorFactory, workspace: Path, home: Path) -> None:
    configure(home, {"background": {"turns": "ask"}})
    editor, session = await _start(start, workspace, ZED)
    answers = [{"action": "accept", "content": {"go_on": True}}, {"action": "decline"}]

    async def answer(_: object) -> dict[str, Any]:
        return answers.pop(0)

    editor.host.forms = answer
    first, second = workspace / "first", workspace / "second"
    await editor.prompt(session, f"{_begin(first)}\nsay Begun.")
    first.touch()
    await _own_turn_over(editor)
    await editor.prompt(session, f"{_begin(second)}\nsay Begun.")
    since = len(editor.frames)
    second.touch()
    await editor.wait_for_call("elicitation/create", since=since)
    await editor.prompt(session, "say Next.")

    assert (len(_turn_states(editor)), answers) == (2, [])
    assert editor.text(session).endswith("Next.\n")


async def test_a_prompt_answers_the_question_whether_to_go_on(
    start: EditorFactory, workspace: Path, home: Path
) -> None:
    configure(home, {"background": {"turns": "ask"}})
    editor, session = await _start(start, workspace, ZED)
    withdrawn = asyncio.Event()

    async def answer(_: object) -> dict[str, Any]:
        await withdrawn.wait()
        return {"action": "accept", "content": {"go_on": True}}

    editor.host.forms = answer
    gate = workspace / "gate"
    await editor.prompt(session, f"{_begin(gate)}\nsay Begun.")
    gate.touch()
    await editor.wait_for_call("elicitation/create")
    await editor.prompt(session, "say Mine.")
    withdrawn.set()
    await editor.prompt(session, "say Again.")

    assert _turn_states(editor) == []
    assert [frame for frame in editor.frames if frame.method == "$/cancel_request"]


async def test_a_prompt_that_comes_while_its_own_turn_runs_waits(start: EditorFactory, workspace: Path) -> None:
    editor, session = await _start(start, workspace)
    gate = workspace / "gate"
    await editor.prompt(session, f"{_begin(gate)}\nsay Begun.\non news\nsay begun\nsleep 0.3\nsay Looked.")
    gate.touch()
    await _said(editor, session, "begun")
    await editor.prompt(session, "say Mine.")

    assert editor.text(session) == "Begun.\n\nbegun\nLooked.\nMine.\n"


async def test_a_turn_of_its_own_is_shown_again_with_what_began_it(start: EditorFactory, workspace: Path) -> None:
    editor, session = await _start(start, workspace)
    gate = workspace / "gate"
    await editor.prompt(session, f"{_begin(gate, 'exit 3')}\nsay Building.\non news\nsay I saw it.")
    gate.touch()
    await _own_turn_over(editor)
    await editor.request("session/close", {"sessionId": session})
    since = len(editor.frames)
    await editor.load_session(session, workspace)

    again = [frame.update for frame in editor.frames[since:] if _is_told(frame)]
    texts = [update["content"]["text"] for update in again if update["sessionUpdate"] == "agent_message_chunk"]
    assert "".join(texts) == "Building.\n\nI saw it.\n"
    assert [one for one in again if one["sessionUpdate"] == "notice" and "exit code 3" in one["title"]]
    assert len([one for one in again if one["sessionUpdate"] == "user_message_chunk"]) == 1


async def test_a_session_that_is_closed_while_something_runs_tells_so_when_it_is_loaded(
    start: EditorFactory, workspace: Path
) -> None:
    editor, session = await _start(start, workspace)
    await editor.prompt(session, f"{_begin(workspace / 'never')}\nsay Begun.")
    await editor.request("session/close", {"sessionId": session})
    await editor.load_session(session, workspace)
    (task,) = await _tasks(editor, session)
    assert (await editor.request("_hermes/session/tasks", {"sessionId": session}))["waiting"] == 1
    since = len(editor.frames)
    await editor.prompt(session, "say Next.")

    assert (await editor.request("_hermes/session/tasks", {"sessionId": session}))["waiting"] == 0
    assert (task["state"], task["detail"]) == ("stopped", "the session was closed")
    told = [frame.update for frame in editor.frames[since:] if frame.is_update(session, "agent_thought_chunk")]
    assert "the session was closed" in json.dumps(told)


async def test_a_sub_agent_that_ended_with_its_session_is_told_of_though_others_take_longer_to_end(
    start: EditorFactory, workspace: Path
) -> None:
    editor, session = await _start(start, workspace)
    stays = {"command": "trap '' TERM; echo on; while :; do sleep 0.05; done", "background": True}
    script = f"call terminal {json.dumps(stays)}\n{delegates('sleep 600', background=True)}\nsay Begun."
    await editor.prompt(session, script)
    await editor.request("session/close", {"sessionId": session})
    await editor.load_session(session, workspace)
    since = len(editor.frames)
    await editor.prompt(session, "say Next.")

    told = [frame.update for frame in editor.frames[since:] if frame.is_update(session, "agent_thought_chunk")]
    assert "sleep 600 was ended: the session was closed" in json.dumps(told)


async def test_a_turn_of_its_own_is_taken_back_as_any(start: EditorFactory, workspace: Path) -> None:
    editor, session = await _start(start, workspace)
    gate, made = workspace / "gate", workspace / "made.txt"
    await editor.prompt(session, f"{_begin(gate)}\nsay Begun.\non news\nwrite made.txt x\nsay Made.")
    gate.touch()
    await _own_turn_over(editor)
    assert made.exists()
    await editor.prompt(session, "/undo")

    assert not made.exists()
    await editor.prompt(session, "say Next.")
    assert editor.text(session).endswith("Next.\n")


async def test_a_turn_of_its_own_that_fails_says_why_and_is_over(start: EditorFactory, workspace: Path) -> None:
    editor, session = await _start(start, workspace)
    gate = workspace / "gate"
    await editor.prompt(session, f"{_begin(gate)}\nsay Begun.\non news\nfail 401")
    gate.touch()

    assert await _own_turn_over(editor) == {"state": "over", "stopReason": "error"}
    notices = [frame.update for frame in editor.frames if frame.is_update(session, "notice")]
    assert "401" in json.dumps(notices[-1])
    await editor.prompt(session, "say Next.")
    assert editor.text(session).endswith("Next.\n")
