"""The beginning of a session's requests, which servers keep."""

from __future__ import annotations

import logging

from agent_core.messages import assistant_message, user_message
from agent_core.model_request.history_filter import PrefixWatch
from agent_core.providers.base import ModelRequest

ONE, TWO, THREE = user_message("one"), assistant_message("two"), user_message("three")
TOOLS = [{"type": "function", "function": {"name": "a"}}]


def request(*messages, tools=()):
    return ModelRequest("m", messages, tools)


def test_a_conversation_that_only_grows_breaks_nothing():
    watch = PrefixWatch()
    for length in range(1, 4):
        watch.see("m", request(*(ONE, TWO, THREE)[:length]))
    assert watch.breaks == []


def test_an_equal_message_is_the_same_message_whichever_object_it_is():
    watch = PrefixWatch()
    watch.see("m", request(ONE))
    watch.see("m", request({**ONE}, TWO))
    assert watch.breaks == []


def test_a_change_that_was_announced_is_counted_once_with_its_cause():
    watch = PrefixWatch()
    watch.see("m", request(ONE, TWO))
    watch.expect("prune")
    watch.see("m", request(user_message("other"), TWO))
    watch.see("m", request(user_message("other"), TWO, THREE))
    assert watch.breaks == ["prune"]


def test_a_change_that_nobody_announced_is_counted_and_logged(caplog):
    watch = PrefixWatch()
    watch.see("m", request(ONE))
    with caplog.at_level(logging.WARNING):
        watch.see("m", request(TWO))
    assert watch.breaks == ["unexpected"]
    assert "cache is lost" in caplog.text


def test_other_tools_break_the_prefix():
    watch = PrefixWatch()
    watch.see("m", request(ONE))
    watch.expect("tools")
    watch.see("m", request(ONE, tools=TOOLS))
    assert watch.breaks == ["tools"]


def test_each_model_has_a_prefix_of_its_own():
    watch = PrefixWatch()
    watch.see("first", request(ONE))
    watch.expect("fallback")
    watch.see("second", request(ONE, TWO))
    watch.see("first", request(ONE, TWO, THREE))
    assert watch.breaks == []


def test_an_announcement_is_for_the_next_request_only():
    watch = PrefixWatch()
    watch.see("m", request(ONE))
    watch.expect("prune")
    watch.see("m", request(ONE, TWO))
    watch.see("m", request(TWO))
    assert watch.breaks == ["unexpected"]


def test_an_announcement_waits_for_each_model_that_has_a_prefix():
    watch = PrefixWatch()
    for model in ("first", "second"):
        watch.see(model, request(ONE, TWO))
    watch.expect("prune")
    for model in ("first", "second"):
        watch.see(model, request(user_message("other"), TWO))
    assert watch.breaks == ["prune", "prune"]
