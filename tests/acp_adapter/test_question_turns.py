"""The tool `clarify` in a turn: by form where the editor has forms, as text where not, withdrawn by a cancel."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from tests.support.editor import PLAIN, ZED, Editor
from tests.support.in_memory import EditorFactory

ASK = 'call clarify {"question": "Which database?", "choices": ["SQLite", "Postgres"]}'


def _result(editor: Editor, session: str) -> Any:
    (card,) = editor.cards(session).values()
    return card


async def test_the_person_fills_in_a_form_on_the_card_that_asks(start: EditorFactory, tmp_path: Path) -> None:
    editor = await start()
    await editor.initialize(ZED)
    forms: list[dict[str, Any]] = []

    async def fill(params: dict[str, Any]) -> dict[str, Any]:
        forms.append(params)
        return {"action": "accept", "content": {"answer": "Postgres"}}

    editor.host.forms = fill
    session = await editor.new_session(tmp_path)
    assert await editor.prompt(session, ASK) == {"stopReason": "end_turn"}
    ((call_id, card),) = editor.cards(session).items()
    (form,) = forms
    assert (form["sessionId"], form["toolCallId"], form["message"]) == (session, call_id, "Which database?")
    assert form["requestedSchema"]["properties"]["answer"]["enum"] == ["SQLite", "Postgres"]
    assert card["status"] == "completed"
    assert "Postgres" in json.dumps(card["content"])


async def test_without_forms_the_question_is_shown_and_the_next_prompt_answers(
    start: EditorFactory, tmp_path: Path
) -> None:
    editor = await start()
    await editor.initialize(PLAIN)
    session = await editor.new_session(tmp_path)
    await editor.prompt(session, ASK)
    assert "Which database?\n\n1. SQLite\n2. Postgres" in editor.text(session)
    assert not [frame for frame in editor.frames if frame.method == "elicitation/create"]


async def test_a_cancel_withdraws_the_open_form(start: EditorFactory, tmp_path: Path) -> None:
    editor = await start()
    await editor.initialize(ZED)

    async def never(params: dict[str, Any]) -> dict[str, Any]:
        await asyncio.Event().wait()
        return {}

    editor.host.forms = never
    session = await editor.new_session(tmp_path)
    prompt = editor.begin_prompt(session, ASK)
    await editor.wait_for_call("elicitation/create")
    editor.cancel(session)
    assert (await editor.answer(prompt, "session/prompt", 10)) == {"stopReason": "cancelled"}
    await editor.wait_for_call("$/cancel_request")
