"""Makes sure that no command outlives this process, however it ends: even a kill -9 of it."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import subprocess
import threading

from tools.environments.marked import VARIABLE, kill_marked
from tools.environments.process_groups import signal_group
from tools.os_compat import SIGKILL

log = logging.getLogger(__name__)

# Reads «+GROUP» and «-GROUP» lines; the end of its input means that the process it serves is gone.
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

    What has left its group is known by its environment: `tools.environments.marked`.

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
