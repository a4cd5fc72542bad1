"""A sandbox of Landlock and seccomp: files by path, calls by number, connections by the session's network."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import threading
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.environments.guardian import kill_reachable, kill_sessions
from tools.environments.sandbox import kernel
from tools.environments.sandbox.kernel import limit_process, start_confined
from tools.environments.sandbox.landlock_rules import make_domain, make_ruleset
from tools.environments.sandbox.places import SHARED_MEMORY, Scratch
from tools.environments.sandbox.seccomp import (
    OF_ONE_PROCESS,
    OF_SOME_PROCESSES,
    SCHEDULING_CALLS,
    Notification,
    as_int,
    call_filter,
    names_of,
)
from tools.light_dataclass import dataclass

if TYPE_CHECKING:
    from tools.environments.sandbox.network.session_network import Others, SessionNetwork, Watched
    from tools.environments.sandbox.port import Confinement


# A judge of what Landlock does not see: changes of the mode and the owner of files, by the files that they change.
# The calls come from the kernel while the program waits. A file is opened by what the program named, looked at, and
# changed through that very handle: what the program does to the name meanwhile changes nothing.

OWNERSHIP_CALLS = frozenset({"chmod", "fchmod", "fchmodat", "fchmodat2", "chown", "lchown", "fchown", "fchownat"})
"""The calls that are judged here."""

_HERE = -100
_NO_FOLLOW, _EMPTY_PATH = 0x100, 0x1000
_MOST_PATH = 4096
_OWN_VIEW = "/proc/self/"
_OWN_FILES = "/dev/fd/"


@dataclass(frozen=True, slots=True)
class _Form:
    """Which arguments of a call are what; None where it has none of the kind."""

    directory: int | None = None
    path: int | None = None
    values: int = 0
    flags: int | None = None
    always_flags: int = 0


_FORMS: Mapping[str, _Form] = {
    "chmod": _Form(path=0, values=1),
    "fchmod": _Form(directory=0, values=1),
    "fchmodat": _Form(directory=0, path=1, values=2),
    "fchmodat2": _Form(directory=0, path=1, values=2, flags=3),
    "chown": _Form(path=0, values=1),
    "lchown": _Form(path=0, values=1, always_flags=_NO_FOLLOW),
    "fchown": _Form(directory=0, values=1),
    "fchownat": _Form(directory=0, path=1, values=2, flags=4),
}


class OwnershipJudge:
    """Makes the changes for the program where they are below what it may change; call it with each notice.

    Args:
        writable: files and directories that the program may change; resolved.
        hidden: what it may not even name; resolved.
    """

    def __init__(self, writable: Iterable[Path], hidden: Iterable[Path]) -> None:
        self._writable = tuple(writable)
        self._hidden = tuple(hidden)
        self._user = os.geteuid()

    def __call__(self, notice: Notification) -> int:
        """Make the change or refuse it.

        Returns:
            the errno with which the program's call ends, 0 for none.
        """
        name = names_of(OWNERSHIP_CALLS, kernel.machine()).get(notice.nr)
        if name is None:
            return errno.EACCES
        try:
            return self._judge(notice, name, _FORMS[name])
        except OSError as problem:
            return problem.errno or errno.EACCES

    def _judge(self, notice: Notification, name: str, form: _Form) -> int:
        if self._acting_user(notice.pid) != self._user:
            return errno.EPERM  # we would do it with rights that the program has given up
        handle = _opened(notice, form)
        try:
            if not notice.valid():
                return errno.EINTR
            if not self._may_change(handle):
                return errno.EPERM
            if name.startswith(("chown", "lchown", "fchown")):
                kernel.change_owner(handle, notice.args[form.values], notice.args[form.values + 1])
            elif stat.S_ISLNK(os.fstat(handle).st_mode):
                return errno.EOPNOTSUPP
            else:
                Path(f"/proc/self/fd/{handle}").chmod(notice.args[form.values] & 0o1777)
        finally:
            os.close(handle)
        return 0

    def _acting_user(self, thread: int) -> int:
        """Whose files a thread may change. A user without rights becomes nobody else: the quick way will do."""
        if self._user != 0:
            return os.stat(f"/proc/{thread}").st_uid  # noqa: PTH116 - often, so quick
        return int(_fact(thread, "Uid:")[3])

    def _may_change(self, handle: int) -> bool:
        where = Path(os.readlink(f"/proc/self/fd/{handle}"))  # noqa: PTH115 - what it shows is no link to follow
        if not where.is_absolute():
            return True  # a pipe, a socket: the program's own
        if any(where.is_relative_to(each) for each in self._hidden):
            return False
        return any(where.is_relative_to(each) for each in self._writable) and _is_at(where, os.fstat(handle))


def _is_at(where: Path, found: os.stat_result) -> bool:
    """Whether that is where we see it: what another process has mounted elsewhere may have the same path there."""
    if found.st_nlink == 0:
        return where.parent.stat().st_dev == found.st_dev
    return os.path.samestat(where.lstat(), found)


def _opened(notice: Notification, form: _Form) -> int:
    """A handle of what the call means; the caller closes it.

    Raises:
        OSError: as the program would get it.
    """
    directory = _HERE if form.directory is None else as_int(notice.args[form.directory])
    flags = form.always_flags | (notice.args[form.flags] if form.flags is not None else 0)
    if flags & ~(_NO_FOLLOW | _EMPTY_PATH) & 0xFFFFFFFF:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    path = b"" if form.path is None else _text_at(notice, notice.args[form.path])
    base = f"/proc/{notice.pid}/cwd" if directory == _HERE else f"/proc/{notice.pid}/fd/{directory}"
    if not path:
        if form.path is not None and not flags & _EMPTY_PATH:
            raise OSError(errno.ENOENT, os.strerror(errno.ENOENT))
        return _base(base)
    how = os.O_PATH | os.O_CLOEXEC | (os.O_NOFOLLOW if flags & _NO_FOLLOW else 0)
    named = os.fsdecode(path)
    if named.startswith("/"):
        return os.open(_as_seen_by(notice.pid, named), how)
    start = _base(base)
    try:
        return os.open(named, how, dir_fd=start)
    finally:
        os.close(start)


def _base(place: str) -> int:
    try:
        return os.open(place, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF)) from None


def _as_seen_by(thread: int, path: str) -> str:
    """A path that names "this process" as another process means it."""
    if not path.startswith((_OWN_VIEW, _OWN_FILES)):
        return path
    process = _fact(thread, "Tgid:")[0]
    if path.startswith(_OWN_VIEW):
        return f"/proc/{process}/{path.removeprefix(_OWN_VIEW)}"
    return f"/proc/{process}/fd/{path.removeprefix(_OWN_FILES)}"


def _text_at(notice: Notification, address: int) -> bytes:
    text, ended, _ = notice.memory(address, _MOST_PATH).partition(b"\0")
    if not ended:
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
    return text


def _fact(thread: int, name: str) -> list[str]:
    """What the kernel tells of a thread under that name.

    Raises:
        OSError: it is gone.
    """
    with open(f"/proc/{thread}/status", encoding="ascii", errors="replace") as status:  # noqa: PTH123 - often, so quick
        for line in status:
            if line.startswith(name):
                return line.split()[1:]
    raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH))


# A judge of calls that schedule or limit processes by their number: a command may do so to its session's own only.
# The kernel lets every process of a user do it to all others of the user, and Landlock does not see it. What a thread
# does to itself passes the filter of calls; here comes what names a process.


class SchedulingJudge:
    """Says whether a call may go on; call it with each notice.

    All that is judged stands in registers, which do not change while the call waits. A number could come to stand for
    another process between our look and the kernel's, if the first ended in those microseconds and the kernel's count
    of processes were just there.

    Args:
        holds: whether all of these processes or threads are the session's.
    """

    def __init__(self, holds: Callable[[Collection[int]], bool]) -> None:
        self._holds = holds

    def __call__(self, notice: Notification) -> int | None:
        """Let the kernel go on with the call (None), or refuse it.

        Returns:
            None, or the errno with which the program's call ends.
        """
        name = names_of(SCHEDULING_CALLS, kernel.machine()).get(notice.nr)
        if name is None:
            return errno.EACCES
        try:
            meant = _meant(name, notice)
        except OSError as problem:
            return problem.errno or errno.EACCES
        is_own = all(_is_of_same_process(each, notice.pid) for each in meant)
        if not is_own and not self._holds(meant):
            return errno.EPERM
        return None if notice.valid() else errno.EINTR


def _meant(name: str, notice: Notification) -> Collection[int]:
    """The processes or threads that the call would change.

    Raises:
        OSError: as the program would get it: there is none, or it is a user's processes, or none of the three.
    """
    if name in OF_ONE_PROCESS:
        found: Collection[int] = _there(as_int(notice.args[0]) or notice.pid)
    else:
        kind, number = as_int(notice.args[0]), as_int(notice.args[1])
        process, group, user = OF_SOME_PROCESSES[name]
        if kind == user:
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
        if kind not in {process, group}:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        found = _there(number or notice.pid) if kind == process else _members(number or os.getpgid(notice.pid))
    if not found:
        raise ProcessLookupError(errno.ESRCH, os.strerror(errno.ESRCH))
    return found


def _there(number: int) -> Collection[int]:
    return (number,) if number > 0 and os.path.exists(f"/proc/{number}") else ()  # noqa: PTH110 - plain and quick


def _members(group: int) -> Collection[int]:
    numbers = [int(name) for name in os.listdir("/proc") if name.isdecimal()]  # noqa: PTH208 - names are enough
    return [number for number in numbers if _group_of(number) == group]


def _group_of(number: int) -> int:
    try:
        return os.getpgid(number)
    except OSError:  # it is gone
        return -1


def _is_of_same_process(number: int, thread: int) -> bool:
    """Also where the kernel lets nobody look into it, as a program can ask for."""
    return os.path.exists(f"/proc/{thread}/task/{number}")  # noqa: PTH110 - plain and quick


# The warden knows a session's commands, and what they have left, by something that no program can shed.
# All confined commands of a session are started from one thread in a Landlock domain of its own: it can look into
# nothing outside of it, and signal nothing there (from Landlock 6, Linux 6.12). Their domains lie in this one,
# whatever sessions and environments they make for themselves. So those that this thread can look into are exactly
# they, and those that it can signal; with an older kernel what is left is not found. What is to end before the
# session does has a domain of its own within that one.

_SIGNALS_SINCE = 6
_END_SECONDS = 5.0


class Warden:
    """One for a session, safe to use from several threads; its thread starts when it is first needed.

    Args:
        version: of Landlock.
        outer: whose domain this one lies in; None for a session's.
    """

    def __init__(self, version: int, outer: Warden | None = None) -> None:
        self._outer = outer
        self._version = version
        self._has_own_ipc = False
        self._lock = threading.Lock()
        self._thread: ThreadPoolExecutor | None = None

    def run(self, work: Callable[[], object]) -> None:
        """Call `work` on the thread in whose domain commands belong, and wait for it; so are threads that it starts.

        Raises:
            OSError: the thread could not be put into a domain. Whatever `work` raises.
        """
        with self._lock:
            if self._thread is None:
                self._thread = self._started()
            asked = self._thread.submit(work)
        asked.result()

    def has_own_ipc(self) -> bool:
        """Whether what the session's commands share by System V's means is theirs alone.

        Raises:
            OSError: as `run`.
        """
        self.run(lambda: None)
        return self._has_own_ipc

    def holds(self, numbers: Collection[int]) -> bool:
        """Whether all these are processes or threads of the session's commands. Where that is not clear: no."""
        with self._lock:
            if self._thread is None:
                return False
            asked = self._thread.submit(lambda: all(map(_is_open_to_us, numbers)))
        return asked.result()

    def close(self) -> bool:
        """Kill what is left of the commands, and end the thread; False where it does not know what is left."""
        knows_left = self._version >= _SIGNALS_SINCE
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is None:
            return False
        if knows_left:  # otherwise it can signal all that the user has
            wait((thread.submit(kill_reachable),), _END_SECONDS)
        thread.shutdown(wait=False)
        return knows_left

    def _started(self) -> ThreadPoolExecutor:
        thread = ThreadPoolExecutor(1, "sandbox-warden")
        try:
            if self._outer is None:
                thread.submit(self._enter).result()
            else:  # a thread is started by the first that submits to it, and inherits that one's domain
                self._outer.run(lambda: thread.submit(self._enter).result())
        except BaseException:
            thread.shutdown(wait=False)
            raise
        return thread

    def _enter(self) -> None:
        if self._outer is None:
            self._has_own_ipc = kernel.separate_ipc()
        domain = make_domain(self._version)
        try:
            kernel.gain_no_privileges()
            kernel.restrict_thread(domain)
        finally:
            os.close(domain)


def _is_open_to_us(number: int) -> bool:
    """Whether the calling thread may look into that process, and it is not our own."""
    try:
        os.readlink(f"/proc/{number}/exe")  # noqa: PTH115 - plain and quick
        return not os.path.exists(f"/proc/self/task/{number}")  # noqa: PTH110 - as above
    except OSError:
        return False


# The sandbox.

_CONNECTIONS = frozenset({"connect", "listen"})
_JUDGED = OWNERSHIP_CALLS | SCHEDULING_CALLS


class LandlockSandbox:
    """Implements `tools.environments.sandbox.port.Sandbox`; one for a session, safe to use from several threads.

    Args:
        guard: the session's network; without one no command connects to anything.
        version: of Landlock, what the kernel speaks when None.
    """

    def __init__(self, guard: SessionNetwork | None = None, version: int | None = None) -> None:
        self._guard = guard
        self._version = kernel.landlock_version() if version is None else version
        self._watched: weakref.WeakKeyDictionary[subprocess.Popen[bytes], Watched] = weakref.WeakKeyDictionary()
        self._scratch = Scratch()
        self._sessions: set[int] = set()
        self._warden = Warden(self._version)
        # Of what was started apart: each has a domain of its own.
        self._apart: weakref.WeakKeyDictionary[subprocess.Popen[bytes], Warden] = weakref.WeakKeyDictionary()

    @property
    def name(self) -> str:
        """What it is made of."""
        return "landlock"

    @property
    def hides_beside_changes(self) -> bool:
        """Whether a file can be hidden where commands make files.

        Landlock only adds rights, and those of a directory are those of all that comes to be in it.
        """
        return False

    def popen(
        self, arguments: Sequence[str], confinement: Confinement, *, apart: bool = False, **popen: Any
    ) -> subprocess.Popen[bytes]:
        """Start a process that can do what its confinement says and no more.

        The process must wait for a word that the caller sends after this, before it runs what others have written.

        Raises:
            OSError: it could not be started, or not be confined; then nothing runs.
        """
        program = self._program(confinement)
        listens = bool(program) and self._guard is not None
        own, terminal = (self._scratch.path(),), _terminal(popen.get("stderr"))
        ruleset = make_ruleset(confinement, self._version, own, terminal)

        def confine() -> int:
            kernel.give_up_privileges()
            kernel.restrict_thread(ruleset)
            return kernel.filter_thread(program, listen=listens) if program else -1

        warden = Warden(self._version, self._warden) if apart else self._warden
        try:
            begin = (warden.run,) if confinement.level != "full" else ()  # which may signal whom it wants
            process, listener = start_confined(confine, lambda: subprocess.Popen(arguments, **popen), *begin)
        except BaseException:
            if apart:
                warden.close()
            raise
        finally:
            os.close(ruleset)
        if apart:
            self._apart[process] = warden
        if popen.get("start_new_session"):
            self._sessions.add(process.pid)
        try:
            # Not on the confined thread: what the network starts would be confined as well.
            self._watch(process, listener, confinement)
            limit_process(process.pid, confinement.limits)
        except BaseException:
            process.kill()
            process.wait()
            self.end_left(process)
            raise
        return process

    def variables(self, confinement: Confinement) -> Mapping[str, str]:
        """The way to the proxy, and directories for what is not kept.

        Raises:
            OSError: the proxy or the directory cannot be had.
        """
        found = {} if confinement.level == "full" else dict(self._scratch.variables(confinement.level))
        if confinement.network == "proxy" and self._guard is not None:
            found |= self._guard.variables()
        return found

    def end_left(self, process: subprocess.Popen[bytes]) -> bool:
        """Kill what is left of a process that was started apart (from Linux 6.12)."""
        warden = self._apart.pop(process, None)
        return warden is not None and warden.close()

    def refusals(self, process: subprocess.Popen[bytes]) -> tuple[str, ...]:
        """What the network of one of its commands refused."""
        watched = self._watched.get(process)
        return watched.refusals() if watched is not None else ()

    def any_left(self) -> bool:
        """Whether the session's network still serves one of them."""
        return self._guard is not None and self._guard.any_left()

    def close(self) -> None:
        """The session has ended. What is left of its commands ends too, whatever group and environment it has."""
        kill_sessions(self._sessions)
        for process in tuple(self._apart):
            self.end_left(process)
        self._warden.close()
        self._scratch.close()

    def _program(self, confinement: Confinement) -> bytes:
        strict = confinement.level != "full"
        if not strict and confinement.network == "on":
            return b""
        watched = (_CONNECTIONS | (_JUDGED if strict else frozenset())) if self._guard is not None else frozenset()
        return call_filter(
            kernel.machine(),
            confinement.network,
            notify=watched,
            landlock=self._version,
            own_pid=os.getpid(),
            strict=strict,
            own_ipc=strict and self._warden.has_own_ipc(),
        )

    def _watch(self, process: subprocess.Popen[bytes], listener: int, confinement: Confinement) -> None:
        if listener < 0:
            return
        if self._guard is None:
            os.close(listener)
            return
        everywhere = confinement.network == "on"
        online = confinement.network == "proxy"
        strict = confinement.level != "full"
        others = self._judge(confinement) if strict else None
        self._watched[process] = self._guard.adopt(listener, online=online, everywhere=everywhere, others=others)

    def _judge(self, confinement: Confinement) -> Others:
        of_files = OwnershipJudge(self._changeable(confinement), confinement.hidden)
        of_processes = SchedulingJudge(self._warden.holds)
        processes = names_of(SCHEDULING_CALLS, kernel.machine())

        def judge(notice: Notification) -> int | None:
            return of_processes(notice) if notice.nr in processes else of_files(notice)

        return judge

    def _changeable(self, confinement: Confinement) -> tuple[Path, ...]:
        writable = confinement.writable if confinement.level == "workspace-write" else ()
        return (*writable, self._scratch.path(), SHARED_MEMORY)


def _terminal(output: object) -> Path | None:
    """The pseudo-terminal that a descriptor is, None for anything else."""
    if not isinstance(output, int) or output < 0 or not os.isatty(output):
        return None
    return Path(os.ttyname(output))
