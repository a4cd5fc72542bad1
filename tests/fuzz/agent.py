"""A real agent process, bytes into it and lines out of it, each by a thread of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

_CHUNK = 1 << 20
_PATIENCE = 60.0


class AgentProcess:
    """The agent with `--offline`. `sent` and what `on_line` got are all that went over its pipes.

    Attributes:
        pid: the process's.
    """

    def __init__(self, home: Path, cwd: Path, on_line: Callable[[bytes], None]) -> None:
        agent_in, self._in = os.pipe()
        self._out, agent_out = os.pipe()
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        surroundings = {**os.environ, "HERMES_HOME": str(home)}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "acp_adapter", "--offline"],
            stdin=agent_in, stdout=agent_out, stderr=self._stderr, env=surroundings, cwd=cwd,
        )  # fmt: skip
        os.close(agent_in)
        os.close(agent_out)
        self.pid = self._process.pid
        self._on_line = on_line
        self._condition = threading.Condition()
        self._queue: list[bytes] = []
        self._unwritten = 0
        self._reading = threading.Event()
        self._reading.set()
        self._over = False
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._write, self._read)]
        for thread in self._threads:
            thread.start()

    def send(self, data: bytes) -> None:
        """Queue bytes; the agent may take its time."""
        with self._condition:
            self._queue.append(data)
            self._unwritten += len(data)
            self._condition.notify_all()

    def all_written(self, timeout: float) -> bool:
        """Whether the agent has taken everything within `timeout` seconds."""
        with self._condition:
            return self._condition.wait_for(lambda: not self._unwritten, timeout)

    def stop_reading(self) -> None:
        """Leave what the agent writes in the pipe."""
        self._reading.clear()

    def go_on_reading(self) -> None:
        self._reading.set()

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    @property
    def stderr(self) -> str:
        """All that it has written there."""
        descriptor = self._stderr.fileno()
        return os.pread(descriptor, os.fstat(descriptor).st_size, 0).decode("utf-8", "replace")

    def end(self) -> int:
        """Close its stdin and wait for it; its exit code.

        Raises:
            AssertionError: it does not end.
        """
        with self._condition:
            self._over = True
            self._condition.notify_all()
        try:
            code = self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise AssertionError(f"the agent still runs {_PATIENCE} s after the end of its input") from None
        for thread in self._threads:
            thread.join(_PATIENCE)
        return code

    def kill(self) -> None:
        """End it at once; nothing happens to one that has ended."""
        self._process.kill()
        self._process.wait()
        self._reading.set()
        with self._condition:
            self._over = True
            self._condition.notify_all()
        for thread in self._threads:
            thread.join(_PATIENCE)
        self._stderr.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def _write(self) -> None:
        try:
            while True:
                with self._condition:
                    self._condition.wait_for(lambda: self._queue or self._over)
                    data = b"".join(self._queue)
                    self._queue.clear()
                if not data:
                    return
                self._write_all(data)
        except OSError:
            return  # it has ended: whoever waits for an answer sees that
        finally:
            os.close(self._in)

    def _write_all(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            written = os.write(self._in, view)
            view = view[written:]
            with self._condition:
                self._unwritten -= written
                self._condition.notify_all()

    def _read(self) -> None:
        rest: list[bytes] = []
        while True:
            self._reading.wait()
            data = os.read(self._out, _CHUNK)
            if not data:
                break
            first, *others = data.split(b"\n")
            rest.append(first)
            for line in others:
                self._on_line(b"".join(rest))
                rest = [line]
        os.close(self._out)
        if b"".join(rest):
            self._on_line(b"".join(rest))
