"""What programs can do: threads, their interpreter, what they see of the session; and what old Pythons do."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

from tests.support.programs import ALL, program_bench
from tools.environments.program_finder import project_interpreter, system_interpreter
from tools.environments.programs import client
from tools.environments.programs.call_server import asked_command, client_text, start_command
from tools.execute_code import NAMES, module_text
from tools.settings import ProgramSettings

_VARIABLES = {"PATH": "/usr/local/bin:/usr/bin:/bin"}


def test_calls_from_several_threads_get_their_own_answers(bench):
    for number in range(8):
        (bench.cwd / f"{number}.txt").write_text(f"text {number}")
    code = f"""{ALL}
from concurrent.futures import ThreadPoolExecutor
read = lambda number: read_file(f"{{number % 8}}.txt")["content"]
with ThreadPoolExecutor(8) as pool:
    texts = list(pool.map(read, range(40)))
assert texts == [f"text {{number % 8}}" for number in range(40)], texts
"""
    bench.output(code)
    assert len(bench.nested()) == 40


def test_commands_of_several_threads_run_one_after_the_other(bench):
    code = f"""{ALL}
from concurrent.futures import ThreadPoolExecutor
command = "test ! -e busy && touch busy && echo alone; rm -f busy"
with ThreadPoolExecutor(4) as pool:
    print([each["output"] for each in pool.map(lambda _: terminal(command), range(4))])
"""
    assert bench.output(code) == f"{['alone' + chr(10)] * 4}\n"


def test_it_sees_what_the_sessions_shell_has_exported(bench):
    code = f"{ALL}import os\nterminal('export FROM_SHELL=seen')\nprint(os.environ.get('FROM_SHELL'))"
    assert bench.output(code, "import os; print(os.environ['FROM_SHELL'])") == "seen\n"


def test_it_reads_no_input_and_is_its_own_main(bench):
    assert (
        bench.output("import sys; print(repr(sys.stdin.read()), __name__, sys.argv)") == "'' __main__ ['program']\n"
    )
    assert bench.run("import sys; sys.exit(7)")["exit_code"] == 7


def test_classes_of_a_program_can_be_pickled(bench):
    assert (
        bench.output("import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))).__name__)") == "A\n"
    )


def test_the_projects_own_environment_runs_it(tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / ".venv"], check=True)
    with program_bench(tmp_path) as bench:
        assert bench.output("import sys; print(sys.prefix)").strip() == str(tmp_path / ".venv")


def test_a_strict_program_runs_in_an_empty_directory(tmp_path):
    (tmp_path / "a.txt").write_text("one")
    (tmp_path / "mine.py").write_text("")
    with program_bench(tmp_path, programs=ProgramSettings(mode="strict")) as bench:
        code = f"{ALL}import os\nprint(os.listdir(), read_file('a.txt')['content'])\n"
        assert bench.output(code) == "[] one\n"
        assert "No module named 'mine'" in bench.run("import mine")["output"]


def _environment(path: Path) -> Path:
    (path / "bin").mkdir(parents=True)
    program = path / "bin" / "python3"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return program


def test_the_interpreter_is_the_one_that_the_person_would_use(tmp_path):
    work, repository = tmp_path / "repo" / "part", tmp_path / "repo"
    work.mkdir(parents=True)
    find = lambda kept=None, more=None: project_interpreter(work, kept or {}, _VARIABLES | (more or {}))  # noqa: E731
    assert find() == system_interpreter(_VARIABLES)
    ours = {"VIRTUAL_ENV": sys.prefix}
    assert find(more=ours) == system_interpreter(_VARIABLES)
    started = _environment(tmp_path / "started")
    inherited = {"VIRTUAL_ENV": str(tmp_path / "started")}
    assert find(more=inherited).path == str(started)
    above = _environment(repository / "venv")
    assert find(more=inherited).path == str(started)
    (repository / ".git").mkdir()
    assert find(more=inherited).path == str(above)
    assert find().shown == str(above)
    mine = _environment(work / ".venv")
    assert find(more=inherited).path == str(mine)
    assert find().shown == ".venv/bin/python3"
    named = _environment(work / "elsewhere")
    assert find(more={"UV_PROJECT_ENVIRONMENT": "elsewhere"}).path == str(named)
    active = _environment(tmp_path / "active")
    assert find({"VIRTUAL_ENV": str(tmp_path / "active")}).path == str(active)
    assert find({"VIRTUAL_ENV": None}).path == str(mine)


def test_a_workspace_on_the_path_is_no_place_of_the_systems_interpreter(tmp_path, monkeypatch):
    _environment(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert system_interpreter({"PATH": "bin:.:/nowhere"}).path == sys.executable


def test_what_is_asked_about_says_all_of_the_program():
    code = "print('it\\'s')\nPROGRAM\nPROGRAM_"
    asked = asked_command("/srv/my project/bin/python", code)
    assert asked == f"'/srv/my project/bin/python' - <<'PROGRAM__'\n{code}\nPROGRAM__"


def test_any_python_from_3_8_on_understands_the_module():
    text = f"{client_text()}\n\n{module_text(NAMES)}"
    ast.parse(text, feature_version=(3, 8))
    assert client.__doc__ is not None


def test_an_interpreter_that_is_too_old_says_so():
    start = start_command("python", 0, isolated=False)
    assert start.startswith("exec python -c ")
    assert start.index("version_info") < start.index("import socket")
