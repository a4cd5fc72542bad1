"""`execute_code`: programs that call tools, in real processes behind the real gate."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from agent_core.callbacks import CallOutput
from tests.support.each import each
from tests.support.programs import ALL, needs_sandbox, program_bench
from tests.support.tool_context import call, error_of, make_context, unfenced
from tools.approval.actions import RunCommand, WritePath
from tools.execute_code import NAMES, STUBS, told
from tools.ports import CommandOutcome, Program, ProgramOutcome
from tools.registry import registry
from tools.settings import ProgramSettings
from tools.toolsets import get_tool_definitions, load_builtin_tools, select

_PROGRAM = Program("1", Path("/srv/project"), "", ProgramSettings(), {})


@pytest.fixture
def bench(tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    with program_bench(tmp_path) as bench:
        yield bench


def test_a_program_prints_and_its_end_is_told(bench):
    assert bench.run("print('hello')") == {"output": "hello\n", "exit_code": 0}
    result = bench.result()
    assert not result.failed
    assert result.facts["calls"] == {}
    assert result.facts["cwd"] == str(bench.cwd)


def test_tools_give_dicts_and_each_call_has_a_card_under_the_programs(bench):
    code = f"""{ALL}
read = read_file("a.txt")
assert read["content"] == "one\\ntwo\\n" and read["total_lines"] == 2, read
found = search_files("two")
assert found["matches"] == [{{"path": "a.txt", "line": 2, "text": "two", "is_match": True}}], found
assert search_files("*.txt", target="files")["files"] == ["a.txt"]
assert patch(path="a.txt", old_string="two", new_string="three")["replacements"] == 1
assert write_file("b.txt", "new")["status"] == "created"
ran = terminal("cat a.txt; exit 3")
assert ran == {{"output": "one\\nthree\\n", "exit_code": 3}}, ran
"""
    payload = bench.run(code)
    assert payload["exit_code"] == 0, payload
    assert payload["calls"] == {"read_file": 1, "search_files": 2, "patch": 1, "write_file": 1, "terminal": 1}
    nested = bench.nested()
    assert [step.name for step in nested] == [
        *("read_file", "search_files", "search_files", "patch", "write_file", "terminal")
    ]
    assert {step.parent for step in nested} == {"p1"}
    assert len({step.call_id for step in nested}) == 6
    assert {step.call_id for step in nested} < set(bench.finished())
    assert (bench.cwd / "a.txt").read_text() == "one\nthree\n"


def test_a_program_gets_what_it_asks_for_as_often_as_it_asks(bench):
    again = "x = read_file('a.txt')['content']\n" * 3
    assert bench.output(f"{ALL}{again}write_file('a.txt', x + '!')\nprint(x)") == "one\ntwo\n\n"
    assert (bench.cwd / "a.txt").read_text() == "one\ntwo\n!"


@pytest.mark.parametrize(
    "text",
    ["".join(f"line {n}\n" for n in range(30_000)), "x" * 300_000 + "\nend", "one\r\ntwo\r\n", "\n\n", "no end"],
    ids=["many lines", "a long line", "of Windows", "empty lines", "no end"],  # the name is in the environment
)
def test_what_a_program_reads_and_writes_back_is_the_same_file(bench, text):
    (bench.cwd / "a.txt").write_text(text, newline="")
    code = "x = read_file('a.txt')['content']\nwrite_file('a.txt', x + '!')\nwrite_file('a.txt', x)"
    bench.output(f"{ALL}{code}")
    assert (bench.cwd / "a.txt").read_bytes() == text.encode()


def test_a_file_is_read_whole_or_not_at_all(bench):
    (bench.cwd / "a.txt").write_text("\n" * 600_000)
    assert "600,000 lines" in bench.run(f"{ALL}read_file('a.txt')")["output"]
    assert bench.output(f"{ALL}print(repr(read_file('a.txt', offset=2, limit=2)['content']))") == "'\\n'\n"


def test_a_program_gets_what_a_command_has_printed_as_it_is(bench):
    code = "t = terminal('seq 100000; yes | head -50; exit 3')\nprint(t['exit_code'], 'truncated_chars' in t)\n"
    code += "lines = t['output'].splitlines()\nprint(len(lines), lines[50_000], lines[-1])"
    assert bench.output(f"{ALL}{code}") == "3 False\n100050 50001 y\n"


def test_a_file_that_neither_the_program_nor_the_model_has_read_is_not_overwritten(bench):
    payload = bench.run(f"{ALL}write_file('a.txt', 'mine')")
    assert payload["exit_code"] == 1
    assert "hermes_tools.ToolError" in payload["output"]
    assert "you have not read it" in payload["output"]
    assert (bench.cwd / "a.txt").read_text() == "one\ntwo\n"


def test_what_fails_is_raised_with_the_line_of_the_program(bench):
    payload = bench.run(f"{ALL}\nread_file('none.txt')\n")
    assert payload["exit_code"] == 1
    assert 'File "<program>", line 4' in payload["output"]
    assert "read_file('none.txt')" in payload["output"]
    assert "none.txt does not exist" in payload["output"]
    assert "_run" not in payload["output"]
    assert bench.result().failed


def test_what_fails_may_be_caught(bench):
    caught = "try:\n    read_file('none.txt')\nexcept ToolError as problem:\n    print('caught', problem)\n"
    assert bench.output(f"{ALL}{caught}").startswith("caught ")


def test_what_the_person_refuses_is_raised_as_denied(tmp_path):
    with program_bench(tmp_path, mode="default") as bench:
        bench.approver.choice = "allow_once"

        def no_to_edits():
            bench.approver.choice = "reject_once" if isinstance(bench.approver.asked[-1], WritePath) else "allow_once"

        bench.approver.before_answer = no_to_edits
        caught = "try:\n    write_file('x', 'y')\nexcept Denied as problem:\n    print('denied:', problem)\n"
        output = bench.output(f"{ALL}{caught}")
    assert output.startswith("denied:")
    assert "not" in output
    assert not (tmp_path / "x").exists()


def test_without_a_sandbox_the_whole_program_is_asked_about_and_a_no_runs_nothing(tmp_path):
    with program_bench(tmp_path, mode="default") as bench:
        bench.approver.choice = "reject_once"
        code = "from pathlib import Path\nPath('made').write_text(\"it's mine\")"
        payload = bench.run(code)
    assert "error" in payload
    [asked] = bench.approver.asked
    assert isinstance(asked, RunCommand)
    assert code in asked.command
    assert not (tmp_path / "made").exists()
    assert bench.ears.progress("p1") == ["requested", "finished"]


@pytest.mark.parametrize("code", ["print(2 + 2)", "import math; print(math.pi)", "# nothing"])
def test_without_a_sandbox_no_program_is_proved_to_only_look(tmp_path, code):
    with program_bench(tmp_path, mode="default") as bench:
        bench.approver.choice = "reject_once"
        assert "error" in bench.run(code)
    assert [type(action) for action in bench.approver.asked] == [RunCommand]


def test_what_no_mode_allows_no_program_does(bench):
    payload = bench.run("import shutil\nshutil.rmtree('/')")
    assert "deletes the root directory" in payload["error"]


def test_in_plan_mode_no_program_runs_where_no_sandbox_holds_it(tmp_path):
    with program_bench(tmp_path, mode="plan") as bench:
        assert "plan mode" in bench.run(f"{ALL}write_file('x', 'y')")["error"]
        assert "is not contained: no sandbox is set up" in bench.run("print(2 + 2)")["error"]
    assert list(tmp_path.iterdir()) == []


@needs_sandbox
def test_in_plan_mode_a_program_runs_read_only_in_the_sandbox_and_its_calls_may_only_look(tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_text("one\n")
    (work / ".env").write_text("KEY=planted\n")
    with program_bench(work, sandboxed=True, mode="plan") as bench:
        assert bench.output("print(open('a.txt').read())") == "one\n\n"
        for code in ("open('made', 'w')", "print(open('.env').read())", "import os; os.remove('a' + '.txt')"):
            payload = bench.run(code)
            assert payload.get("exit_code") != 0, code
            assert "planted" not in str(payload)
        assert "plan mode" in bench.run(f"{ALL}write_file('x', 'y')")["output"]
    assert sorted(path.name for path in work.iterdir()) == [".env", "a.txt"]
    assert bench.approver.asked == []


def test_more_calls_than_one_program_may_make_are_refused(tmp_path):
    (tmp_path / "a.txt").write_text("one\n")
    with program_bench(tmp_path, programs=ProgramSettings(max_calls=3)) as bench:
        code = "n = 0\ntry:\n    while True:\n        read_file('a.txt'); n += 1\nexcept ToolError as e: print(n, e)"
        payload = bench.run(f"{ALL}{code}")
    assert payload["output"].startswith("3 This program has made its 3 calls")
    assert payload["calls"] == {"read_file": 3}
    assert len(bench.nested()) == 3


def test_a_program_that_goes_on_calling_is_not_listened_to_any_more(tmp_path):
    code = "n = 0\nwhile True:\n    try:\n        read_file('a.txt')\n    except ToolError as e:\n        n += 1\n"
    code += "        if 'takes no more calls' in str(e):\n            print(n); break\n"
    with program_bench(tmp_path, programs=ProgramSettings(max_calls=1)) as bench:
        assert bench.output(f"{ALL}{code}") == "52\n"
    assert len(bench.nested()) == 1


def test_what_takes_too_long_is_ended(tmp_path):
    with program_bench(tmp_path, programs=ProgramSettings(timeout=0.5)) as bench:
        payload = bench.run("import time\ntime.sleep(60)")
    assert payload["timed_out"] is True
    assert payload["exit_code"] == 124
    assert "0.5 s" in payload["note"]


def test_the_programs_time_does_not_run_while_the_person_is_asked(tmp_path):
    with program_bench(tmp_path, mode="default", programs=ProgramSettings(timeout=2.0)) as bench:
        # The first question is about the program itself: its time has not begun.
        bench.approver.before_answer = lambda: time.sleep(2.1) if len(bench.approver.asked) > 1 else None
        assert bench.output(
            f"{ALL}patch(patch='*** Begin Patch\\n*** Add File: y\\n+z\\n*** End Patch')\nprint('on')"
        )


def test_long_output_keeps_both_ends_and_is_in_a_file_as_a_whole(tmp_path):
    file = tmp_path.parent / "all.txt"
    with program_bench(tmp_path, output_file=lambda call: file) as bench:
        payload = bench.run("print('begin')\nprint('x' * 300_000)\nprint('end')")
    assert payload["truncated_chars"] > 200_000
    assert payload["output"].startswith("begin\n")
    assert payload["output"].endswith("end\n")
    assert payload["full_output"] == str(file)
    assert file.stat().st_size > 300_000


def test_output_is_shown_live(bench):
    ears = bench.ears.callbacks()

    def heard(step):
        ears.tool_progress_callback(step)
        if isinstance(step, CallOutput) and "first" in step.text:
            (bench.cwd / "shown").touch()

    code = f"""{ALL}
import pathlib, sys, time
print('first')
for _ in range(2000):
    if pathlib.Path('shown').exists():
        break
    time.sleep(0.01)
else:
    sys.exit('not shown while it ran')
print('second', file=sys.stderr)
"""
    bench.agent(code).run_conversation("go", callbacks=replace(ears, tool_progress_callback=heard))
    seen = [step.text for step in bench.ears.of("tool") if isinstance(step, CallOutput)]
    assert "".join(seen) == "first\nsecond\n"


def test_the_request_of_an_answer_that_only_runs_programs_is_given_back(bench):
    bench.options["max_iterations"] = 3
    assert bench.output(*["print(1)"] * 3) == "1\n"


def test_the_model_is_told_of_those_functions_only_whose_tools_it_has():
    def described(**options):
        tools = get_tool_definitions(**options)
        [code] = [tool["function"] for tool in tools if tool["function"]["name"] == "execute_code"]
        return code["description"]

    everything = described(enabled=("files", "terminal", "code_execution"))
    assert "terminal(command" in everything
    files = described(enabled=("files", "code_execution"))
    assert "terminal(" not in files
    assert "read_file(" in files
    assert "patch(" not in described(enabled=("files", "code_execution"), disabled=("patch",))


def test_the_model_is_told_of_all_that_a_program_can_name():
    [text] = [each["function"]["description"] for each in get_tool_definitions(("hermes-acp",))
              if each["function"]["name"] == "execute_code"]  # fmt: skip
    for name in NAMES & {entry.name for entry in select(("hermes-acp",))}:
        (line,) = (line for line in text.splitlines() if line.startswith(f"{name}("))
        takes = {part.rstrip("?").split("=")[0] for part in line[len(name) + 1 : line.index(")")].split(", ")}
        assert takes == registry.get(name).schema["properties"].keys()


def test_a_tool_that_the_model_does_not_have_no_program_has(tmp_path):
    with program_bench(tmp_path, disabled_toolsets=("search_files",)) as bench:
        payload = bench.run("from hermes_tools import search_files")
        assert "ImportError" in payload["output"]
        code = "try:\n    hermes_tools._call('search_files', {'pattern': 'x'})\nexcept ToolError as e:\n    print(e)"
        assert "cannot call 'search_files'" in bench.output(f"{ALL}{code}")
    assert bench.nested() == []


def test_no_program_calls_tools_that_are_not_for_programs(bench):
    code = "try:\n    hermes_tools._call('execute_code', {'code': '1'})\nexcept ToolError as e:\n    print(e)"
    assert "cannot call 'execute_code'" in bench.output(f"{ALL}{code}")


def test_whoever_takes_commands_away_has_no_programs_unless_asked_for():
    names = lambda **options: {entry.name for entry in select(**options)}  # noqa: E731
    assert "execute_code" in names()
    assert "execute_code" not in names(disabled=("terminal",))
    assert "execute_code" in names(enabled=("files", "code_execution"), disabled=("terminal",))


@each(("code", "told"), [("", "not empty"), (" \n ", "not empty"), ("x" * 100_001, "at most 100,000")])
def test_what_is_no_program_is_refused(code, told, tmp_path):
    load_builtin_tools()
    assert told in error_of(call(make_context(tmp_path), "execute_code", code=code))


def test_without_a_session_it_says_so(tmp_path):
    load_builtin_tools()
    assert "cannot be run where this session" in error_of(call(make_context(tmp_path), "execute_code", code="1"))


def test_every_function_is_of_a_tool_and_takes_what_the_tool_takes():
    load_builtin_tools()
    for name in NAMES:
        entry = registry.get(name)
        assert entry is not None
        stub = next(stub for stub in STUBS if stub.name == name)
        parameters = [part.split("=")[0].strip() for part in stub.parameters.split(",")]
        assert set(parameters) <= set(entry.schema["properties"]), name


def test_what_strangers_wrote_is_fenced_in_what_a_program_prints(tmp_path):
    result = told(_PROGRAM, ProgramOutcome(CommandOutcome("text", 0), {"web_extract": 1}), ["web_extract"])
    assert result.untrusted
    assert not told(_PROGRAM, ProgramOutcome(CommandOutcome("text", 0), {"read_file": 1}), ["web_extract"]).untrusted
    registry.register("printed", "test-tools", {"type": "object"}, lambda args, **kw: result)
    try:
        text = call(make_context(tmp_path), "printed").text
    finally:
        registry.unregister("printed")
    assert text.startswith("[untrusted ")
    assert unfenced(text) == result.text
