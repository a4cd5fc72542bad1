"""A sandbox of Landlock and seccomp: files by path, calls by number, connections by the session's network."""

from __future__ import annotations

import os
import subprocess
import threading
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.environments.marked import kill_sessions
from tools.environments.sandbox import kernel
from tools.environments.sandbox.call_filter import SCHEDULING_CALLS, call_filter
from tools.environments.sandbox.call_numbers import names_of
from tools.environments.sandbox.landlock import Ruleset, make_ruleset
from tools.environments.sandbox.ownership import OWNERSHIP_CALLS, OwnershipJudge
from tools.environments.sandbox.places import SHARED_MEMORY
from tools.environments.sandbox.process_limits import limit_process
from tools.environments.sandbox.scheduling import SchedulingJudge
from tools.environments.sandbox.scratch import Scratch
from tools.environments.sandbox.thread_start import start_confined
from tools.environments.sandbox.warden import Warden

if TYPE_CHECKING:
    from tools.environments.sandbox.port import Confinement
    from tools.environments.sandbox_network.port import NetworkGuard, Notice, Others, Watched

_CONNECTIONS = frozenset({"connect", "listen"})
_JUDGED = OWNERSHIP_CALLS | SCHEDULING_CALLS
_MOST_RULESETS = 8


class LandlockSandbox:
    """Implements `tools.environments.sandbox.port.Sandbox`; one for a session, safe to use from several threads.

    Args:
        guard: the session's network; without one no command connects to anything.
        version: of Landlock, what the kernel speaks when None.
    """

    def __init__(self, guard: NetworkGuard | None = None, version: int | None = None) -> None:
        self._guard = guard
        self._version = kernel.landlock_version() if version is None else version
        self._lock = threading.Lock()
        self._rulesets: dict[Confinement, Ruleset] = {}
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
        ruleset = self._ruleset(confinement, _terminal(popen.get("stderr")))

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
        with self._lock:
            for ruleset in self._rulesets.values():
                ruleset.close()
            self._rulesets.clear()
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

    def _ruleset(self, confinement: Confinement, terminal: Path | None) -> int:
        """A descriptor of the caller's."""
        own = (self._scratch.path(),)
        if terminal is not None:  # each has another one
            return make_ruleset(confinement, self._version, own, terminal).descriptor
        with self._lock:
            known = self._rulesets.get(confinement)
            if known is None or not known.is_current():
                if known is not None:
                    del self._rulesets[confinement]
                    known.close()
                if len(self._rulesets) >= _MOST_RULESETS:
                    self._rulesets.pop(next(iter(self._rulesets))).close()
                known = self._rulesets[confinement] = make_ruleset(confinement, self._version, own)
            return os.dup(known.descriptor)

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

        def judge(notice: Notice) -> int | None:
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
