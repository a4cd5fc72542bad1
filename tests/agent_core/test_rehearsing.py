"""What is made ready of a stored conversation is what its next request needs, and changes nothing of it."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from agent_core.compaction import tokens
from agent_core.compaction.view import shown
from agent_core.messages import Message, assistant_message, tool_call, tool_message, user_message
from agent_core.model_request.history_filter import Omissions
from agent_core.providers import chat_completions
from agent_core.providers.base import ModelRequest
from agent_core.providers.chat_completions import CHAT_COMPLETIONS
from agent_core.providers.http_provider import HttpProvider
from agent_core.providers.json_fragments import RequestParts, body_json
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
def worked_on(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What is done from now on: («converted» or «counted», a message's role)."""
    done = list[tuple[str, str]]()
    convert, count = chat_completions._message, tokens.message_tokens

    def converting(message: Message, *rest: Any) -> Any:
        done.append(("converted", message["role"]))
        return convert(message, *rest)

    def counting(message: Message, text: Any) -> float:
        done.append(("counted", message["role"]))
        return count(message, text)

    monkeypatch.setattr(chat_completions, "_message", converting)
    monkeypatch.setattr(tokens, "message_tokens", counting)
    return done


def _ask(services: SessionServices, history: list[Message], omissions: Omissions) -> None:
    system: Message = {"role": "system", "content": "Be brief."}
    told = (system, *shown(history, omissions, None), user_message("and now?"))
    request = ModelRequest("m", told, cache_ttl="5m", parts=services.parts)
    services.meter.tokens(_CHOICE.name, request)
    CHAT_COMPLETIONS.encode(request, _CHOICE)


@pytest.mark.parametrize("omitted", [frozenset[str](), frozenset({"c1"})])
def test_the_next_request_converts_and_counts_only_what_is_new(
    worked_on: list[tuple[str, str]], omitted: frozenset[str]
) -> None:
    store, services = _store(_SAID), SessionServices()
    store.keep("s", KeptState(system="Be polite.", omitted_results=omitted))
    _made(store).hand_over(services)
    worked_on.clear()
    read_anew: list[Message] = copy.deepcopy(store.messages("s"))
    history = services.sound.take_up(read_anew, services.call_ids)
    _ask(services, history, Omissions(set(omitted)))
    assert sorted(worked_on) == [(what, role) for what in ("converted", "counted") for role in ("system", "user")]
    assert services.call_ids == {"c1"}


def test_what_was_recalled_needs_only_to_be_converted(worked_on: list[tuple[str, str]]) -> None:
    store, services = _store(_SAID), SessionServices()
    recalled = recall(store, "s")
    assert recalled is not None
    rehearse(recalled, _ASKED)
    recalled.hand_over(services)
    worked_on.clear()
    history = services.sound.take_up(store.messages("s"), services.call_ids)
    _ask(services, history, Omissions())
    assert [role for what, role in worked_on if what == "counted"] == ["system", "user"]
    # What was made of it for a model beside it is not the prompt's, which may have begun.
    assert [role for what, role in worked_on if what == "converted"] == [
        "system", *(message["role"] for message in _SAID), "user",
    ]  # fmt: skip


def test_the_next_request_is_the_one_that_would_be_sent_without() -> None:
    store = _store(_SAID)
    made = _made(store)
    for said in (_SAID, _SAID[:2], [user_message("other"), *_SAID[1:]]):
        messages: list[Message] = [{"role": "system", "content": "Be brief."}, *said, user_message("and now?")]
        all_parts = (made.request.parts, RequestParts())
        one, other = (ModelRequest("m", messages, parts=parts) for parts in all_parts)
        assert body_json(CHAT_COMPLETIONS.encode(one, _CHOICE)) == body_json(CHAT_COMPLETIONS.encode(other, _CHOICE))


def test_without_messages_nothing_is_made() -> None:
    assert recall(_store([]), "s") is None


@pytest.mark.parametrize("is_image", [False, True])
def test_of_a_huge_conversation_nothing_is_made(monkeypatch: pytest.MonkeyPatch, is_image: bool) -> None:
    monkeypatch.setattr("agent_core.rehearsing.MOST_CHARS", 1_000)
    image: Any = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 990}}
    huge = user_message([{"type": "text", "text": "look"}, image] if is_image else "x" * 1_001)
    assert recall(_store([huge, assistant_message("ok")]), "s") is None
    assert recall(_store([user_message("x" * 900), assistant_message("ok")]), "s") is not None
