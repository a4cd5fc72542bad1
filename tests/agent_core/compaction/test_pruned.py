"""Which old results become a line, and which old arguments become short."""

from __future__ import annotations

import json

from agent_core.compaction.pruning import Pruned, pruned
from agent_core.messages import assistant_message, tool_call, tool_message

PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


def made(call_id, result, *, name="read_file", **arguments):
    """A call with its result."""
    call = tool_call(call_id, name, json.dumps(arguments))
    return [assistant_message("", [call]), tool_message(call, result)]


def test_only_what_is_large_and_old_becomes_a_line():
    messages = [
        *made("small", "s" * 400),
        *made("large", "l" * 401),
        *made("picture", [PICTURE]),
        *made("last", "x" * 401),
        *made("later", "y" * 999),
    ]
    found = pruned(messages, 0, 8)
    assert set(found.results) == {"large", "picture", "last"}
    assert found.results["large"].startswith("[Earlier result, left out to make room: read_file")
    assert not found.arguments
    assert set(pruned(messages, 0, 7).results) == {"large", "picture"}
    assert set(pruned(messages, 4, 8).results) == {"picture", "last"}
    assert pruned(messages, 8, 8) == Pruned()


def test_what_a_later_result_of_the_same_tool_repeats_becomes_a_line_wherever_it_is():
    same = "same " * 100
    messages = [*made("a", same), *made("b", same, name="terminal"), *made("c", same), *made("d", same)]
    found = pruned(messages, 0, 0)
    assert set(found.results) == {"a", "c"}
    assert found.results["a"].startswith("[The same as a later result, left out here: read_file")
    pictures = [*made("a", [PICTURE]), *made("b", [PICTURE])]
    assert pruned(pictures, 0, 0) == Pruned()


def test_long_arguments_of_old_calls_become_short():
    messages = [*made("old", "", text="x" * 900), *made("fits", "", text="x" * 388), *made("new", "", text="x" * 900)]
    assert len(messages[2]["tool_calls"][0]["function"]["arguments"]) == 400
    found = pruned(messages, 0, 4)
    assert set(found.arguments) == {"old"}
    assert json.loads(found.arguments["old"])["text"].startswith("xxx")
    assert set(pruned(messages, 0, 1).arguments) == set()


def test_arguments_that_do_not_become_shorter_stay():
    messages = made("a", "", **{f"key{number}": number for number in range(60)})
    assert len(messages[0]["tool_calls"][0]["function"]["arguments"]) > 400
    assert pruned(messages, 0, 9) == Pruned()


def test_where_an_id_stands_twice_or_is_empty_nobody_knows_which_result_is_meant():
    messages = [
        *made("c", "c" * 999),
        *made("a", "x" * 999),
        *made("a", "y" * 999),
        *made("", "z" * 999),
        *made("b", "b" * 999),
    ]
    assert set(pruned(messages, 0, 10).results) == {"b", "c"}
