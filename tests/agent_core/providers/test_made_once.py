from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agent_core.messages import Message, assistant_message, tool_call, tool_message, user_message
from agent_core.providers.base import ModelRequest
from agent_core.providers.choice import ModelChoice, ModelFacts
from agent_core.providers.made_once import MadeOnce, Piece, RequestParts, body_json
from agent_core.providers.wire.anthropic_messages import ANTHROPIC_MESSAGES
from agent_core.providers.wire.chat_completions import CHAT_COMPLETIONS
from agent_core.providers.wire.codex_responses import CODEX_RESPONSES
from tests.support.choices import choice_for
from tests.support.each import each

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)
_PROTOCOLS = (
    (CHAT_COMPLETIONS, "chat_completions"),
    (ANTHROPIC_MESSAGES, "anthropic_messages"),
    (CODEX_RESPONSES, "codex_responses"),
)
_IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
_TOOLS = [{"type": "function", "function": {"name": "read_file", "parameters": {"type": "object"}}}]


def choice(api_mode: str = "chat_completions", vision: bool | None = None) -> ModelChoice:
    facts = ModelFacts(vision=vision)
    return choice_for("http://localhost/v1", api_mode=api_mode, facts=facts)


def _conversation(turns: int) -> list[Message]:
    messages: list[Message] = [{"role": "system", "content": "Be brief."}]
    for number in range(turns):
        call = tool_call(f"c{number}", "read_file", '{"path": "x.py"}')
        said = user_message([{"type": "text", "text": "«"}, _IMAGE] if number % 3 == 1 else f"{number} \udc80")
        messages += [said, assistant_message("", [call]), tool_message(call, "text"), assistant_message("done")]
    return messages


def _as_pieces(value: Any, deep: int = 3) -> Any:
    if isinstance(value, dict) and deep < 3:
        return Piece(value)
    if isinstance(value, list):
        return [_as_pieces(one, deep - 1) for one in value]
    return {key: _as_pieces(one, deep - 1) for key, one in value.items()} if isinstance(value, dict) else value


@given(st.dictionaries(st.text(max_size=3), _VALUES, max_size=4))
def test_a_body_is_the_json_that_it_would_be_without_pieces(body: dict[str, Any]) -> None:
    plain = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    assert body_json(body) == plain
    assert body_json(_as_pieces(body)) == plain


@each("protocol, api_mode", _PROTOCOLS)
def test_requests_of_a_growing_conversation_are_those_that_a_new_session_would_send(
    protocol: Any, api_mode: str
) -> None:
    parts, chosen = RequestParts(), choice(api_mode)
    whole = _conversation(8)
    for length in [*range(2, len(whole) + 1), 7, 8, 3, len(whole)]:  # it grows, and twice something is taken back
        request = ModelRequest("m", whole[:length], tools=_TOOLS, parts=parts)
        anew = ModelRequest("m", whole[:length], tools=_TOOLS)
        assert body_json(protocol.encode(request, chosen)) == body_json(protocol.encode(anew, chosen))


def test_another_model_is_sent_what_it_takes() -> None:
    parts, whole = RequestParts(), _conversation(3)
    sent = [
        body_json(CHAT_COMPLETIONS.encode(ModelRequest("m", whole, parts=parts), choice(vision=vision)))
        for vision in (True, False, True)
    ]
    assert b"does not take images" in sent[1]
    assert sent[0] == sent[2] != sent[1]


def test_only_what_is_new_is_made() -> None:
    once, made = MadeOnce(), []

    def make(number: int) -> str:
        made.append(number)
        return str(number)

    assert once.of([1, 2, 3], make, "key") == ["1", "2", "3"]
    assert once.of([1, 2, 3, 4], make, "key") == ["1", "2", "3", "4"]
    assert made == [1, 2, 3, 4]
    assert once.of([1, 2, 5], make, "key") == ["1", "2", "5"]
    assert made == [1, 2, 3, 4, 5]
    assert once.of([1], make, "other") == ["1"]
    assert once.of([], make, "other") == []
    assert made == [1, 2, 3, 4, 5, 1]


def test_what_a_caller_does_to_its_list_is_not_remembered() -> None:
    once = MadeOnce()
    once.of([1, 2], str, "key").append("more")
    assert once.of([1, 2, 3], str, "key") == ["1", "2", "3"]
