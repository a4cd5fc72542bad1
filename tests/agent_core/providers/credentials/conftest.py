"""Other processes, a clock that is set by hand, and a token endpoint."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from agent_core.providers.token_store import FILE_NAME, TokenStore
from tests.support.clock import Clock

ROOT = Path(__file__).parents[4]
NOW = 1_800_000_000.0


class Other:
    """A Python process that runs a script; it is talked to in lines."""

    def __init__(self, script: str, *arguments: object) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-W", "error", "-c", script, *map(str, arguments)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def line(self) -> str:
        """The next line that it prints."""
        return self._process.stdout.readline().strip()

    def go_on(self) -> None:
        """Send it a line."""
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def result(self) -> str:
        """The rest of what it prints, once it has ended well."""
        rest, _ = self._process.communicate(timeout=30)
        assert self._process.returncode == 0
        return rest.strip()

    def wait(self) -> int:
        """Its exit status."""
        return self._process.wait(30)

    def stop(self) -> None:
        self._process.kill()
        self._process.wait(30)
        self._process.stdin.close()
        self._process.stdout.close()


@pytest.fixture
def other():
    """Start a Python process with a script and its arguments."""
    started = []

    def start(script: str, *arguments: object) -> Other:
        started.append(Other(script, *arguments))
        return started[-1]

    yield start
    for process in started:
        process.stop()


@pytest.fixture
def tokens_file(home):
    return home / FILE_NAME


@pytest.fixture
def store(tokens_file):
    return TokenStore(tokens_file)


@pytest.fixture
def clock():
    return Clock(NOW)
