from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from agent_core.messages import Message, assistant_message, tool_call, tool_message, user_message
from agent_core.providers.anthropic_messages import ANTHROPIC_MESSAGES
from agent_core.providers.base import ModelRequest
from agent_core.providers.chat_completions import CHAT_COMPLETIONS
from agent_core.providers.choice import Dialect, ModelChoice, ModelFacts
from agent_core.providers.json_fragments import GroupedOnce, MadeOnce, RequestParts, body_json
from agent_core.providers.responses import CODEX_RESPONSES
from tests.support.choices import choice_for
from tests.support.each import each

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


def test_models_of_several_protocols_by_turns_are_sent_what_each_would_be_sent_alone() -> None:
    parts, whole = RequestParts(), _conversation(5)
    mistral = choice_for("http://localhost/v1", dialect=Dialect(nine_in_ids=True, cache_markers=True))
    order = [*_PROTOCOLS, (CHAT_COMPLETIONS, mistral), *_PROTOCOLS, *reversed(_PROTOCOLS)]
    for length, (protocol, mode) in zip(range(2, 21, 2), order, strict=False):
        chosen = mode if isinstance(mode, ModelChoice) else choice(mode)
        for messages in (whole[:length], whole[: length - 1]):
            request = ModelRequest("m", messages, parts=parts, cache_ttl="5m")
            anew = ModelRequest("m", messages, cache_ttl="5m")
            assert body_json(protocol.encode(request, chosen)) == body_json(protocol.encode(anew, chosen))


def test_the_first_image_of_a_result_stands_where_the_model_takes_it_however_late_it_comes() -> None:
    parts, whole = RequestParts(), _conversation(3)
    call = tool_call("seen", "look", "{}")
    seen: list[Message] = [user_message("look"), assistant_message("", [call])]
    seen.append({"role": "tool", "tool_call_id": "seen", "name": "look", "content": [_IMAGE]})  # type: ignore[typeddict-item]
    within = choice("anthropic_messages")
    longer = [*whole, *seen]
    goes_on = [*longer, assistant_message("A cat."), user_message("Sure?")]
    turns = (
        (whole, choice()),
        (longer, within),
        (longer, choice()),
        (goes_on, choice()),
        (whole, choice()),
    )
    for messages, chosen in turns:
        protocol = ANTHROPIC_MESSAGES if chosen is within else CHAT_COMPLETIONS
        request, anew = ModelRequest("m", messages, parts=parts), ModelRequest("m", messages)
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


def test_a_key_that_is_equal_makes_nothing_anew_and_any_other_everything() -> None:
    once, groups = MadeOnce(), GroupedOnce()
    for key, kept in (((*"ab",), 0), ((*"ab",), 3), ((*"ac",), 0)):
        once.of([1, 2, 11], str, key)
        groups.of([1, 2, 11, 21], _pairs_begin, lambda _, group: group, key)
        assert (once.kept, groups.kept) == (kept, kept)


def test_what_a_caller_does_to_its_list_is_not_remembered() -> None:
    once = MadeOnce()
    once.of([1, 2], str, "key").append("more")
    assert once.of([1, 2, 3], str, "key") == ["1", "2", "3"]


def _pairs_begin(before: int, number: int) -> bool:
    return before // 10 != number // 10


def test_only_groups_that_are_new_and_the_last_one_are_made() -> None:
    once, made = GroupedOnce(), list[tuple[int | None, list[int]]]()

    def make(before: int | None, group: Any) -> list[str]:
        made.append((before, list(group)))
        return [str(number) for number in group]

    assert once.of([1, 2, 11], _pairs_begin, make) == ["1", "2", "11"]
    assert once.kept == 0
    assert once.of([1, 2, 11, 12, 21], _pairs_begin, make) == ["1", "2", "11", "12", "21"]
    assert once.kept == 2
    assert made == [(None, [1, 2]), (2, [11]), (2, [11, 12]), (12, [21])]
    assert once.of([1, 2], _pairs_begin, make, "another key") == ["1", "2"]
    assert once.kept == 0


def test_groups_of_which_less_is_made_than_they_have_objects_are_made_anew_where_they_change() -> None:
    once = GroupedOnce()

    def make(_: int | None, group: Any) -> list[int]:
        return [sum(group)]

    assert once.of([1, 2, 11, 12, 21], _pairs_begin, make) == [3, 23, 21]
    assert once.of([1, 2, 11, 15], _pairs_begin, make) == [3, 26]
    assert once.kept == 1


def test_what_was_made_before_a_failure_is_not_taken_for_that_of_other_objects() -> None:
    once = GroupedOnce()

    def make(_: int | None, group: Any) -> list[int]:
        return [100 // number for number in group]

    assert once.of([1, 20], _pairs_begin, make) == [100, 5]
    with pytest.raises(ZeroDivisionError):
        once.of([10, 50, 0], _pairs_begin, make)
    assert once.of([1, 20], _pairs_begin, make) == [100, 5]


@each("protocol, api_mode", _PROTOCOLS)
def test_requests_with_another_system_prompt_are_those_that_a_new_session_would_send(
    protocol: Any, api_mode: str
) -> None:
    parts, chosen, whole = RequestParts(), choice(api_mode), _conversation(8)
    for number, length in enumerate([4, 9, 9, 12, 33, 2, 33, 33]):
        whole[0] = {"role": "system", "content": f"Be brief, {number // 2}."}
        request = ModelRequest("m", whole[:length], tools=_TOOLS, parts=parts)
        anew = ModelRequest("m", whole[:length], tools=_TOOLS)
        assert body_json(protocol.encode(request, chosen)) == body_json(protocol.encode(anew, chosen))


def test_what_follows_another_first_object_is_not_made_anew() -> None:
    asked: list[str] = []

    def make(one: str) -> str:
        asked.append(one)
        return one.upper()

    once = MadeOnce()
    once.of(["a", "x", "y"], make, "key")
    asked.clear()
    assert once.of(["b", "x", "y", "z"], make, "key") == ["B", "X", "Y", "Z"]
    assert asked == ["b", "z"]
    assert once.kept == 0, "a text that was put together begins with another piece"
    assert once.of(["b", "x", "y", "z"], make, "key") == ["B", "X", "Y", "Z"]
    assert once.kept == 4


def test_groups_behind_another_first_object_are_not_made_anew_unless_the_next_depends_on_it() -> None:
    asked: list[tuple[str | None, str]] = []

    def make(before: str | None, group: Sequence[str]) -> list[str]:
        asked.append((before, "".join(group)))
        return [f"{(before or '-').upper() if group[0] == 'X' else ''}{''.join(group)}"]

    def begins(_: str, one: str) -> bool:
        return one.isupper()

    once, rest = GroupedOnce(), ["B", "c", "C", "D", "E"]
    once.of(["A", *rest], begins, make)
    asked.clear()
    assert once.of(["Q", *rest], begins, make) == ["Q", "Bc", "C", "D", "E"]
    assert ("C", "D") not in asked, "it was made before"
    assert once.kept == 0
    once.of(["A", "X", "Y"], begins, make)
    assert once.of(["Q", "X", "Y"], begins, make) == ["Q", "QX", "Y"]
    assert once.of(["q", "x", "Y"], begins, make) == ["qx", "Y"]


@each(
    ("known", "then", "anew"),
    [
        (["a", "x"], ["b", "x"], ["b"]),
        (["a", "x", "y"], ["b", "x"], ["b"]),
        (["a"], ["b", "x"], ["b", "x"]),
        (["a", "x"], ["b"], ["b"]),
        (["a", "x"], ["b", "y"], ["b", "y"]),
    ],
)
def test_lists_of_any_length_may_begin_with_another_object(
    known: list[str], then: list[str], anew: list[str]
) -> None:
    once, asked = MadeOnce(), list[str]()
    once.of(known, str.upper, "key")
    assert once.of(then, lambda one: asked.append(one) or one.upper(), "key") == [one.upper() for one in then]
    assert asked == anew


def test_another_first_object_may_join_the_next_or_become_several() -> None:
    once = GroupedOnce()

    def signs(_: str | None, group: Sequence[str]) -> list[str]:
        return list("".join(group)) if "glue" not in group else ["".join(group)]

    def begins(before: str, _: str) -> bool:
        return before != "glue"

    for first, made in (("a", "a"), ("bc", "b c"), ("d", "d"), ("glue", ""), ("e", "e")):
        rest = ["x", "y"] if first != "glue" else ["gluex", "y"]
        assert once.of([first, "x", "y"], begins, signs) == [*made.split(), *rest]


def test_groups_that_look_at_what_stands_before_them_are_kept_where_it_makes_no_difference() -> None:
    asked: list[str] = []

    def make(before: str | None, group: Sequence[str]) -> list[str]:
        asked.append("".join(group))
        return [f"{before is None} {before in group} {''.join(group)}"]

    once = GroupedOnce()
    once.of(["a", "x", "y", "z"], lambda *_: True, make)
    asked.clear()
    made = once.of(["b", "x", "y", "z"], lambda *_: True, make)
    assert made == ["True False b", "False False x", "False False y", "False False z"]
    assert asked == ["b", "x", "z"], "the second was looked at, the last may go on"
    asked.clear()
    assert once.of(["b", "x", "y", "z"], lambda *_: True, make) == made
    assert (asked, once.kept) == (["z"], 3), "now that first one is known too"


def test_another_first_object_counts_as_new_also_after_a_failure_behind_it() -> None:
    def make(one: str) -> str:
        if one == "broken":
            raise ValueError(one)
        return one.upper()

    def alone(_: str | None, group: Sequence[str]) -> list[str]:
        return [make(one) for one in group]

    once, groups = MadeOnce(), GroupedOnce()
    once.of(["a", "x", "y"], make, "key")
    groups.of(["a", "x", "y"], lambda *_: True, alone)
    with pytest.raises(ValueError, match="broken"):
        once.of(["b", "x", "y", "broken"], make, "key")
    with pytest.raises(ValueError, match="broken"):
        groups.of(["b", "x", "y", "broken"], lambda *_: True, alone)
    assert once.of(["b", "x", "y"], make, "key") == ["B", "X", "Y"]
    assert groups.of(["b", "x", "y"], lambda *_: True, alone) == ["B", "X", "Y"]
    assert (once.kept, groups.kept) == (0, 0), "the text of the first one was never written"
