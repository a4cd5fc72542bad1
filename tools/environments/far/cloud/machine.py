"""A sandbox of a service as the machine that a session works on.

A sandbox belongs to one session, is made when something is first asked of it, and ends with it. It costs money as
long as it runs: so it ends by itself once its time is up, whatever becomes of this process, and what a process that
was killed has left behind is removed when the next one makes its first.
"""

from __future__ import annotations

import logging
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from tools.environments.backends import Rescue
from tools.environments.far.cloud.port import Cloud, Sandbox, Size
from tools.environments.far.cloud.relay import relay
from tools.environments.far.machine import NotConnected, Streams, ended
from tools.environments.far.owning import is_left, own_prefix, owned_name
from tools.errors import CommandError

log = logging.getLogger(__name__)

_END_SECONDS = 8.0
_RESCUE_SECONDS = 60.0
_LONGEST_WORDS = 300
_SIZE = Size(40, 120)
_NO_SIGN_IN = ("auth", "credential", "token", "api key", "api_key", "unauthorized", "forbidden", "401", "403")


class CloudMachine:
    """Implements `Machine` in a sandbox; safe to use from several threads."""

    def __init__(self, cloud: Cloud, rescue: Rescue | None = None) -> None:
        self._cloud = cloud
        self._rescue = rescue
        self._lock = threading.Lock()
        self._sandbox: Sandbox | None = None
        self._is_used = False

    @property
    def name(self) -> str:
        """For people."""
        return f"the {self._cloud.title} sandbox"

    def connect(self, script: str, streams: Streams) -> subprocess.Popen[bytes]:
        """Have the sandbox, and the script in it."""
        with self._lock:
            if (held := self._sandbox) is None:
                self._sandbox = self._made()
                return self._started(self._sandbox, script, streams, None)
            try:
                return self._started(held, script, streams, None)
            except CommandError as problem:
                self._sandbox = None
                self._removal(held).start()
                raise CommandError(
                    f"{self.name} {held.name} is gone, and what was in it: its time was up, or the service has ended "
                    f"it. The next call makes a new one, which is empty. ({problem})"
                ) from problem

    def start(self, script: str, streams: Streams, *, terminal: bool = False) -> subprocess.Popen[bytes]:
        """Start a script in the sandbox."""
        sandbox = self._sandbox
        if sandbox is None:
            raise NotConnected(f"{self.name} is not there yet. Try again.")
        return self._started(sandbox, script, streams, _size_of(streams) if terminal else None)

    def why(self, complaint: str) -> str:
        """What the words of a script that did not begin mean."""
        said = f" It said: {' '.join(complaint.split())[-_LONGEST_WORDS:]}" if complaint.strip() else ""
        return f"{self.name} was made, and ran no script: it needs sh, stty and mkfifo, as most images have.{said}"

    def close(self) -> None:
        """Remove the sandbox. If that takes longer than a moment, it goes on as long as this process does."""
        with self._lock:
            sandbox, self._sandbox = self._sandbox, None
        if sandbox is not None:
            removal = self._removal(sandbox)
            removal.start()
            removal.join(_END_SECONDS)

    def _made(self) -> Sandbox:
        if not self._is_used:
            self._is_used = True
            removal = threading.Thread(target=self._remove_leftovers, name="removal of sandboxes", daemon=True)
            removal.start()
            if self._rescue is not None and self._rescue.is_wanted(self.name):
                # The session may be the one whose work is saved there.
                removal.join(_RESCUE_SECONDS)
        name = owned_name()
        try:
            return self._cloud.make(name)
        except CommandError:
            raise
        except Exception as problem:
            raise self._failed("make a sandbox", problem) from problem

    def _started(self, sandbox: Sandbox, script: str, streams: Streams, size: Size | None) -> subprocess.Popen[bytes]:
        try:
            wire = sandbox.start(script, size)
        except Exception as problem:
            raise self._failed("start a command", problem) from problem
        try:
            return relay(wire, streams)
        except OSError as problem:
            wire.kill()
            raise CommandError(f"Could not start a program for {self.name}: {problem.strerror}.") from problem

    def _failed(self, doing: str, problem: Exception) -> CommandError:
        words = " ".join(str(problem).split())[:_LONGEST_WORDS] or type(problem).__name__
        text = f"{type(problem).__name__} {words}".lower()
        step = (
            f"Sign in: {self._cloud.sign_in}"
            if any(word in text for word in _NO_SIGN_IN)
            else "See that the service is up, and look at the settings in terminal"
        )
        return CommandError(f"Could not {doing} with {self._cloud.title}: {words}. {step}.")

    def _removal(self, sandbox: Sandbox) -> threading.Thread:
        def remove() -> None:
            try:
                sandbox.end()
            except Exception:
                # Its time is limited: it goes without us.
                log.warning("the sandbox %s could not be removed", sandbox.name, exc_info=True)

        return threading.Thread(target=remove, name="end of a sandbox", daemon=True)

    def _save(self, sandbox: Sandbox) -> None:
        """What a killed process has left in it, and nobody has brought back."""
        if self._rescue is not None:
            self._rescue.save(self.name, partial(_within, sandbox))

    def _remove_leftovers(self) -> None:
        """Remove the sandboxes of processes of this machine's that are gone."""
        try:
            for sandbox in self._cloud.named(own_prefix()):
                if is_left(sandbox.name):
                    self._save(sandbox)
                    log.info("the sandbox %s of a process that is gone is removed", sandbox.name)
                    sandbox.end()
        except Exception:
            # They end by themselves as well, only later.
            log.warning("sandboxes that were left behind could not be looked for", exc_info=True)


@contextmanager
def _within(sandbox: Sandbox, script: str, streams: Streams) -> Iterator[subprocess.Popen[bytes]]:
    try:
        process = relay(sandbox.start(script, None), streams)
    except Exception as problem:
        raise CommandError(f"The sandbox {sandbox.name} does not answer: {problem}.") from problem
    with ended(process):
        yield process


def _size_of(streams: Streams) -> Size:
    if not isinstance(streams.stdin, int) or streams.stdin < 0:
        return _SIZE
    try:
        size = os.get_terminal_size(streams.stdin)
    except OSError:
        return _SIZE
    return Size(size.lines or _SIZE.rows, size.columns or _SIZE.columns)
