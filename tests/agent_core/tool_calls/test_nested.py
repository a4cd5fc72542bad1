"""Calls that a program makes in a turn: counted, watched and told like the model's own."""

from __future__ import annotations

import pytest

from agent_core.messages import tool_call
from agent_core.verification import UncheckedEdits
from tests.support.hooks import hook, session_hooks, with_hooks
from tests.support.programs import ALL, program_bench
from tests.support.tool_context import value_of
from tools.dispatch import run_post_hooks
from tools.registry import ToolRegistry, registry
from tools.result import ChangedFile, ToolResult


@pytest.fixture
def bench(tmp_path):
    (tmp_path / "a.py").write_text("one = 1\n")
    with program_bench(tmp_path) as bench:
        yield bench


def _failing(times):
    return (
        f"{ALL}for n in range({times}):\n    try: read_file('none')\n    except ToolError as e: print(str(e)[:40])\n"
    )


def test_the_same_failing_call_counts_once_for_each_program_and_the_model_is_warned(bench):
    assert "read_file has failed" not in bench.told(_failing(5))
    assert len(bench.nested()) == 5
    assert "This call has failed 2 times" in bench.told(
        *[f"{ALL}read_file('none')  # {number}" for number in range(2)]
    )


def test_a_call_that_fails_again_and_again_is_refused_in_programs_too(bench):
    bench.run(*[f"{ALL}read_file('none')  # {number}" for number in range(5)])
    calls = [step for step in bench.finished().values() if step.name == "read_file"]
    assert len(calls) == 5
    assert not calls[-1].ran
    texts = [step.result.text for step in calls]
    assert all("does not exist" in text for text in texts[:3])
    assert "does not exist" not in texts[-1]


def test_hooks_of_the_users_see_the_calls_of_programs(bench):
    seen = []

    def refuse(name, arguments, ctx):
        seen.append((name, ctx.tool_call_id))
        return "Not this one." if name == "read_file" else None

    registry.add_hook("pre_tool_call", refuse)
    try:
        caught = "try: read_file('a.py')\nexcept Denied as no: print('denied:', no)"
        assert bench.output(f"{ALL}{caught}") == "denied: Not this one.\n"
    finally:
        registry.remove_hook("pre_tool_call", refuse)
    assert seen == [("execute_code", "p1"), ("read_file", "p1-1")]


def test_what_a_hook_writes_in_place_of_a_result_programs_get_as_well():
    hooked = ToolRegistry()
    result = ToolResult('{"content": "secret"}', value=lambda: {"content": "secret"})
    assert run_post_hooks(hooked, "read_file", {}, result, None).value is not None
    hooked.add_hook("post_tool_call", lambda name, arguments, result, ctx: ToolResult("{}", value=result.value))
    assert run_post_hooks(hooked, "read_file", {}, result, None).value is None


def _see(edits, name, text="{}", **fields):
    edits.see(tool_call("c", name, "{}"), ToolResult(text, **fields))


def test_a_program_that_edits_code_is_no_check_of_it(tmp_path):
    changed = (ChangedFile(tmp_path / "a.py", True, True),)
    edits = UncheckedEdits()
    _see(edits, "execute_code", facts={"exit_code": 0, "calls": {}}, changed=changed)
    assert edits.unchecked
    _see(edits, "execute_code", facts={"exit_code": 0, "calls": {"read_file": 1}})
    assert edits.unchecked
    _see(edits, "execute_code", facts={"exit_code": 0, "calls": {}})
    assert not edits.unchecked


def test_a_check_that_a_program_makes_counts(bench):
    code = f"{ALL}patch(path='a.py', old_string='1', new_string='2')\nterminal('python -m py_compile a.py')"
    agent = bench.agent(code)
    result = agent.run_conversation("go", callbacks=bench.ears.callbacks())
    assert result["final_response"] == "done"
    assert value_of(bench.result())["calls"] == {"patch": 1, "terminal": 1}
    assert not [message for message in result["messages"] if message.get("injected")]


def test_a_result_that_a_hook_of_the_session_has_written_anew_is_what_a_program_gets(bench):
    hidden = hook("post_tool_call", lambda result: {"result": result.replace("one", "***")}, matcher="read_file")
    bench.workspace = with_hooks(bench.workspace, session_hooks(hidden))
    assert bench.output(f"{ALL}print(read_file('a.py')['output'])") == "1|*** = 1\n[lines 1–1 of 1]\n"
