"""Scheduling and limits in a sandbox: a command changes those of its session's processes, and of no others."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.tools.environments.sandbox.conftest import World, scheduling_of
from tests.tools.environments.sandbox.test_breakouts import NoHost, needs_bubblewrap, needs_landlock
from tools.environments.sandbox.bubblewrap import BubblewrapSandbox
from tools.environments.sandbox.landlock_sandbox import LandlockSandbox
from tools.environments.sandbox.network.session_network import SessionNetwork
from tools.environments.sandbox.port import Sandbox

pytestmark = pytest.mark.skipif(os.nice(0) != 0, reason="needs the usual priority: run the tests without nice")

Run = Callable[..., str]
_SOMEBODY = 64998


def needs(*programs: str) -> pytest.MarkDecorator:
    missing = [program for program in programs if shutil.which(program) is None]
    return pytest.mark.skipif(bool(missing), reason=f"needs {' '.join(missing)}")


def _start(sandbox: Sandbox, world: World, arguments: list[str]) -> subprocess.Popen[bytes]:
    return sandbox.popen(
        ["sh", "-c", 'IFS= read -r go; exec "$@"', "sh", *arguments],
        world.confinement(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=world.root,
        env={**os.environ, "LC_ALL": "C", "NEIGHBOUR": str(world.neighbour.pid), "AGENT": str(os.getpid())},
        start_new_session=True,
    )


@pytest.fixture
def landlock() -> Iterator[Callable[..., LandlockSandbox]]:
    """Makes sandboxes with a network guard, each that of another session."""
    with ExitStack() as stack:

        def make(version: int | None = None) -> LandlockSandbox:
            guard = SessionNetwork(NoHost())
            stack.callback(guard.close)
            sandbox = LandlockSandbox(guard, version)
            stack.callback(sandbox.close)
            return sandbox

        yield make


@pytest.fixture(
    params=[
        pytest.param("landlock", marks=needs_landlock),
        pytest.param("landlock 1", marks=needs_landlock),
        pytest.param("bubblewrap", marks=needs_bubblewrap),
    ]
)
def run(request: pytest.FixtureRequest, landlock: Callable[..., LandlockSandbox], world: World) -> Iterator[Run]:
    """Runs a script in each sandbox; what it printed."""
    if request.param == "bubblewrap":
        sandbox: Sandbox = BubblewrapSandbox()
    else:
        sandbox = landlock(1 if request.param == "landlock 1" else None)

    def run(script: str, *arguments: str) -> str:
        process = _start(sandbox, world, ["sh", "-c", script, "sh", *arguments])
        return process.communicate(b"go\n", 30)[0].decode()

    yield run
    sandbox.close()


def _python(code: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", code]


@needs("nice", "ionice", "taskset", "chrt")
@pytest.mark.parametrize(
    ("script", "printed"),
    [
        ("nice -n 5 nice", "5\n"),
        ("ionice -c 3 ionice", "idle\n"),
        ("chrt -b 0 sh -c 'chrt -p $$ | head -n 1'", "SCHED_BATCH"),
        ("taskset -c $(taskset -cp $$ | sed 's/.*: *//; s/[-,].*//') echo pinned", "pinned\n"),
        ("nice -n 3 ionice -c 2 -n 7 nice", "3\n"),
    ],
)
def test_a_sandboxed_program_sets_its_own_scheduling(run: Run, script: str, printed: str) -> None:
    assert printed in run(script)


@needs("renice", "ionice", "taskset", "chrt", "prlimit")
def test_a_sandboxed_command_sets_the_scheduling_of_what_it_has_started_by_number(run: Run) -> None:
    look = "import os, sys; n = int(sys.argv[1]); print(os.getpriority(0, n), os.sched_getscheduler(n))"
    script = f"""
sleep 60 & child=$!
renice -n 4 -p $child && chrt -i -p 0 $child && ionice -c 3 -p $child || echo refused
first=$(taskset -cp $child | sed 's/.*: *//; s/[-,].*//')
taskset -cp $first $child && prlimit --nofile=50:50 --pid $child || echo refused
{sys.executable} -I -S -c '{look}' $child; ionice -p $child; prlimit --nofile --noheadings -o SOFT --pid $child
renice -n 6 -p $$ && nice
kill $child
"""
    printed = run(script)
    assert "refused" not in printed, printed
    assert "\n4 5\nidle\n" in printed
    assert "\n50\n" in printed.replace(" ", "")
    assert printed.endswith("\n6\n")


@pytest.mark.parametrize(
    "act",
    [
        "os.sched_setaffinity(number, os.sched_getaffinity(0))",
        "os.setpriority(os.PRIO_PROCESS, number, 2)",
        "os.sched_setscheduler(number, os.SCHED_BATCH, os.sched_param(0))",
    ],
)
def test_a_sandboxed_program_sets_the_scheduling_of_its_threads_by_their_numbers(
    run: Run, world: World, act: str
) -> None:
    """As libraries for numbers and the C library's own threads do."""
    code = f"""
import os, threading
def work():
    here.append(threading.get_native_id()); ready.set(); done.wait()
here, ready, done = [], threading.Event(), threading.Event()
thread = threading.Thread(target=work); thread.start(); ready.wait()
for number in (here[0], os.getpid(), threading.get_native_id()):
    {act}
done.set()
print("fine")
"""
    (world.root / "threads.py").write_text(code)
    assert run(f"exec {sys.executable} -I -S threads.py") == "fine\n"


def test_a_sandboxed_program_that_nobody_may_look_into_sets_its_own_threads(run: Run, world: World) -> None:
    code = "import ctypes, os\nctypes.CDLL(None).prctl(4, 0, 0, 0, 0)\nos.setpriority(0, os.getpid(), 3)\n"
    (world.root / "hidden.py").write_text(f"{code}print('fine')\n")
    assert run(f"exec {sys.executable} -I -S hidden.py") == "fine\n"


def test_a_sandboxed_command_slows_its_own_group(run: Run, world: World) -> None:
    code = "import os\nos.setpgid(0, 0)\nos.setpriority(os.PRIO_PGRP, 0, 4)\n"
    (world.root / "group.py").write_text(f"{code}print(os.getpriority(os.PRIO_PROCESS, 0))\n")
    assert run(f"{sys.executable} -I -S group.py & wait") == "4\n"


@needs("make")
def test_a_build_that_was_made_nice_runs_in_the_sandbox(run: Run, world: World) -> None:
    (world.root / "Makefile").write_text("all: a b c d\na b c d:\n\t@nice > $@\n")
    assert run("nice -n 5 ionice -c 3 make -s -j4 && cat a b c d") == "5\n" * 4


@needs("ninja")
def test_ninja_runs_in_the_sandbox(run: Run, world: World) -> None:
    rules = "rule nice\n  command = nice -n 2 nice > $out\n"
    (world.root / "build.ninja").write_text(rules + "".join(f"build {name}: nice\n" for name in "abcd"))
    assert run("ninja --quiet -j4 && cat a b c d").endswith("2\n" * 4)


@pytest.mark.parametrize("number", ["NEIGHBOUR", "AGENT"])
@pytest.mark.parametrize(
    "act",
    [
        "os.setpriority(os.PRIO_PROCESS, number, 5)",
        "os.setpriority(os.PRIO_PGRP, os.getpgid(number), 5)",
        "os.sched_setaffinity(number, os.sched_getaffinity(0))",
        "os.sched_setscheduler(number, os.SCHED_BATCH, os.sched_param(0))",
        "resource.prlimit(number, resource.RLIMIT_CORE, (0, 0))",
    ],
)
def test_a_sandboxed_command_sets_nothing_of_the_users_other_processes(
    run: Run, world: World, number: str, act: str
) -> None:
    before = scheduling_of(world.neighbour.pid), scheduling_of(os.getpid())
    code = f"import os, resource; number = int(os.environ[{number!r}])\ntry:\n    {act}\nexcept OSError as problem:"
    (world.root / "strike.py").write_text(f"{code}\n    print(problem.errno)\n")
    # Not permitted; in bubblewrap, where other processes have no numbers, no such process.
    assert run(f"exec {sys.executable} -I -S strike.py") in {"1\n", "3\n"}
    assert (scheduling_of(world.neighbour.pid), scheduling_of(os.getpid())) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes others")
def test_a_sandboxed_root_that_becomes_somebody_sets_nothing_of_theirs(run: Run, world: World) -> None:
    code = f"""
import os, sys
os.setgroups([]); os.setuid({_SOMEBODY})
for act in (
    lambda: os.setpriority(os.PRIO_PROCESS, int(sys.argv[1]), 5),
    lambda: os.setpriority(os.PRIO_USER, {_SOMEBODY}, 5),
    lambda: os.sched_setscheduler(int(sys.argv[1]), os.SCHED_IDLE, os.sched_param(0)),
):
    try:
        act(); print("done")
    except OSError as problem:
        print(problem.errno)
"""
    (world.root / "become.py").write_text(code)
    with subprocess.Popen(["sleep", "60"], user=_SOMEBODY) as theirs:
        before = scheduling_of(theirs.pid)
        printed = run(f"exec {sys.executable} -I -S - {theirs.pid} < become.py")
        assert scheduling_of(theirs.pid) == before
        theirs.kill()
    assert len(printed.split()) == 3
    assert set(printed.split()) <= {"1", "3"}


@needs_landlock
def test_commands_of_one_sandbox_set_each_others_scheduling_and_none_of_another_session(
    landlock: Callable[..., LandlockSandbox], world: World
) -> None:
    ours, others = landlock(), landlock()
    with ExitStack() as stack:
        found = []
        for sandbox in (ours, others):
            sleeping = stack.enter_context(_start(sandbox, world, ["sleep", "60"]))
            stack.callback(sleeping.kill)
            found.append(sleeping.pid)
        code = "import os\nfor one in {}:\n    try: os.setpriority(0, one, 5)\n    except OSError as e: print(e)"
        printed = _start(ours, world, _python(code.format(found))).communicate(b"go\n", 30)[0].decode()
        assert printed == "[Errno 1] Operation not permitted\n"
        assert [os.getpriority(os.PRIO_PROCESS, number) for number in found] == [5, 0]


@needs_landlock
def test_without_anybody_to_judge_a_sandboxed_command_sets_only_itself_and_without_a_number(world: World) -> None:
    sandbox = LandlockSandbox()
    code = "import os; os.setpriority(0, 0, 5); print('fine', flush=True); os.setpriority(0, os.getpid(), 6)"
    printed = _start(sandbox, world, _python(code)).communicate(b"go\n", 30)[0].decode()
    sandbox.close()
    assert printed.startswith("fine\n")
    assert "PermissionError" in printed


@pytest.mark.parametrize(
    ("act", "error"),
    [
        ("setpriority(0, -5, 1)", "ESRCH"),
        ("setpriority(0, 4194303, 1)", "ESRCH"),
        ("setpriority(1, 4194303, 1)", "ESRCH"),
        ("setpriority(7, 1, 1)", "EINVAL"),
        ("sched_setaffinity(4194303, 8, bytes([1] * 8))", "ESRCH"),
    ],
)
def test_errors_of_scheduling_in_the_sandbox_are_those_of_the_calls(
    run: Run, world: World, act: str, error: str
) -> None:
    code = f"import ctypes, errno\nctypes.CDLL(None, use_errno=1).{act}\nprint(errno.errorcode[ctypes.get_errno()])"
    (world.root / "errors.py").write_text(code)
    assert run(f"exec {sys.executable} -I -S errors.py") == f"{error}\n"
