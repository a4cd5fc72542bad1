"""Commands under Landlock: what they may, and what becomes of the sandbox's own things."""

import contextlib
import ctypes
import os
import signal
import struct
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.support.processes import open_descriptors
from tools.environments.sandbox import kernel
from tools.environments.sandbox.kernel import start_confined
from tools.environments.sandbox.landlock_sandbox import LandlockSandbox
from tools.environments.sandbox.port import Confinement, Limits
from tools.environments.sandbox.probe import probe

pytestmark = pytest.mark.skipif(
    not any(each.name == "landlock" and each.works for each in probe()), reason="no Landlock here"
)


@pytest.fixture
def sandbox():
    sandbox = LandlockSandbox()
    yield sandbox
    sandbox.close()


@pytest.fixture
def run(sandbox, world):
    def run(script, confinement=None, **popen):
        confinement = confinement or world.confinement()
        process = sandbox.popen(
            ["sh", "-c", f"IFS= read -r go; {script}"],
            confinement,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=world.root,
            env={**os.environ, **sandbox.variables(confinement)},
            **popen,
        )
        return process.communicate(b"go\n", timeout=20)[0].decode()

    return run


def test_everyday_work_in_the_root(run, world):
    script = (
        "echo a >f && mkdir -p d/e && mv f d/e/f && ln d/e/f g && ln -s g h && cat h && rm -r d && echo x >/dev/null"
    )
    assert run(script) == "a\n"
    assert (world.root / "g").read_text() == "a\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has capabilities to give")
def test_no_capability_is_inherited(tmp_path):
    """As under a service manager that has given this program some; here to a thread, so that they end with it."""
    printed = []

    def start():
        give_inheritable(1 << 0 | 1 << 13)
        sandbox = LandlockSandbox()
        asked = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        process = sandbox.popen(["grep", "CapInh", "/proc/self/status"], Confinement("read-only"), **asked)
        printed.append(process.communicate(timeout=20)[0])
        sandbox.close()

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    assert int(printed[0].split()[1], 16) == 0


def give_inheritable(capabilities):
    library = ctypes.CDLL(None)
    header = struct.pack("=Ii", 0x20080522, 0)
    words = ctypes.create_string_buffer(24)
    assert library.capget(header, words) == 0
    had = struct.unpack("=6I", words.raw)
    assert library.capset(header, struct.pack("=6I", *had[:2], capabilities, *had[3:])) == 0


def test_programs_with_several_processes_work(run):
    script = "import multiprocessing as m; print(sum(m.get_context('spawn').Pool(2).map(abs, [-1, -2])))"
    assert run(f"{sys.executable} -c \"if __name__ == '__main__':\n    {script}\"") == "3\n"


def test_a_tracer_may_look_at_what_it_has_started(run):
    """Sanitizers and debuggers do."""
    code = (
        "import ctypes, signal, subprocess; child = subprocess.Popen(['sleep', '9']); "
        "print(ctypes.CDLL(None).ptrace(0x4206, child.pid, None, None)); child.kill()"
    )
    assert run(f'{sys.executable} -c "{code}"') == "0\n"


def test_reading_only_changes_nothing_but_its_own_temporary_directory(run, world):
    printed = run('echo x >f; echo kept >"$TMPDIR/t" && cat "$TMPDIR/t"', world.confinement("read-only"))
    assert "kept" in printed
    assert not (world.root / "f").exists()


def test_a_hidden_place_inside_a_root_stays_hidden(run, world):
    inside = world.root / "keys"
    inside.mkdir()
    (inside / "key").write_text("planted")
    (world.root / "code").mkdir()
    confinement = Confinement("workspace-write", (world.root,), (inside,))
    printed = run("cat keys/key; echo x >keys/new; mv keys stolen; echo fine >code/f; cat code/f", confinement)
    assert "planted" not in printed
    assert "fine" in printed
    assert sorted(path.name for path in inside.iterdir()) == ["key"]


def test_what_is_protected_in_a_root_is_read_and_not_changed(run, world):
    (world.root / ".rc").write_text("as it was\n")
    confinement = Confinement("workspace-write", (world.root,), protected=(world.root / ".rc",))
    assert "as it was" in run("cat .rc; echo evil >>.rc; rm -f .rc; mv .rc x; cat .rc", confinement)
    assert (world.root / ".rc").read_text() == "as it was\n"


def test_a_file_beside_a_hidden_one_is_seen_by_the_next_command(run, world):
    confinement = Confinement("workspace-write", (world.root,), (world.hidden,))
    assert run("cat ../outside/target", confinement) == "as it was"
    (world.base / "later").write_text("new")
    assert run("cat ../later", confinement) == "new"


def test_what_becomes_hidden_later_is_hidden(run, world):
    late = world.base / "late"
    confinement = Confinement("workspace-write", (world.root,), (late,))
    run("true", confinement)
    late.write_text("planted")
    assert "planted" not in run("cat ../late", confinement)


def test_a_root_that_was_made_anew_is_writable(run, world):
    run("true")
    (world.root).rmdir()
    world.root.mkdir()
    assert run("echo a >f && cat f") == "a\n"


def test_a_directory_on_the_way_that_became_a_link_is_not_followed(sandbox, world):
    """What a confined command could do to a root below a place that it may change."""
    inner = world.root / "a" / "project"
    inner.mkdir(parents=True)
    (world.outside / "project").mkdir()
    confinement = Confinement("workspace-write", (inner,), ())
    (world.root / "a").rename(world.root / "b")
    (world.root / "a").symlink_to(world.outside)
    process = sandbox.popen(["sh", "-c", 'echo x >"$1/f"', "sh", str(inner)], confinement, stderr=subprocess.DEVNULL)
    assert process.wait(20) != 0
    assert list((world.outside / "project").iterdir()) == []


def test_the_background_stays_confined_after_its_shell(run, world):
    assert run("(sleep 0.1; echo x >../outside/late; echo done) 2>/dev/null &") == "done\n"
    assert not (world.outside / "late").exists()


def test_a_command_may_signal_its_own_processes(run):
    assert run("sleep 20 & kill $! && wait $!; echo $?").split()[-1] == str(128 + signal.SIGTERM)


def test_this_process_and_its_threads_stay_free(run, world):
    run("true")
    found = []
    thread = threading.Thread(target=lambda: found.append((world.outside / "free").write_text("x")))
    thread.start()
    thread.join()
    assert found == [1]
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(FileNotFoundError):  # a thread that has ended since it was listed
            assert "Seccomp:\t0" in (task / "status").read_text()


def test_many_starts_at_once(sandbox, world):
    def start():
        codes.append(sandbox.popen(["true"], world.confinement()).wait(20))

    codes: list[int] = []
    threads = [threading.Thread(target=start) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert codes == [0] * 12


def test_no_descriptor_is_left(world):
    before = open_descriptors()
    sandbox = LandlockSandbox()
    for number in range(12):  # more than are kept
        confinement = Confinement("workspace-write", (world.root,), (world.hidden, world.base / str(number)))
        sandbox.popen(["true"], confinement).wait(20)
    sandbox.close()
    assert open_descriptors() == before


def test_its_own_directory_is_gone_when_it_closes(world):
    sandbox = LandlockSandbox()
    place = Path(sandbox.variables(world.confinement())["XDG_RUNTIME_DIR"])
    assert place.stat().st_mode & 0o777 == 0o700
    sandbox.close()
    assert not place.exists()


def test_a_program_that_is_not_there_is_an_error_of_its_own(sandbox, world):
    with pytest.raises(FileNotFoundError):
        sandbox.popen(["/nowhere/program"], world.confinement())


def test_nothing_starts_where_the_thread_cannot_be_confined(world):
    started = []

    def refuse():
        raise PermissionError(1, "not here")

    with pytest.raises(PermissionError):
        start_confined(refuse, lambda: started.append(1))
    assert started == []


def test_a_thread_that_does_not_end_takes_its_process_with_it(monkeypatch):
    monkeypatch.setattr(kernel, "GONE_SECONDS", 0.05)
    monkeypatch.setattr(Path, "exists", lambda _: True)  # as the kernel would say it of the thread
    started = []

    def start():
        started.append(subprocess.Popen(["sleep", "60"]))
        return started[0]

    with pytest.raises(OSError, match="did not end"):
        start_confined(lambda: -1, start)
    assert started[0].returncode == -signal.SIGKILL


def test_limits_hold(run, world):
    limits = Limits(cpu_seconds=7, file_size=1024, memory=300_000_000)
    confinement = Confinement("workspace-write", (world.root,), limits=limits)
    script = "ulimit -t; ulimit -f; dd if=/dev/zero of=big bs=1024 count=9 2>/dev/null; wc -c <big"
    assert run(script, confinement).split()[-1] == "1024"
    code = "x = bytearray(400_000_000)"
    assert "MemoryError" in run(f"{sys.executable} -c '{code}'", confinement)


def test_a_fork_bomb_runs_into_its_limit(run, world):
    if os.geteuid() == 0:
        pytest.skip("the kernel does not count root's processes")
    confinement = Confinement("workspace-write", (world.root,), limits=Limits(processes=5))
    assert "fork" in run("for n in 1 2 3 4 5 6 7 8 9; do sleep 5 & done; kill $(jobs -p)", confinement).lower()
