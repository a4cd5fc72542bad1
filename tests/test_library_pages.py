"""The programs in the pages for those who use the agent as a library do what those say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
_PROGRAM = re.compile(r"^<!-- runs -->\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


# Python 3.12.0 to 3.12.3 take `?1` for a name.
_MISTAKEN = "ignore:Binding 1 ('?1') is a named parameter:DeprecationWarning"


def programs(page: str) -> list[str]:
    return _PROGRAM.findall((DOCS / page).read_text())


def run(where: Path, *programs: str) -> list[str]:
    """What each program printed; they run one after the other in one process, each in a directory of its own.

    `where` has the directories, named by number from 0.
    """
    for number, program in enumerate(programs):
        (where / str(number)).mkdir()
        (where / f"{number}.py").write_text(program)
    command = [sys.executable, "-W", "error", "-W", _MISTAKEN, "-c", _ONE_BY_ONE, str(where), str(len(programs))]
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(where), "PYTHONPATH": str(DOCS.parent)}
    done = subprocess.run(
        command, cwd=where, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.split("\0")[:-1]


_ONE_BY_ONE = """
import os, sys
from pathlib import Path
where, many = Path(sys.argv[1]), int(sys.argv[2])
for number in range(many):
    os.chdir(where / str(number))
    exec(compile((where / f"{number}.py").read_text(), f"{number}.py", "exec"), {"__name__": "__main__"})
    print(end="\\0", flush=True)
"""


@pytest.mark.long
def test_the_programs_of_the_library_s_page_do_what_it_says(tmp_path: Path) -> None:
    ten_lines, approver, listeners = programs("library.md")
    assert len(ten_lines.splitlines()) <= 10
    said, _, heard = run(tmp_path, ten_lines, approver, listeners)
    assert said.strip() == "Hello."
    assert (tmp_path / "1" / "notes.txt").read_text() == "Remember the milk."
    assert "CallRequested" in heard
    assert "end_turn" in heard.splitlines()[-1]


def test_a_batch_runs_in_any_executor(tmp_path: Path) -> None:
    (program,) = programs("batch.md")
    run(tmp_path, program)
    assert '"status": "completed"' in (tmp_path / "0" / "runs" / "results.jsonl").read_text()


def test_the_package_loads_nothing_until_a_name_is_asked_for() -> None:
    program = "import sys, agent_core; print('agent_core.agent' in sys.modules, hasattr(agent_core, 'Nothing'))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=DOCS.parent, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "False"]
