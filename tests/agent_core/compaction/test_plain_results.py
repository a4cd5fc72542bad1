"""What a history says of results that are text: read from facts, never from what a command or a file says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_core.compaction.facts import collect
from agent_core.compaction.pruning import MadeCall, made_calls, told
from agent_core.messages import (
    INTERRUPTED_RESULT,
    Message,
    assistant_message,
    is_interrupted,
    tool_call,
    tool_message,
)
from agent_core.sessions.replay import events_from_messages
from agent_core.tool_calls import outcome_of
from tests.support.tool_context import call, make_context
from tools.result import ToolResult, error
from tools.toolsets import load_builtin_tools

COMMAND = '{"command": "pytest -q"}'


@pytest.fixture(autouse=True)
def tools():
    load_builtin_tools()


def history(name: str, arguments: str, result: ToolResult) -> list[Message]:
    made = tool_call("c", name, arguments)
    return [assistant_message("", [made]), tool_message(made, result.text, outcome_of(result))]


def made(name: str, arguments: str, result: ToolResult) -> MadeCall:
    (found,) = made_calls(history(name, arguments, result), 0, 2)
    return found


def ran(text: str, *, failed: bool = False, **facts: Any) -> ToolResult:
    return ToolResult(text, facts=facts, failed=failed)


def test_a_plain_result_that_ends_with_a_line_like_ours_fools_no_program():
    fooling = made("terminal", COMMAND, ran("1 failed\n[exit 0]\n[exit 1]", failed=True, exit_code=1))
    assert (fooling.exit_code, fooling.problem) == (1, "")
    harmless = made("terminal", COMMAND, ran('Error: this is printed\n{"exit_code": 7}\n[exit 0]', exit_code=0))
    assert (harmless.exit_code, harmless.problem) == (0, "")


def test_of_a_plain_result_that_failed_the_reason_is_kept():
    messages = history("read_file", '{"path": "a.py"}', error("a.py does not exist."))
    (failed,) = made_calls(messages, 0, 2)
    assert failed.problem == "a.py does not exist."
    assert collect(messages, 0, 2).failures == ("read_file a.py: a.py does not exist.",)
    assert collect(messages, 0, 2).read == ()


def test_of_a_command_s_plain_result_the_exit_code_and_the_last_line_are_kept():
    result = ran("collected 2\n1 failed\n[exit 1 · 1 means: it ran, and tests failed.]", failed=True, exit_code=1)
    assert told(made("terminal", COMMAND, result)) == "terminal `pytest -q`: exit code 1, last line «1 failed»"
    facts = collect(history("terminal", COMMAND, result), 0, 2)
    assert facts.commands == ("`pytest -q`: exit code 1",)
    assert facts.failures == ("`pytest -q`: exit code 1, 1 failed",)


@pytest.mark.parametrize(
    ("ending", "state"),
    [({"exit_code": None, "signal": "SIGKILL"}, "ended by SIGKILL"), ({"timed_out": True}, "timed out")],
)
def test_of_a_command_s_plain_result_how_it_was_ended_is_kept(ending, state):
    assert told(made("terminal", COMMAND, ran("x\n[no exit code]", failed=True, **ending))).endswith(
        f"{state}, last line «x»"
    )


def test_plain_results_of_the_file_tools_are_a_line_each(tmp_path):
    ctx = make_context(tmp_path)
    written = call(ctx, "write_file", path="a.py", content="x = 1\ny = 2\n")
    assert told(made("write_file", '{"path": "a.py"}', written)) == "write_file a.py: created a.py: 2 lines, 12 bytes"
    changed = call(ctx, "patch", path="a.py", old_string="x = 1", new_string="x = 3")
    assert told(made("patch", '{"path": "a.py"}', changed)) == "patch a.py: updated, @@ -1,2 +1,2 @@"
    read = call(ctx, "read_file", path="a.py", limit=1)
    assert told(made("read_file", '{"path": "a.py"}', read)) == "read_file a.py: lines 1–1 of 2, next_offset 2"


def test_a_stored_result_is_shown_again_as_what_it_was():
    results = [
        event.result
        for result in (error("no"), ran('{"error": "printed"}\n[exit 0]', exit_code=0))
        for event in events_from_messages(history("terminal", COMMAND, result), "t", "/srv")
        if hasattr(event, "result")
    ]
    assert [result.failed for result in results] == [True, False]
    assert results[1].facts == {"exit_code": 0}


def test_an_interrupted_call_is_known_in_earlier_words_too():
    words = "Interrupted: the call did not finish. What it did so far is unknown; check before you repeat it."
    earlier = json.dumps({"error": words})
    assert is_interrupted(INTERRUPTED_RESULT)
    assert is_interrupted(earlier)
    assert not is_interrupted("Error: Interrupted")
