"""What a sandbox costs each command, and each change of a file's mode: confined and free, in turns in one run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.in_turns import Pair, in_turns
from tools.environments.sandbox.places import hidden_places
from tools.environments.sandbox.port import Confinement, Sandbox
from tools.environments.sandbox.probe import probe

REPETITIONS = 60
MODES = 200
_WAITS = ["bash", "-c", "IFS= read -r go; true"]
_CHANGES_MODES = f"""
import os, sys
sys.stdin.readline()
for number in range({MODES}):
    os.chmod('file', 0o600 + number % 2)
"""


class _Nobody:
    def may_connect(self, host: str, port: int, interrupt: object, inside: str = "") -> bool:  # noqa: ARG002
        return False

    def reached(self) -> None:
        pass


def a_confined_command(folder: Path) -> Pair:
    """Seconds of `bash -c true` under Landlock with a watched network, and of the same free; at most 8 ms more."""
    return _measured("landlock", folder, _WAITS, REPETITIONS)


def a_command_in_bubblewrap(folder: Path) -> Pair:
    """Seconds of `bash -c true` in bubblewrap's namespaces, and of the same free."""
    return _measured("bubblewrap", folder, _WAITS, REPETITIONS)


def many_modes(folder: Path) -> Pair:
    """Seconds of 200 changes of a file's mode, each of them judged, and of the same free; with Python's start."""
    (folder / "file").write_text("")
    return _measured("landlock", folder, [sys.executable, "-IS", "-c", _CHANGES_MODES], REPETITIONS // 4)


def _measured(name: str, folder: Path, arguments: list[str], repetitions: int) -> Pair:
    if not any(each.name == name and each.works for each in probe()):
        return Pair((), ())
    sandbox, close = _sandbox(name)
    confinement = Confinement("workspace-write", (folder.resolve(),), hidden_places(Path.home(), ()))

    def confined() -> None:
        _end(sandbox.popen(arguments, confinement, stdin=subprocess.PIPE, cwd=folder))

    def free() -> None:
        _end(subprocess.Popen(arguments, stdin=subprocess.PIPE, cwd=folder))

    try:
        return in_turns(confined, free, repetitions)
    finally:
        close()


def _sandbox(name: str) -> tuple[Sandbox, Callable[[], None]]:
    if name == "bubblewrap":
        from tools.environments.sandbox.bubblewrap import BubblewrapSandbox  # noqa: PLC0415 - Linux only

        wrapped = BubblewrapSandbox()
        return wrapped, wrapped.close
    from tools.environments.sandbox.landlock_sandbox import LandlockSandbox  # noqa: PLC0415 - Linux only
    from tools.environments.sandbox.network.session_network import SessionNetwork  # noqa: PLC0415 - Linux only

    guard = SessionNetwork(_Nobody())
    sandbox = LandlockSandbox(guard)

    def close() -> None:
        guard.close()
        sandbox.close()

    return sandbox, close


def _end(process: subprocess.Popen[bytes]) -> None:
    process.communicate(b"go\n")
    assert process.returncode == 0
