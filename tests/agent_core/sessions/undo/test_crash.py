"""An undo or a redo that is killed, anywhere, has lost nothing, and is finished by repeating it."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agent_core.errors import RequestError
from tests.support.file_bench import SESSION, FileBench

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[4]

# Reads lines of directory, kind and a number n; for each, a fork of it does the rewind and kills itself at its nth
# event: every file that is opened, made, renamed, linked or deleted is one.
PROGRAM = """
import os, signal, sys
sys.path[:0] = {path!r}
from pathlib import Path
from tests.support.file_bench import SESSION, FileBench

def rewind(directory, kind, left):
    bench = FileBench(Path(directory))
    plan = bench.rewinder.plan(SESSION) if kind == "undo" else bench.rewinder.plan_redo(SESSION)
    def count(event, args):
        nonlocal left
        if event == "open" or event.startswith("os."):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(count)
    bench.rewinder.apply(plan, lambda step: True)
    os._exit(0)

for line in sys.stdin:
    directory, kind, event = line.rstrip("\\n").split("\\t")
    child = os.fork()
    if child == 0:
        rewind(directory, kind, int(event))
    print(os.WTERMSIG(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def killed():
    """Does a rewind in another process, kills it at an event; False if it had ended before."""
    process = subprocess.Popen(
        [sys.executable, "-B", "-c", PROGRAM.format(path=[p for p in sys.path if p])],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )

    def kill(directory, kind, event):
        process.stdin.write(f"{directory}\t{kind}\t{event}\n")
        process.stdin.flush()
        ended_by = int(process.stdout.readline())
        assert ended_by in {0, signal.SIGKILL}
        return ended_by != 0

    yield kill
    process.communicate()
    assert process.returncode == 0


def changed_session(directory):
    """Files before a turn and after it."""
    bench = FileBench(directory)
    for name in ("edited", "deleted", "moved", "script"):
        bench.path(name).write_bytes(name.encode() * 10)
    bench.path("script").chmod(0o755)
    bench.path("link").symlink_to("edited")
    before = bench.snapshot()
    bench.begin()
    bench.write("edited", b"other")
    bench.write("a/b/new", b"new")
    bench.remove("deleted")
    bench.remove("script")
    bench.remove("link")
    bench.rename("moved", "deep/target")
    return bench, before, bench.snapshot()


def without_leftovers(snapshot):
    return {path: entry for path, entry in snapshot.items() if b"/.hermes-" not in path}


EVENTS = [2, 5, 9, 14, 18, 23, 27, 32, 38, 44, 51, 60]


@pytest.mark.parametrize("event", EVENTS)
def test_a_killed_undo_is_finished_by_undoing_again_and_can_be_redone(tmp_path, killed, event):
    bench, before, after = changed_session(tmp_path)
    bench.database.close()
    killed(tmp_path, "undo", event)

    bench = FileBench(tmp_path)
    between = without_leftovers(bench.snapshot())
    assert all(entry in (before.get(path), after.get(path)) for path, entry in between.items())
    try:
        report = bench.undo()
    except RequestError:
        report = None  # the kill came after everything was done
    assert report is None or (report.failed, report.kept, report.trouble) == ((), (), "")
    assert without_leftovers(bench.snapshot()) == before
    report = bench.redo()
    assert (report.failed, report.kept, report.trouble) == ((), (), "")
    assert without_leftovers(bench.snapshot()) == after
    bench.database.close()


@pytest.mark.parametrize("event", EVENTS[::2])
def test_a_killed_redo_is_finished_by_redoing_again(tmp_path, killed, event):
    bench, before, after = changed_session(tmp_path)
    bench.undo()
    bench.database.close()
    killed(tmp_path, "redo", event)

    bench = FileBench(tmp_path)
    try:
        report = bench.redo()
        assert (report.failed, report.kept, report.trouble) == ((), (), "")
    except RequestError as problem:
        assert "nothing of this session" in str(problem)  # noqa: PT017 - only then it was finished
    assert without_leftovers(bench.snapshot()) == after
    assert bench.undo().failed == ()
    assert without_leftovers(bench.snapshot()) == before
    bench.database.close()


def test_the_kills_reach_the_middle_of_the_work(tmp_path, killed):
    changed_session(tmp_path)[0].database.close()
    assert killed(tmp_path, "undo", EVENTS[-1])
    bench = FileBench(tmp_path)
    assert bench.rows("SELECT undone FROM rewinds") == [(2,)]
    bench.database.close()


def test_a_session_that_goes_on_after_a_killed_undo_is_whole(tmp_path, killed):
    bench, before, _ = changed_session(tmp_path)
    bench.database.close()
    assert killed(tmp_path, "undo", 30)
    bench = FileBench(tmp_path)
    bench.turn = 1
    bench.begin()
    bench.write("more", b"more")
    assert bench.rows("SELECT count(*) FROM messages WHERE hidden = ''") == [(4,)]
    bench.undo()
    bench.undo()
    assert without_leftovers(bench.snapshot()) == before
    bench.redo()
    assert bench.redo().turns == (2,)
    bench.database.close()


def test_a_command_whose_end_nobody_saw_is_asked_about(tmp_path):
    bench = FileBench(tmp_path)
    bench.path("file").write_bytes(b"before")
    bench.begin()
    program = f"""
import os, signal, sys
sys.path[:0] = {[p for p in sys.path if p]!r}
from pathlib import Path
from tests.support.file_bench import FileBench
bench = FileBench(Path({str(tmp_path)!r}))
bench.turn = 1
bench.run("echo after > file; kill -9 $PPID; sleep 0.05")
"""
    done = subprocess.run([sys.executable, "-B", "-c", program], cwd=ROOT, check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    (step,) = bench.rewinder.plan(SESSION).steps
    assert (step.state, step.reason) == ("conflict", "what the command left there is not known")
    bench.undo(overwrite=lambda step: True)
    assert bench.path("file").read_bytes() == b"before"
    bench.database.close()
