"""Programs that mean no good: none outlives its end, none is heard after it, and none holds a turn."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest

from tests.support.agents import in_background
from tests.support.processes import has_ended, open_descriptors
from tests.support.programs import ALL, needs_sandbox, program_bench
from tests.support.waiting import wait_until
from tools.approval.actions import WritePath
from tools.approval.questions import MOST_NOES
from tools.settings import ProgramSettings

pytestmark = pytest.mark.long

_RAW = """
import hermes_tools, json, struct
raw = hermes_tools._channel._socket
def send(data):
    raw.sendall(struct.pack(">I", len(data)) + data)
def is_closed():
    try:
        return raw.recv(1) == b""
    except ConnectionError:
        return True
"""


def _pids(path: Path) -> list[int]:
    return [int(pid) for pid in path.read_text().split()]


@pytest.mark.parametrize("sandboxed", [False, pytest.param(True, marks=needs_sandbox)])
def test_what_a_program_leaves_behind_ends_with_it(tmp_path, sandboxed):
    code = """
import os, subprocess, sys, time
left = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
daemon = subprocess.Popen(["sleep", "60"], start_new_session=True)
reader, writer = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(writer, str(os.getpid()).encode())
        os.close(writer)
        time.sleep(60)
    os._exit(0)
os.close(writer)
print(left.pid, daemon.pid, os.read(reader, 20).decode())
"""
    with program_bench(tmp_path, sandboxed=sandboxed) as bench:
        pids = [int(pid) for pid in bench.output(code).split()]
        assert len(pids) == 3
        wait_until(lambda: all(has_ended(pid) for pid in pids))


def test_after_a_cancel_nothing_of_it_is_left_at_once(bench):
    code = f"""
{ALL}
import os, signal, subprocess, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen(["sh", "-c", "trap '' TERM; sleep 60; sleep 60"], start_new_session=True)
open("pids", "w").write(f"{{os.getpid()}} {{child.pid}}")
os.rename("pids", "ready")
while True: time.sleep(1)
"""
    agent = bench.agent(code)
    running = in_background(lambda: agent.run_conversation("go", callbacks=bench.ears.callbacks()))
    wait_until((bench.cwd / "ready").exists)
    pids = _pids(bench.cwd / "ready")
    agent.interrupt()
    wait_until(lambda: has_ended(pids[0]))
    running.result(10)
    wait_until(lambda: all(has_ended(pid) for pid in pids))


def test_a_cancel_while_the_person_is_asked_ends_call_and_program(tmp_path):
    asked = threading.Event()
    with program_bench(tmp_path, mode="default") as bench:
        agent = bench.agent(f"{ALL}write_file('x', 'y')\nprint('never')")

        def cancel():
            if isinstance(bench.approver.asked[-1], WritePath):
                asked.set()
                agent.interrupt()

        bench.approver.before_answer = cancel
        result = agent.run_conversation("go", callbacks=bench.ears.callbacks())
    assert asked.is_set()
    assert not (tmp_path / "x").exists()
    assert result["interrupted"] is True
    ended = bench.finished()
    assert ended["p1"].result.failed
    assert ended["p1-1"].result.failed


def test_what_it_has_forked_calls_nothing(bench):
    code = f"""
{ALL}
import os
if os.fork() == 0:
    try:
        read_file("a.txt")
    except ToolError as problem:
        print("child:", problem, flush=True)
    os._exit(0)
os.wait()
print("parent:", read_file("a.txt")["content"])
"""
    output = bench.output(code)
    assert "child: Tools can be called only from the program" in output
    assert "parent: one" in output
    assert len(bench.nested()) == 1


def test_what_it_starts_does_not_inherit_the_way_to_the_tools(bench):
    code = f"""{_RAW}
import subprocess, sys
look = "import os, sys; os.fstat(int(sys.argv[1]))"
args = [sys.executable, "-c", look, str(raw.fileno())]
print(subprocess.run(args, close_fds=False, capture_output=True, text=True).stderr.strip().splitlines()[-1])
"""
    assert "Bad file descriptor" in bench.output(code)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows descriptors of others as files")
def test_no_other_process_gets_in(bench):
    code = f"""{ALL}{_RAW}
import os, time
open("where", "w").write(f"/proc/{{os.getpid()}}/fd/{{raw.fileno()}}")
os.rename("where", "ready")
while not os.path.exists("tried"): time.sleep(0.01)
print(read_file("a.txt")["content"])
"""
    agent = bench.agent(code)
    running = in_background(lambda: agent.run_conversation("go", callbacks=bench.ears.callbacks()))
    wait_until((bench.cwd / "ready").exists)
    with pytest.raises(OSError, match="No such device or address"):
        os.open((bench.cwd / "ready").read_text(), os.O_RDWR)
    (bench.cwd / "tried").write_text("")
    running.result(20)
    assert not bench.result().failed


@pytest.mark.parametrize(
    "rubbish",
    [
        'send(b"no json")',
        'send(b"[1, 2]")',
        'send(json.dumps({"id": "x", "name": "read_file", "arguments": {}}).encode())',
        'send(json.dumps({"id": 1, "name": ["read_file"], "arguments": {}}).encode())',
        'send(json.dumps({"id": 1, "name": "read_file"}).encode())',
        'send(json.dumps({"id": 1, "name": "x" * 1000, "arguments": {}}).encode())',
        'send(json.dumps({"id": 1, "name": "half a \\ud800", "arguments": {}}).encode())',
        'send(b"[" * 100_000)',
        'send(b"\\xff\\xfe")',
        'raw.sendall(b"\\xff" * 8)',
    ],
)
def test_whoever_sends_rubbish_is_not_listened_to_any_more(bench, rubbish):
    assert bench.output(f"{_RAW}\n{rubbish}\nprint(is_closed())") == "True\n"
    assert bench.nested() == []


def test_a_message_that_is_too_big_is_not_taken(tmp_path):
    code = f"{_RAW}\nraw.sendall(struct.pack('>I', 2000) + b'x' * 10)\nprint(is_closed())"
    with program_bench(tmp_path, programs=ProgramSettings(max_message_bytes=1000)) as bench:
        assert bench.output(code) == "True\n"


def test_an_answer_that_is_too_big_is_an_error(tmp_path):
    (tmp_path / "a.txt").write_text("x" * 5000)
    caught = "try:\n    read_file('a.txt')\nexcept ToolError as problem:\n    print(problem)\n"
    with program_bench(tmp_path, programs=ProgramSettings(max_message_bytes=1000)) as bench:
        assert "too much for one answer" in bench.output(f"{ALL}{caught}")


def test_who_never_reads_the_answers_holds_nobody(tmp_path):
    (tmp_path / "big.txt").write_text("line\n" * 20_000)
    call = 'json.dumps({"id": n, "name": "read_file", "arguments": {"path": "big.txt", "limit": 2000}}).encode()'
    with program_bench(tmp_path) as bench:
        assert bench.output(f"{_RAW}\nfor n in range(40):\n    send({call})\nprint('sent')") == "sent\n"


def test_a_flood_of_output_holds_nobody(bench):
    payload = bench.run("for n in range(60_000):\n    print('flood', n)")
    assert payload["exit_code"] == 0
    assert payload["truncated_chars"] > 500_000


def test_a_program_that_ends_in_the_middle_of_a_call_is_over(bench):
    code = f"{ALL}\nimport os, threading, time\n"
    code += "threading.Thread(target=lambda: terminal('touch begun; sleep 600'), daemon=True).start()\n"
    code += "while not os.path.exists('begun'): time.sleep(0.01)\nos._exit(0)\n"
    assert bench.run(code)["exit_code"] == 0
    assert bench.finished()["p1-1"].result.failed


def test_no_descriptor_and_no_thread_is_left(bench):
    bench.output(f"{ALL}read_file('a.txt')")
    wait_until(lambda: not [each for each in threading.enumerate() if each.name.startswith("program call")])
    before = open_descriptors()
    bench.output(*[f"{ALL}read_file('a.txt')"] * 2)
    bench.run("import os; os.kill(os.getpid(), 9)")
    wait_until(lambda: not [each for each in threading.enumerate() if each.name.startswith("program call")])
    assert open_descriptors() <= before


def test_files_of_the_workspace_with_the_names_of_modules_are_not_taken_for_them(bench):
    for name in ("json", "socket", "struct", "threading", "hermes_tools", "types"):
        (bench.cwd / f"{name}.py").write_text("raise SystemExit('not the real one')")
    (bench.cwd / "mine.py").write_text("value = 7")
    assert bench.output(f"{ALL}import mine, json\nprint(mine.value, read_file('a.txt')['content'])") == "7 one\n\n"


@needs_sandbox
@pytest.mark.parametrize(("calls", "asked"), [("write_file('x', 'y')", 1), ("write_file('x', str(n))", MOST_NOES)])
def test_who_does_not_take_no_for_an_answer_is_not_asked_about_any_more(tmp_path, calls, asked):
    code = f"{ALL}for n in range(20):\n    try: {calls}\n    except Denied: pass\nprint('over')"
    with program_bench(tmp_path, mode="default", sandboxed=True) as bench:
        bench.approver.choice = "reject_once"
        assert bench.output(code) == "over\n"
        assert len(bench.approver.asked) == asked
        assert all(ended.result.denied for name, ended in bench.finished().items() if name != "p1")
        # Another program may want it for a reason.
        bench.output("print(1)", code.replace("20", "1"))
        assert len(bench.approver.asked) == asked + 1


@needs_sandbox
def test_calls_side_by_side_do_not_ask_more_often(tmp_path):
    code = f"""{ALL}
from concurrent.futures import ThreadPoolExecutor
def write(n):
    try: write_file(f"x{{n}}", "y")
    except Denied: pass
list(ThreadPoolExecutor(8).map(write, range(20)))
"""
    with program_bench(tmp_path, mode="default", sandboxed=True) as bench:
        bench.approver.choice = "reject_once"
        bench.output(code)
        assert len(bench.approver.asked) == MOST_NOES


@needs_sandbox
def test_a_yes_in_between_lets_it_ask_on(tmp_path):
    code = f"{ALL}for n in range(9):\n    try: write_file(f'x{{n}}', 'y')\n    except Denied: pass\n"
    with program_bench(tmp_path, mode="default", sandboxed=True) as bench:

        def answer():
            bench.approver.choice = "allow_once" if len(bench.approver.asked) == MOST_NOES else "reject_once"

        bench.approver.before_answer = answer
        bench.output(code)
        assert len(bench.approver.asked) == 9


@pytest.mark.parametrize(
    "made",
    [
        "for _ in range(1500): os.mkdir('d'); os.chdir('d')",
        "place = os.getcwd(); os.rmdir(place); open(place, 'w').close()",
        "place = os.getcwd(); os.rmdir(place); os.symlink('/', place)",
    ],
)
def test_what_it_makes_of_its_empty_directory_hides_nothing(tmp_path, made):
    code = f"import os\nprint(os.getcwd())\n{made}\n"
    with program_bench(tmp_path, programs=ProgramSettings(mode="strict")) as bench:
        place = Path(bench.output(code).strip())
        assert "hermes-program-" in place.name
        assert not os.path.lexists(place)


@needs_sandbox
@pytest.mark.parametrize(
    ("code", "ends"),
    [
        ("1 / 0", 1),
        ("print('x'.encode('idna'))", 0),
        ("import json; print(json.dumps(1))", 0),
    ],
)
def test_a_program_in_plan_mode_loads_nothing_of_the_workspace(tmp_path, code, ends):
    work = tmp_path / "work"
    work.mkdir()
    for name in ("_strptime", "calendar", "json", "linecache", "stringprep", "token", "tokenize", "traceback"):
        (work / f"{name}.py").write_text("print('loaded')")
    with program_bench(work, sandboxed=True, mode="plan") as bench:
        payload = bench.run(code)
        assert payload["exit_code"] == ends
        assert "loaded" not in payload["output"]
        assert bench.approver.asked == []
