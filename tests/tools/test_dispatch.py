"""Whatever a tool does, a well-formed result comes out."""

import asyncio
import json
import threading

import pytest

from tests.support.tool_context import error_of, make_context, value_of
from tools.dispatch import dispatch, unknown_tool
from tools.errors import ToolError, ToolInterrupted
from tools.result import ShownText, ToolResult

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}


@pytest.fixture
def run(shared_registry, tmp_path):
    """Registers a handler and calls it."""

    def run(handler, arguments=None, schema=SCHEMA, **extra):
        shared_registry.register(name="demo", toolset="demo", schema=schema, handler=handler, **extra)
        return dispatch("demo", arguments or {}, make_context(tmp_path))

    return run


def test_a_handler_gets_its_arguments_the_task_and_the_context(run):
    seen = {}

    def handler(args, **kw):
        seen.update(kw, args=args)
        return json.dumps({"text": args["text"].upper()})

    result = run(handler, {"text": "hi"})

    assert json.loads(result.text) == {"text": "HI"}
    assert not result.failed
    assert seen["task_id"] == "task-1"
    assert seen["ctx"].session_id == "session-1"


def test_a_handler_may_change_its_arguments_without_changing_the_caller_s(run):
    arguments = {"text": "hi"}

    run(lambda args, **kw: str(args.pop("text")), arguments)

    assert arguments == {"text": "hi"}


class TestBadCalls:
    @pytest.mark.usefixtures("shared_registry")
    def test_an_unknown_tool_names_the_nearest_real_ones(self, tmp_path):
        result = dispatch("readfile", {}, make_context(tmp_path))

        assert result.failed
        message = error_of(result)
        assert "'readfile'" in message
        assert "Did you mean: read_file" in message

    def test_an_unknown_tool_that_is_like_no_other_names_all(self):
        assert "alpha, beta" in unknown_tool("zzz", ["alpha", "beta"]).text

    def test_without_any_tool_the_answer_is_still_a_sentence(self):
        assert "no tools are available" in unknown_tool("zzz", []).text

    def test_a_missing_argument_is_named_and_the_handler_not_called(self, run):
        called = []

        result = run(lambda args, **kw: called.append(1), {}, {**SCHEMA, "required": ["text"]})

        assert result.failed
        assert "'text' is missing" in error_of(result)
        assert called == []


class TestFailures:
    def test_a_tool_error_is_told_in_its_own_words(self, run):
        def handler(args, **kw):
            raise ToolError("There is no file a.py; did you mean b.py?")

        result = run(handler)

        assert result.failed
        assert value_of(result) == {"error": "There is no file a.py; did you mean b.py?"}

    @pytest.mark.parametrize(
        "problem", [ValueError("bad"), KeyError("bad"), RecursionError("bad"), SystemExit("bad"), MemoryError("bad")]
    )
    def test_any_exception_becomes_a_failed_result_and_is_logged(self, run, problem, caplog):
        def handler(args, **kw):
            raise problem

        result = run(handler)

        assert result.failed
        assert type(problem).__name__ in error_of(result)
        assert "tool demo failed" in caplog.text

    def test_the_interrupt_goes_through(self, run):
        def handler(args, **kw):
            raise ToolInterrupted

        with pytest.raises(ToolInterrupted):
            run(handler)

    def test_a_person_s_ctrl_c_goes_through(self, run):
        def handler(args, **kw):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            run(handler)


class TestResults:
    def test_a_full_result_is_passed_on_as_it_is(self, run):
        full = ToolResult("{}", (ShownText("seen"),), {"line": 3})

        assert run(lambda args, **kw: full) is full

    @pytest.mark.parametrize(
        ("text", "failed"),
        [
            ('{"ok": 1}', False),
            ('{"error": ""}', False),
            ('{"error": null}', False),
            ('{"error": "no"}', True),
            ('{"success": false}', True),
            ('{"success": true}', False),
            ("{broken", False),
            ("error: plain words", False),
            ("[1]", False),
            ("", False),
        ],
    )
    def test_a_plain_string_tells_by_its_json_whether_it_failed(self, run, text, failed):
        result = run(lambda args, **kw: text)

        assert (result.text, result.failed) == (text, failed)

    @pytest.mark.parametrize(
        ("value", "text"),
        [({"a": "ü"}, '{"a": "ü"}'), ([1, 2], "[1, 2]"), (None, "null"), (7, "7"), ({"p": {1}}, '{"p": "{1}"}')],
    )
    def test_a_value_that_is_no_string_becomes_json(self, run, value, text):
        assert run(lambda args, **kw: value).text == text

    @pytest.mark.parametrize("value", [{(1, 2): 3}, "circular"])
    def test_a_value_that_json_cannot_hold_becomes_a_failed_result(self, run, value):
        if value == "circular":
            value = []
            value.append(value)

        result = run(lambda args, **kw: value)

        assert result.failed
        assert error_of(result).startswith("demo failed")


class TestCap:
    def test_a_result_that_is_too_long_keeps_its_head_and_tail(self, run):
        result = run(lambda args, **kw: "H" * 500 + "T" * 500, max_result_size_chars=100)

        assert result.text.startswith("H" * 70)
        assert result.text.endswith("T" * 20)
        assert "910 characters left out" in result.text

    def test_one_that_just_fits_is_whole(self, run):
        assert run(lambda args, **kw: "x" * 100, max_result_size_chars=100).text == "x" * 100

    def test_without_a_limit_of_its_own_the_settings_one_counts(self, run):
        assert len(run(lambda args, **kw: "x" * 200_000).text) < 100_000

    def test_what_the_person_sees_and_the_facts_are_not_cut(self, run):
        full = ToolResult("x" * 1000, (ShownText("y" * 1000),), {"line": 3}, failed=True)

        result = run(lambda args, **kw: full, max_result_size_chars=100)

        assert (result.shown, result.facts, result.failed) == (full.shown, full.facts, True)


class TestAsync:
    def test_an_async_handler_is_awaited(self, run):
        async def handler(args, **kw):
            await asyncio.sleep(0)
            return '{"done": true}'

        assert run(handler, is_async=True).text == '{"done": true}'

    def test_it_is_awaited_even_when_its_registration_forgot_to_say_so(self, run):
        async def handler(args, **kw):
            return '{"done": true}'

        assert run(handler).text == '{"done": true}'

    def test_calls_from_one_thread_share_one_loop(self, run):
        loops = []

        async def handler(args, **kw):
            loops.append(asyncio.get_running_loop())
            return "{}"

        run(handler, is_async=True)
        run(handler, is_async=True)

        assert loops[0] is loops[1]

    def test_the_loop_of_a_thread_is_closed_with_it(self, run):
        loops = []

        async def handler(args, **kw):
            loops.append(asyncio.get_running_loop())
            return "{}"

        thread = threading.Thread(target=lambda: run(handler, is_async=True))
        thread.start()
        thread.join()

        assert loops[0].is_closed()

    @pytest.mark.parametrize("problem", [ValueError("bad"), asyncio.CancelledError("bad")])
    def test_a_failure_inside_becomes_a_failed_result(self, run, problem):
        async def handler(args, **kw):
            raise problem

        assert run(handler, is_async=True).failed
