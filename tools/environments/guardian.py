"""Makes sure that no command outlives this process, however it ends: even a kill -9 of it.

Process groups are ended with a signal; what has left its group is found by a mark in its environment; and a small
process of ours, the guardian, ends them all when we are gone.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.os_compat import SIGKILL

_TASKKILL_SECONDS = 10.0

UNSEEN: dict[str, Any] = {}
"""For `subprocess`: no window opens for the child, where programs have windows."""
APART: dict[str, Any] = {"start_new_session": True}
"""The same, and the child has a group of its own."""
if sys.platform == "win32":
    UNSEEN = {"creationflags": subprocess.CREATE_NO_WINDOW}
    APART = {"creationflags": subprocess.CREATE_NO_WINDOW | subprocess.CREATE_NEW_PROCESS_GROUP}


def signal_group(group: int, signal_number: int) -> bool:
    """Send a signal to every process of `group`.

    Returns:
        False when there is nobody left in it that we may signal.
    """
    if sys.platform == "win32":
        return _signal_tree(group, signal_number)
    try:
        os.killpg(group, signal_number)
    except (ProcessLookupError, PermissionError):
        # macOS answers EPERM, not ESRCH, for a group of zombies.
        return False
    return True


if sys.platform == "win32":

    def _signal_tree(root: int, signal_number: int) -> bool:
        """End a process with all that it has started, the nearest that Windows has to a group; 0 only asks."""
        forced = () if signal_number in {0, signal.SIGINT} else ("/F",)
        words = ("tasklist", "/NH", "/FI", f"PID eq {root}") if not signal_number else ("taskkill", "/T", *forced)
        target = () if not signal_number else ("/PID", str(root))
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            ran = subprocess.run(
                (*words, *target),
                check=False,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_TASKKILL_SECONDS,
                creationflags=subprocess.CREATE_NO_WINDOW,
            )
            return str(root).encode() in ran.stdout if not signal_number else ran.returncode == 0
        return False


def group_is_alive(group: int) -> bool:
    """True while a process of `group` exists (an unreaped one counts)."""
    return signal_group(group, 0)


# Finds processes by a mark in the environment that they were started with.
# A program may leave its process group and its session (`setsid`, a daemon), and still has the environment that it
# inherited; or it has thrown that away, and is still in its session. Who does both is found only by a thread that the
# kernel lets signal no others. Linux only: elsewhere nobody else's environment can be read, and nothing is found.

VARIABLE = "HERMES_COMMANDS_OF"
"""The variable that holds the mark."""

_PROCESSES = Path("/proc")
# Whoever starts another process while we look is found the next time.
_MAX_ROUNDS = 20


def kill_marked(mark: str) -> int:
    """Kill every process whose mark is `mark`, or begins with it and a dot.

    Returns:
        how many there were.
    """
    ends = [f"\0{VARIABLE}={mark}{end}".encode() for end in ("\0", ".")]
    return _kill_all(lambda pid: _is_marked(pid, ends))


def kill_sessions(numbers: Collection[int]) -> int:
    """Kill every process of these sessions (setsid(2)) that is confined by a filter of calls, as those of ours are.

    A program can leave its group and throw away its environment, and is still in its session, unless it makes one of
    its own. The number of a session that is over may be another one's by now: hence the look at what confines it.

    Returns:
        how many there were.
    """
    return _kill_all(lambda pid: _is_confined_in(pid, numbers)) if numbers else 0


def kill_reachable() -> int:
    """Kill every confined process that the calling thread may signal: for one that may signal none but these.

    Returns:
        how many there were.
    """
    return _kill_all(_is_reachable)


def _kill_all(is_meant: Callable[[int], bool]) -> int:
    killed: set[int] = set()
    for _ in range(_MAX_ROUNDS):
        found = set(_kill_each(is_meant))
        if found <= killed:
            break
        killed |= found
    return len(killed)


def _kill_each(is_meant: Callable[[int], bool]) -> Iterator[int]:
    for name in os.listdir(_PROCESSES) if _PROCESSES.is_dir() else ():  # noqa: PTH208 - names are enough
        if not name.isdecimal() or not is_meant(int(name)):
            continue
        with contextlib.suppress(OSError):
            _kill(int(name), is_meant)
            yield int(name)


def _kill(pid: int, is_meant: Callable[[int], bool]) -> None:
    if not hasattr(os, "pidfd_open"):
        os.kill(pid, SIGKILL)
        return
    handle = os.pidfd_open(pid)
    try:
        # By now the number may be another process's: what the handle stands for is looked at again.
        if is_meant(pid):
            signal.pidfd_send_signal(handle, SIGKILL)
    finally:
        os.close(handle)


def _is_marked(pid: int, marks: Collection[bytes]) -> bool:
    try:
        variables = b"\0" + _facts(pid, "environ")
    except OSError:  # it is gone, or somebody else's
        return False
    return any(mark in variables for mark in marks)


def _is_reachable(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return pid != os.getpid() and b"\nNoNewPrivs:\t1\n" in _facts(pid, "status")
    except OSError:
        return False


def _is_confined_in(pid: int, sessions: Collection[int]) -> bool:
    try:
        if os.getsid(pid) not in sessions:
            return False
        status = _facts(pid, "status")
    except OSError:
        return False
    return b"\nNoNewPrivs:\t1\n" in status and b"\nSeccomp:\t2\n" in status


def _facts(pid: int, name: str) -> bytes:
    """What the system tells of a process, without a detour by paths: all processes are looked at.

    Raises:
        OSError: it is gone, or somebody else's.
    """
    with open(f"{_PROCESSES}/{pid}/{name}", "rb", buffering=0) as file:  # noqa: PTH123 - said above
        return file.read()


log = logging.getLogger(__name__)

# Reads lines `+GROUP` and `-GROUP`; the end of its input means that the process it serves is gone.
_SCRIPT = """
trap '' TERM INT HUP QUIT PIPE TSTP TTIN TTOU
groups=' '
while IFS= read -r line; do
  case $line in
    +*) groups="$groups${line#+} " ;;
    -*) group=${line#-}
        case $groups in
          *" $group "*) groups="${groups%% $group *} ${groups#* $group }" ;;
        esac ;;
  esac
done
for group in $groups; do kill -s KILL -- "-$group"; done
for round in 1 2 3; do
  for environ in $(grep -lsF "$1" /proc/[0-9]*/environ); do
    pid=${environ#/proc/}
    kill -s KILL "${pid%/environ}"
  done
done
"""
_END_SECONDS = 1.0


class Guardian:
    """Holds the process groups that must not outlive this process, and a helper process that sees to it.

    The helper is a tiny shell that reads a pipe whose only writer is this process. When this process is gone, in
    whatever way, the pipe ends and the helper kills what is still registered. It starts with the first command; a
    helper that someone killed is replaced at the next one. Safe to use from several threads; one for a process.

    What has left its group is known by its environment: `tools.environments.guardian`.

    Args:
        shell: the program that runs the helper's script. Without it only `kill_all` protects.

    Attributes:
        mark: begins the marks of all that is started for this process.
    """

    def __init__(self, shell: str = "/bin/sh") -> None:
        self.mark = secrets.token_hex(8)
        self._shell = shell
        self._lock = threading.Lock()
        self._groups: set[int] = set()
        self._helper: subprocess.Popen[bytes] | None = None
        self._pipe = -1
        self._unavailable = False

    def ready(self) -> None:
        """Have the helper running; call it before a command starts."""
        with self._lock:
            self._ensure_helper()

    def add(self, group: int) -> None:
        """Register a process group, at once after its start."""
        with self._lock:
            self._groups.add(group)
            self._tell(f"+{group}\n")

    def discard(self, group: int) -> None:
        """Forget a group that is gone, so that a later one with its number is safe."""
        with self._lock:
            if group in self._groups:
                self._groups.remove(group)
                self._tell(f"-{group}\n")

    def groups(self) -> frozenset[int]:
        """The registered groups."""
        with self._lock:
            return frozenset(self._groups)

    def helper_pid(self) -> int | None:
        """The helper's process id, None while there is none."""
        helper = self._helper
        return None if helper is None else helper.pid

    def kill_all(self) -> None:
        """Kill every registered group now and end the helper: the orderly exit."""
        with self._lock:
            for group in self._groups:
                signal_group(group, SIGKILL)
            self._groups.clear()
            if self._helper is not None:
                kill_marked(self.mark)
                # Nothing is left for it to do, and it would look through all processes once more.
                self._helper.kill()
            self._end_helper()

    def _tell(self, line: str) -> None:
        if self._helper is None:
            self._ensure_helper()  # tells it of all groups
            return
        try:
            os.write(self._pipe, line.encode("ascii"))
        except (BrokenPipeError, BlockingIOError):
            log.warning("the process that guards commands is gone or stuck; another one is started")
            self._ensure_helper(replace=True)

    def _ensure_helper(self, *, replace: bool = False) -> None:
        if self._unavailable:
            return
        if self._helper is not None:
            if not replace and self._helper.poll() is None:
                return
            # Killed before its pipe is closed: at the pipe's end it would kill groups that are in use.
            self._helper.kill()
            self._end_helper()
        try:
            self._start_helper()
        except OSError:
            self._unavailable = True
            log.warning("no guard: commands may outlive a kill -9 of this process", exc_info=True)

    def _start_helper(self) -> None:
        reader, writer = os.pipe()
        try:
            self._helper = subprocess.Popen(
                [self._shell, "-c", _SCRIPT, "hermes-acp-guardian", f"{VARIABLE}={self.mark}"],
                stdin=reader,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={},
                close_fds=True,
                start_new_session=True,
            )
        except OSError:
            os.close(writer)
            raise
        finally:
            os.close(reader)
        self._pipe = writer
        # A helper that is stopped or stuck must not stop us.
        os.set_blocking(writer, False)
        if self._groups:
            os.write(writer, "".join(f"+{group}\n" for group in self._groups).encode("ascii"))

    def _end_helper(self) -> None:
        helper, self._helper = self._helper, None
        if helper is None:
            return
        os.close(self._pipe)
        self._pipe = -1
        try:
            helper.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            helper.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                helper.wait(_END_SECONDS)


# A child waits for a first line until its group is registered with the guardian; if we die before, its input ends and
# it never begins. A shell reads a pipe byte by byte: the child gets all that follows.
_WAITING = ("/bin/sh", "-c", 'IFS= read -r _ && exec "$@"', "hermes-acp-child")
GO = b"\n"


def start_waiting(
    program: Sequence[str], guardian: Guardian, *, cwd: Path, env: Mapping[str, str]
) -> tuple[subprocess.Popen[bytes], str]:
    """Start a program in a group of its own, which begins once `GO` is written to its input, and its mark.

    Raises:
        OSError, ValueError: it cannot be started.
    """
    mark = f"{guardian.mark}.{secrets.token_hex(4)}"
    guardian.ready()
    process = subprocess.Popen(
        (*_WAITING, *program),
        cwd=cwd,
        env={**env, VARIABLE: mark},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        close_fds=True,
        start_new_session=True,
    )
    guardian.add(process.pid)
    return process, mark


class SessionGroups:
    """Keeps groups registered with the guardian for as long as a process of them lives; safe from several threads."""

    def __init__(self, guardian: Guardian) -> None:
        self._guardian = guardian
        self._mark = f"{guardian.mark}.{secrets.token_hex(4)}"
        self._is_used = False
        self._lock = threading.Lock()
        # Groups that are alive, or were when last seen, by their number: the process id of their shell.
        self._groups: dict[int, subprocess.Popen[bytes]] = {}
        # Those whose shell is being watched: only their own watch may reap it.
        self._watched: set[int] = set()

    @property
    def mark(self) -> str:
        """Of what is started for this session; begins the marks of what is to be found by itself."""
        return self._mark

    @property
    def variables(self) -> dict[str, str]:
        """What a command has to have in its environment, so that what leaves its group is found again."""
        return {VARIABLE: self._mark}

    def prepare(self) -> None:
        """Call it before a command starts."""
        self._is_used = True
        self.forget_dead()
        self._guardian.ready()

    def add(self, process: subprocess.Popen[bytes]) -> None:
        """Register the group that `process` leads, and whose end somebody watches until `watched`."""
        self._guardian.add(process.pid)
        with self._lock:
            self._groups[process.pid] = process
            self._watched.add(process.pid)

    def watched(self, process: subprocess.Popen[bytes]) -> None:
        """Nobody watches the process any more; what it has left in the background may live on."""
        with self._lock:
            self._watched.discard(process.pid)
        self._forget_if_dead(process)

    def any_alive(self) -> bool:
        """Whether a process of any group is alive."""
        self.forget_dead()
        with self._lock:
            return bool(self._groups)

    def forget_dead(self) -> None:
        """Drop the groups of which nobody is left."""
        with self._lock:
            known = list(self._groups.values())
        for process in known:
            self._forget_if_dead(process)

    def kill_all(self) -> None:
        """Kill every process of every group, watched ones too, and what has left its group."""
        with self._lock:
            for group in self._groups:
                signal_group(group, SIGKILL)
            left = [process for group, process in self._groups.items() if group not in self._watched]
            for process in left:
                # Nothing survives that signal: no need to see the group go.
                del self._groups[process.pid]
        for process in left:
            self._guardian.discard(process.pid)
        if self._is_used:
            kill_marked(self._mark)

    def _forget_if_dead(self, process: subprocess.Popen[bytes]) -> None:
        group = process.pid
        with self._lock:
            if group in self._watched or process.poll() is None or group_is_alive(group):
                return
            self._groups.pop(group, None)
        self._guardian.discard(group)
