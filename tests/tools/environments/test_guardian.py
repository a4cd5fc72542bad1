"""No command outlives the process that started it, however that ends."""

import logging
import os
import signal
import subprocess
import sys
from ast import literal_eval
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.processes import has_ended, ignores
from tests.support.waiting import wait_until
from tools.environments.guardian import Guardian

PROJECT = Path(__file__).parents[3]

OWNER = """
import sys
from pathlib import Path
from agent_core.cancel import CancelToken
from tools.ports import CommandSpec
from tools.environments.guardian import Guardian
from tools.environments.local_commands import LocalEnvironment

guardian = Guardian()
environment = LocalEnvironment(guardian)

def show(text):
    print(text.strip(), guardian.helper_pid(), flush=True)

environment.run(CommandSpec(sys.argv[1], Path.cwd(), 600), show, CancelToken())
"""


@pytest.fixture
def sleeper():
    """Starts a process that leads a group of its own."""
    started = []

    def start():
        process = subprocess.Popen(["sleep", "1000"], start_new_session=True)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


ASKED = """
import subprocess
import sys
import threading
from tools.environments.guardian import Guardian

guardian = Guardian()

def crowd(pid):
    started, begin = [], threading.Barrier(9)
    def start():
        begin.wait()
        started.extend(subprocess.Popen(["sleep", "1000"], close_fds=False, stdout=2).pid for _ in range(5))
    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    begin.wait()
    guardian.add(pid)
    for thread in threads:
        thread.join()
    return started

def work(pid):
    for _ in range(20):
        guardian.add(pid)
        guardian.discard(pid)
    guardian.add(pid)

def at_once(*pids):
    threads = [threading.Thread(target=work, args=(pid,)) for pid in pids]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(guardian.groups())

for line in sys.stdin:
    print(eval(line), flush=True)
"""


class Owner:
    """A process with a guardian, that does what it is told until it is killed."""

    def __init__(self):
        pipe = subprocess.PIPE
        command = [sys.executable, "-c", ASKED]
        self.process = subprocess.Popen(command, cwd=PROJECT, stdin=pipe, stdout=pipe, text=True)

    def __call__(self, call):
        """What the call gives there."""
        self.process.stdin.write(f"{call}\n")
        self.process.stdin.flush()
        return literal_eval(self.process.stdout.readline())

    def die(self):
        """As `kill -9` does it."""
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


@pytest.fixture
def owner():
    made = Owner()
    yield made
    made.die()


def _start_owner(command):
    owner = subprocess.Popen([sys.executable, "-c", OWNER, command], cwd=PROJECT, stdout=subprocess.PIPE, text=True)
    *pids, helper = map(int, owner.stdout.readline().split())
    return owner, pids, helper


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_when_the_owner_is_killed_every_process_of_its_commands_dies(ending):
    owner, pids, helper = _start_owner('sleep 1000 & echo $$ $!; trap "" TERM HUP; sleep 1000')
    assert not any(has_ended(pid) for pid in pids)

    owner.send_signal(ending)
    owner.wait()
    owner.stdout.close()

    wait_until(lambda: all(has_ended(pid) for pid in pids))
    wait_until(lambda: has_ended(helper))


def test_what_has_left_its_group_dies_too_when_the_owner_is_killed():
    owner, (pid,), helper = _start_owner("setsid --fork sh -c 'echo $$; exec sleep 1000'; sleep 1000")
    assert not has_ended(pid)

    owner.kill()
    owner.wait()
    owner.stdout.close()

    wait_until(lambda: has_ended(pid))
    wait_until(lambda: has_ended(helper))


def test_the_helper_ignores_polite_signals_and_still_does_its_work():
    owner, pids, helper = _start_owner("sleep 1000 & echo $$ $!; sleep 1000")
    wait_until(lambda: ignores(helper, signal.SIGHUP))
    for ignored in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        os.kill(helper, ignored)

    owner.kill()
    owner.wait()
    owner.stdout.close()

    wait_until(lambda: all(has_ended(pid) for pid in pids))


def test_no_helper_runs_before_it_is_needed(guardian):
    assert guardian.helper_pid() is None

    guardian.ready()

    assert guardian.helper_pid() is not None


def test_the_helper_is_in_a_session_of_its_own(guardian):
    guardian.ready()

    assert os.getsid(guardian.helper_pid()) == guardian.helper_pid()


def test_the_orderly_exit_kills_what_is_registered_and_ends_the_helper(guardian, sleeper):
    process = sleeper()
    guardian.add(process.pid)
    helper = guardian.helper_pid()

    guardian.kill_all()

    assert process.wait(5) == -signal.SIGKILL
    assert guardian.groups() == frozenset()
    assert guardian.helper_pid() is None
    with pytest.raises(ProcessLookupError):
        os.kill(helper, 0)


def test_what_was_discarded_is_left_alone(owner, sleeper):
    kept, discarded, other = sleeper(), sleeper(), sleeper()
    for process in (kept, discarded, other):
        owner(f"guardian.add({process.pid})")

    owner(f"guardian.discard({discarded.pid})")
    owner.die()

    assert kept.wait(5) == -signal.SIGKILL
    assert other.wait(5) == -signal.SIGKILL
    assert discarded.poll() is None


def test_to_discard_twice_or_an_unknown_group_does_nothing(guardian, sleeper):
    process = sleeper()
    guardian.add(process.pid)

    guardian.discard(process.pid)
    guardian.discard(process.pid)
    guardian.discard(999_999)

    assert guardian.groups() == frozenset()


@pytest.mark.parametrize("awaken", ["ready", "add"])
def test_a_helper_that_was_killed_is_replaced_and_told_of_every_group(owner, sleeper, awaken):
    first, second = sleeper(), sleeper()
    owner(f"guardian.add({first.pid})")
    killed = owner("guardian.helper_pid()")
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: has_ended(killed))

    if awaken == "ready":
        owner("guardian.ready()")
    owner(f"guardian.add({second.pid})")

    assert owner("guardian.helper_pid()") != killed
    assert first.poll() is None
    owner.die()
    assert first.wait(5) == -signal.SIGKILL
    assert second.wait(5) == -signal.SIGKILL


def test_a_helper_that_is_stopped_is_replaced_without_harm_to_running_groups(guardian, sleeper):
    process = sleeper()
    guardian.add(process.pid)
    stopped = guardian.helper_pid()
    os.kill(stopped, signal.SIGSTOP)

    # More than the pipe holds, so that writing to the stopped helper cannot go on.
    for _ in range(20_000):
        guardian.add(process.pid)

    assert guardian.helper_pid() != stopped
    assert process.poll() is None


def test_without_a_shell_commands_still_run_and_the_orderly_exit_still_kills(sleeper, caplog):
    guardian = Guardian(shell="/nonexistent/sh")
    process = sleeper()

    with caplog.at_level(logging.WARNING):
        guardian.ready()
        guardian.add(process.pid)
        guardian.add(process.pid)

    assert [record.message for record in caplog.records] == [
        "no guard: commands may outlive a kill -9 of this process"
    ]
    guardian.kill_all()
    assert process.wait(5) == -signal.SIGKILL


def test_processes_started_meanwhile_by_other_threads_do_not_hold_the_pipe(owner, sleeper):
    process = sleeper()
    started = owner(f"crowd({process.pid})")
    try:
        owner.die()
        # A copy of the write end in any of them would keep the helper waiting.
        assert process.wait(5) == -signal.SIGKILL
    finally:
        for other in started:
            with suppress(ProcessLookupError):
                os.kill(other, signal.SIGKILL)


def test_many_threads_may_register_at_once(owner, sleeper):
    processes = [sleeper() for _ in range(30)]
    pids = sorted(process.pid for process in processes)

    assert owner(f"at_once(*{pids})") == pids
    owner.die()
    assert all(process.wait(5) == -signal.SIGKILL for process in processes)
