"""What is made ready of a stored conversation is what its next request needs, and changes nothing of it."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from agent_core.compaction import tokens
from agent_core.compaction.view import shown
from agent_core.messages import Message, assistant_message, tool_call, tool_message, user_message
from agent_core.model_request.history_filter import Omissions
from agent_core.providers.base import ModelRequest
from agent_core.providers.chat_completions import CHAT_COMPLETIONS
from agent_core.providers.http_provider import HttpProvider
from agent_core.rehearsing import Asked, Rehearsed, recall, rehearse
from agent_core.services import SessionServices
from agent_core.sessions.records import KeptState
from agent_core.sessions.store import InMemorySessionStore
from tests.support.choices import choice_for

_CHOICE = choice_for("http://localhost/v1")
_ASKED = Asked(HttpProvider(_CHOICE, CHAT_COMPLETIONS), _CHOICE, None, "5m")
_CALL = tool_call("c1", "read_file", "{}")
_SAID: list[Message] = [
    user_message("look " * 20),
    assistant_message("", [_CALL]),
    tool_message(_CALL, "what is there " * 20),
    assistant_message("There it is. " * 20),
]


def _store(messages: list[Message]) -> InMemorySessionStore:
    store = InMemorySessionStore()
    store.create("s", "/srv")
    store.begin_turn("s", "t")
    for message in messages:
        store.append("s", "t", message)
    store.end_turn("s", "t")
    return store


def _made(store: InMemorySessionStore) -> Rehearsed:
    recalled = recall(store, "s")
    assert recalled is not None
    return rehearse(recalled, _ASKED)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The roles of the messages that are counted from now on."""
    roles = list[str]()
    count = tokens.message_tokens

    def counting(message: Message, text: Any) -> float:
        roles.append(message["role"])
        return count(message, text)

    monkeypatch.setattr(tokens, "message_tokens", counting)
    return roles


@pytest.mark.parametrize("omitted", [frozenset[str](), frozenset({"c1"})])
def test_the_next_request_counts_only_what_is_new(counted: list[str], omitted: frozenset[str]) -> None:
    store, services = _store(_SAID), SessionServices()
    store.keep("s", KeptState(system="Be polite.", omitted_results=omitted))
    _made(store).hand_over(services)
    counted.clear()
    read_anew: list[Message] = copy.deepcopy(store.messages("s"))
    history = services.sound.take_up(read_anew, services.call_ids)
    system: Message = {"role": "system", "content": "Be brief."}
    told = (system, *shown(history, Omissions(set(omitted)), None), user_message("and now?"))
    services.meter.tokens(_CHOICE.name, ModelRequest("m", told, cache_ttl="5m"))
    assert sorted(counted) == ["system", "user"]
    assert services.call_ids == {"c1"}


def test_without_messages_nothing_is_made() -> None:
    assert recall(_store([]), "s") is None


@pytest.mark.parametrize("is_image", [False, True])
def test_of_a_huge_conversation_nothing_is_made(monkeypatch: pytest.MonkeyPatch, is_image: bool) -> None:
    monkeypatch.setattr("agent_core.rehearsing.MOST_CHARS", 1_000)
    image: Any = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 990}}
    huge = user_message([{"type": "text", "text": "look"}, image] if is_image else "x" * 1_001)
    assert recall(_store([huge, assistant_message("ok")]), "s") is None
    assert recall(_store([user_message("x" * 900), assistant_message("ok")]), "s") is not None
