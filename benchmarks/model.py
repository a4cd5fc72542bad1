"""The model server's process, from the outside."""

from __future__ import annotations

import http.client
import itertools
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

_PROGRAM = Path(__file__).with_name("model_server.py")


@dataclass(frozen=True, slots=True)
class RunRecord:
    """What the server saw of a run: when requests were there, the first one's body, when paced deltas were sent."""

    arrivals: tuple[float, ...]
    first: str
    sent: tuple[float, ...]


class Model:
    """Starts the server; `plan` makes the prompt that tells it what to answer."""

    def __init__(self) -> None:
        self._process = subprocess.Popen([sys.executable, _PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._port = int(_pipe(self._process.stdout).readline())
        self._numbers = itertools.count(1)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._port}/v1"

    def plan(self, kind: str, count: int = 1) -> tuple[str, str]:
        """A new run: its name, and the prompt for it."""
        name = f"r{next(self._numbers)}"
        return name, f"plan={kind}/{count}/{name}"

    def record(self, name: str) -> RunRecord:
        """What the server saw of a run so far."""
        connection = http.client.HTTPConnection("127.0.0.1", self._port)
        connection.request("GET", f"/runs/{name}")
        seen = json.loads(connection.getresponse().read())
        connection.close()
        return RunRecord(tuple(seen["arrivals"]), seen["first"], tuple(seen["sent"]))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _pipe(self._process.stdin).close()
        _pipe(self._process.stdout).close()
        self._process.wait()


def _pipe(pipe: Any) -> Any:
    assert pipe is not None
    return pipe
