"""Programs in the sandbox: what commands may not do, they may not; what their calls may do, they may."""

from __future__ import annotations

import subprocess

import pytest

from tests.support.processes import has_ended
from tests.support.programs import ALL, needs_sandbox, program_bench
from tests.support.waiting import wait_until
from tools.approval.actions import RunCommand, WritePath
from tools.environments.sandbox import kernel

pytestmark = needs_sandbox
_HOOK = ".git/hooks/pre-commit"
# A name that nobody can read from the program's text, so that the program itself is not asked about.
_HIDDEN = "from pathlib import Path\nhook = Path(Path('where').read_text())\n"


@pytest.fixture
def work(tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    subprocess.run(["git", "init", "-q", work], check=True)
    (work / "where").write_text(_HOOK)
    (work / "run.sh").touch(0o755)
    return work


@pytest.fixture
def bench(work):
    with program_bench(work, sandboxed=True, mode="default") as bench:
        yield bench


def _written(bench):
    """The files whose change the person was asked about."""
    assert not [action for action in bench.approver.asked if isinstance(action, RunCommand)]
    return [action.path.name for action in bench.approver.asked if isinstance(action, WritePath)]


def test_it_needs_no_question_and_changes_the_workspace(bench):
    assert bench.output("from pathlib import Path\nPath('made').write_text('x')\nprint('ok')") == "ok\n"
    assert (bench.cwd / "made").read_text() == "x"
    assert bench.approver.asked == []


def test_it_changes_nothing_outside_and_the_model_is_told_what_to_do(bench):
    (bench.cwd / "where").write_text("/etc/made-by-a-program")
    payload = bench.run(f"{_HIDDEN}hook.write_text('x')")
    assert payload["exit_code"] == 1
    assert "The sandbox kept it from" in payload["note"]
    assert "terminal(unsandboxed=true)" in payload["note"]
    # It is not run a second time: its calls would be made twice.
    assert bench.approver.asked == []


def test_what_its_calls_do_is_asked_about_as_ever(bench):
    outside = bench.cwd.parent / "outside.txt"
    bench.output(f"{ALL}write_file({str(outside)!r}, 'x')")
    assert _written(bench) == ["outside.txt"]
    assert outside.read_text() == "x"


def test_a_command_of_its_is_judged_by_itself(bench):
    bench.approver.choice = "reject_once"
    code = "try:\n    terminal('git push --force')\nexcept Denied as no:\n    print('denied')"
    assert bench.output(f"{ALL}{code}") == "denied\n"
    [asked] = bench.approver.asked
    assert isinstance(asked, RunCommand)
    assert asked.command == "git push --force"


def test_a_hook_that_it_makes_itself_is_asked_about_and_put_back(bench):
    bench.approver.choice = "reject_once"
    payload = bench.run(f"{_HIDDEN}hook.write_text('#!/bin/sh\\n')")
    assert _written(bench) == ["pre-commit"]
    assert not (bench.cwd / _HOOK).exists()
    assert "Put back" in payload["note"]


def test_a_hook_that_a_call_was_allowed_to_make_is_not_asked_about_again(bench):
    bench.output(f"{ALL}write_file({_HOOK!r}, '#!/bin/sh\\n')")
    assert _written(bench) == ["pre-commit"]
    assert (bench.cwd / _HOOK).exists()


def test_a_hook_that_was_allowed_and_then_changed_or_made_to_run_is(bench):
    for then in ("hook.write_text('other')", "import shutil; shutil.copymode('run.sh', hook)"):
        bench.approver.asked.clear()
        (bench.cwd / "where").write_text(f"{_HOOK}-{len(then)}")
        bench.output(f"{ALL}{_HIDDEN}write_file(str(hook), '#!/bin/sh\\n')\n{then}")
        assert len(_written(bench)) == 2, then


def test_a_command_of_its_beside_it_leaves_the_question_about_a_hook_to_be_asked_once(bench):
    bench.output(f"{ALL}{_HIDDEN}hook.write_text('x')\nterminal('echo 1 > made')")
    assert _written(bench) == ["pre-commit"]


def test_in_plan_mode_the_interpreter_is_the_systems(bench):
    (bench.cwd / ".venv" / "bin").mkdir(parents=True)
    fake = bench.cwd / ".venv" / "bin" / "python3"
    fake.write_text("#!/bin/sh\ntouch run-by-the-fake\necho fake\n")
    fake.chmod(0o755)
    bench.workspace.approvals.mode = "plan"
    assert bench.output("print(2 + 2)") == "4\n"
    bench.workspace.approvals.mode = "default"
    assert bench.output("print(2 + 2)") == "fake\n"


def test_it_does_not_see_the_home_of_this_agent(work, tmp_path):
    home = tmp_path / "own-home"
    home.mkdir()
    (home / "key").write_text("secret")
    with program_bench(work, sandboxed=True, private=home) as bench:
        payload = bench.run(f"print(open({str(home / 'key')!r}).read())")
    assert payload["exit_code"] == 1
    assert "secret" not in payload["output"]


def test_what_confined_programs_can_change_is_no_way_out_where_nobody_is_asked(bench):
    """A Python of the workspace, or a module in its directory, that one program puts there and another runs."""
    plant = """
from pathlib import Path
Path(".venv/bin").mkdir(parents=True)
Path(".venv/bin/python3").write_text("#!/bin/sh\\necho planted\\n")
Path(".venv/bin/python3").chmod(0o755)
Path("subprocess.py").write_text("print('planted')\\ndef run(*_): pass")
"""
    free = "import subprocess\nif not __debug__:\n    subprocess.run(['sudo', 'true'])\nprint('real')"
    bench.workspace.approvals.mode = "dont_ask"
    bench.output(plant)
    assert bench.output("print('confined')") == "planted\n"
    assert bench.output(free) == "real\n"
    # Who sees which Python it is may use it.
    bench.workspace.approvals.mode = "default"
    assert bench.output(free) == "planted\n"
    assert bench.approver.asked[-1].command.startswith(".venv/bin/python3 - <<")


@pytest.mark.skipif(kernel.landlock_version() < 6, reason="needs Linux 6.12")
def test_what_has_left_its_session_and_its_environment_ends_with_it_as_well(bench):
    code = f"""
{ALL}
import os
started = terminal("sleep 60 & echo $!")["output"].strip()
reader, writer = os.pipe()
os.set_inheritable(writer, True)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.setsid()
        os.execve("/bin/sh", ["sh", "-c", f"echo $$ >&{{writer}}; exec sleep 60"], {{}})
    os._exit(0)
print(os.read(reader, 20).decode().strip(), started)
"""
    left, of_a_call = (int(word) for word in bench.output(code).split())
    wait_until(lambda: has_ended(left))
    # What a call has left in the background is the session's.
    assert not has_ended(of_a_call)
