"""What plugins may do around tool calls."""

from __future__ import annotations

import json

import pytest

from tests.support.tool_context import error_of, make_context, value_of
from tools.dispatch import dispatch
from tools.errors import ToolInterrupted
from tools.registry import registered_by
from tools.result import ToolResult

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}


@pytest.fixture
def registry(shared_registry):
    """It has the tool `echo`; the hooks that a test adds are gone after it."""
    shared_registry.register("echo", "demo", SCHEMA, lambda args, **kw: json.dumps(args))
    with registered_by("a test"):
        yield shared_registry
    shared_registry.withdraw("a test")


@pytest.fixture
def call(registry, tmp_path):
    return lambda **arguments: dispatch("echo", arguments, make_context(tmp_path))


class TestBefore:
    def test_a_hook_sees_the_arguments_put_right_and_lets_the_call_go_on(self, registry, call):
        seen = []
        registry.add_hook(
            "pre_tool_call", lambda name, arguments, ctx: seen.append((name, arguments, ctx.session_id))
        )

        assert call(n="5").text == '{"n": 5}'
        assert seen == [("echo", {"n": 5}, "session-1")]

    def test_a_text_refuses_the_call(self, registry, call):
        registry.add_hook("pre_tool_call", lambda name, arguments, ctx: "Not on Sundays.")

        result = call(n=1)

        assert result.failed
        assert value_of(result) == {"error": "Not on Sundays."}

    def test_an_empty_text_refuses_too(self, registry, call):
        registry.add_hook("pre_tool_call", lambda name, arguments, ctx: "")

        assert call().failed

    def test_a_mapping_changes_the_arguments_for_the_hooks_after_it_and_the_tool(self, registry, call):
        seen = []
        registry.add_hook("pre_tool_call", lambda name, arguments, ctx: {**arguments, "n": "7"})
        registry.add_hook("pre_tool_call", lambda name, arguments, ctx: seen.append(arguments))

        assert call(n=1).text == '{"n": 7}'
        assert seen == [{"n": "7"}]

    def test_arguments_that_no_longer_fit_are_refused(self, registry, call):
        registry.add_hook("pre_tool_call", lambda name, arguments, ctx: {"n": "x"})

        assert "has to be a whole number" in error_of(call(n=1))

    @pytest.mark.parametrize("answer", [True, 5, ["x"]])
    def test_any_other_answer_refuses(self, registry, call, answer):
        registry.add_hook("pre_tool_call", lambda name, arguments, ctx: answer)

        assert "it returned" in error_of(call(n=1))

    def test_a_hook_that_fails_refuses(self, registry, call, caplog):
        registry.add_hook("pre_tool_call", lambda name, arguments, ctx: 1 / 0)

        assert "ZeroDivisionError" in error_of(call(n=1))
        assert "failed before a call of echo" in caplog.text

    def test_what_a_hook_does_to_its_copy_stays_there(self, registry, call):
        registry.add_hook("pre_tool_call", lambda name, arguments, ctx: arguments.clear())

        assert call(n=1).text == '{"n": 1}'

    def test_the_end_of_the_turn_goes_through(self, registry, call):
        def stopped(name, arguments, ctx):
            raise ToolInterrupted

        registry.add_hook("pre_tool_call", stopped)

        with pytest.raises(ToolInterrupted):
            call()


class TestAfter:
    def test_a_hook_sees_the_result_and_leaves_it(self, registry, call):
        seen = []
        registry.add_hook(
            "post_tool_call", lambda name, arguments, result, ctx: seen.append((arguments, result.text))
        )

        assert call(n=1).text == '{"n": 1}'
        assert seen == [({"n": 1}, '{"n": 1}')]

    def test_it_may_return_another(self, registry, call):
        registry.add_hook("post_tool_call", lambda name, arguments, result, ctx: ToolResult("less", failed=True))

        result = call(n=1)

        assert (result.text, result.failed) == ("less", True)

    @pytest.mark.parametrize("hook", [lambda *_: 1 / 0, lambda *_: "text"])
    def test_one_that_fails_is_passed_over(self, registry, call, hook, caplog):
        registry.add_hook("post_tool_call", hook)

        assert call(n=1).text == '{"n": 1}'
        assert "hook" in caplog.text

    def test_a_refused_call_has_no_result_to_look_at(self, registry, call):
        seen = []
        registry.add_hook("pre_tool_call", lambda *_: "no")
        registry.add_hook("post_tool_call", lambda *_: seen.append(1))

        call()

        assert seen == []


def test_a_hook_can_be_taken_back(registry, call):
    def no(name, arguments, ctx):
        return "no"

    registry.add_hook("pre_tool_call", no)
    registry.remove_hook("pre_tool_call", no)

    assert not call(n=1).failed
