"""Prompts of every kind over the wire: links on cards of their own, questions, cancels, all shown again as sent."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agent_core.config import ConfigSource
from agent_core.home import Home
from tests.support.editor import Editor
from tests.support.editor_policies import never, reject
from tests.support.in_memory import serving
from tests.support.model_server import ModelServer, Reply
from tests.support.settings_files import use_model

_ASK = "session/request_permission"
_PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR").decode()


def _link(path: Path, lines: str = "") -> dict[str, Any]:
    return {"type": "resource_link", "name": path.name, "uri": path.as_uri() + lines}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


@dataclass
class Talk:
    """An editor with one session, whose model is a server that says what it was asked."""

    editor: Editor
    session: str
    model: ModelServer
    workspace: Path

    async def prompt(self, *blocks: dict[str, Any]) -> Any:
        self.model.add(Reply("Seen."))
        return (await self.editor.prompt(self.session, list(blocks)))["stopReason"]

    @property
    def asked(self) -> list[dict[str, Any]]:
        return [frame.params for frame in self.editor.frames if frame.method == _ASK]

    @property
    def prompts(self) -> list[Any]:
        """The person's messages, as the model was shown them the last time."""
        messages = self.model.requests[-1].body["messages"]
        return [message["content"] for message in messages if message["role"] == "user"]

    @property
    def cards(self) -> list[dict[str, Any]]:
        return list(self.editor.cards(self.session).values())


@pytest.fixture
async def talk(home: Path, workspace: Path, model_server: ModelServer) -> AsyncIterator[Talk]:
    use_model(home, model_server)
    async with serving(home, config=ConfigSource(Home(home))) as editor:
        await editor.initialize()
        yield Talk(editor, await editor.new_session(workspace), model_server, workspace)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    path = tmp_path / "outside.txt"
    path.write_text("secret\n")
    return path


async def test_a_link_is_read_on_a_card_of_its_own_in_its_place(talk: Talk) -> None:
    sums = talk.workspace / "sums.py"
    first = sums.read_text().splitlines()[0]
    assert await talk.prompt(_text("Look at"), _link(sums, "#L1"), _text("please.")) == "end_turn"
    assert talk.prompts == [
        f'Look at\n\n<attached uri="{sums.as_uri()}#L1" lines="1-1">\n1|{first}\n</attached>\n\nplease.'
    ]
    (card,) = talk.cards
    assert (card["status"], card["kind"], card["title"]) == ("completed", "read", "Read sums.py (linked)")
    assert card["locations"] == [{"path": str(sums), "line": 1}]
    assert talk.asked == []


async def test_a_file_outside_asks_on_its_card_and_is_read_after_a_yes(talk: Talk, outside: Path) -> None:
    await talk.prompt(_link(outside))
    (question,) = talk.asked
    (card,) = talk.editor.cards(talk.session).items()
    assert question["toolCall"]["toolCallId"] == card[0]
    assert card[1]["status"] == "completed"
    assert "1|secret" in talk.prompts[0]


async def test_after_a_no_the_model_is_told_so_and_the_turn_goes_on(talk: Talk, outside: Path) -> None:
    talk.editor.on_permission = reject
    assert await talk.prompt(_text("What is in it?"), _link(outside)) == "end_turn"
    (told,) = talk.prompts
    assert "secret" not in told
    assert "was not allowed (the user said no)" in told
    assert [card["status"] for card in talk.cards] == ["failed"]


async def test_a_cancel_while_a_link_waits_for_its_answer_keeps_the_prompt(talk: Talk, outside: Path) -> None:
    talk.editor.on_permission = never
    turn = talk.editor.begin_prompt(talk.session, [_text("What is in it?"), _link(outside)])
    await talk.editor.wait_for_call(_ASK)
    talk.editor.cancel(talk.session)
    assert (await talk.editor.answer(turn))["stopReason"] == "cancelled"
    assert [card["status"] for card in talk.cards] == ["failed"]
    assert talk.model.requests == []
    await talk.prompt(_text("Never mind."))
    first, second = talk.prompts
    assert first.startswith("What is in it?\n\n[Linked: outside.txt, ")
    assert "its content was not read.]" in first
    assert second == "Never mind."


_KINDS: dict[str, dict[str, Any]] = {
    "text": _text("Look:"),
    "image": {"type": "image", "mimeType": "image/png", "data": _PNG},
    "image with an address": {"type": "image", "mimeType": "image/png", "data": _PNG, "uri": "file:///srv/a.png"},
    "audio": {"type": "audio", "mimeType": "audio/wav", "data": "UklGRg=="},
    "link": {
        "type": "resource_link",
        "name": "gone",
        "uri": "file:///srv/gone#L1",
        "mimeType": "text/plain",
        "size": 0,
    },
    "titled link": {"type": "resource_link", "name": "x", "uri": "zed:///x", "title": "T", "description": "D"},
    "text resource": {"type": "resource", "resource": {"uri": "file:///a", "text": "", "mimeType": "text/plain"}},
    "blob resource": {"type": "resource", "resource": {"uri": "file:///a.pdf", "blob": "JVBE"}},
    "large image": {"type": "image", "mimeType": "image/png", "data": "AAAA" * 100_000},
}


async def test_every_kind_of_content_is_shown_again_as_it_was_sent(talk: Talk) -> None:
    await talk.prompt(*_KINDS.values())
    await talk.editor.request("session/close", {"sessionId": talk.session})
    known = len(talk.editor.updates(talk.session))
    await talk.editor.load_session(talk.session, talk.workspace)
    again = talk.editor.updates(talk.session)[known:]
    said = [update["content"] for update in again if update["sessionUpdate"] == "user_message_chunk"]
    assert said == list(_KINDS.values())


async def test_the_cards_of_links_are_shown_again_behind_the_prompt(talk: Talk) -> None:
    await talk.prompt(_link(talk.workspace / "sums.py"))
    before = talk.cards
    await talk.editor.request("session/close", {"sessionId": talk.session})
    known = len(talk.editor.updates(talk.session))
    await talk.editor.load_session(talk.session, talk.workspace)
    kinds = [update["sessionUpdate"] for update in talk.editor.updates(talk.session)[known:]]
    assert kinds.index("user_message_chunk") < kinds.index("tool_call") < kinds.index("agent_message_chunk")
    assert talk.cards == before


async def test_the_person_is_told_what_the_model_was_not_given(talk: Talk) -> None:
    page = {"type": "resource_link", "name": "the guide", "uri": "https://docs.example/guide"}
    sound = {"type": "audio", "mimeType": "audio/wav", "data": base64.b64encode(b"RIFF").decode()}
    assert await talk.prompt(_text("What do they say?"), page, sound) == "end_turn"
    said = talk.editor.text(talk.session)
    assert "the guide (https://docs.example/guide) was not read" in said
    assert "Audio (wav) was attached; test-model cannot listen to it here." in said
