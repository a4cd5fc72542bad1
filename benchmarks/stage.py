"""Where measurements happen: a workspace, homes, the model server, and the contenders' processes."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchmarks.client import Agent
from benchmarks.figures import HERMES, RAW, SDK
from benchmarks.model import Model

ROOT = Path(__file__).resolve().parent.parent
TURNS = 50
_MANY_NOTES = 1000

_FLOORS = {RAW: ROOT / "benchmarks/floors/raw_agent.py", SDK: ROOT / "benchmarks/floors/sdk_agent.py"}
_OFFLINE = "model:\n  provider: offline\n  default: offline\n"
_LOOPBACK = "model:\n  provider: custom\n  base_url: {base_url}\n  default: bench\n  api_key: none\n"
_LONG = _LOOPBACK + "  context_length: 10000000\nagent:\n  max_turns: 1000\n"
_SMALL = _LOOPBACK + "  context_length: 8192\n"
_FREE = _LOOPBACK + "sandbox:\n  level: full\n"

Settings = Literal["offline", "loopback", "long", "free", "small"]
_SETTINGS: Mapping[Settings, str] = {
    "offline": _OFFLINE,
    "loopback": _LOOPBACK,
    "long": _LONG,
    "free": _FREE,
    "small": _SMALL,
}
"""How hermes-acp is set up: with the model inside; with the model server; with it and room for long turns; with it
and no sandbox; with it and a small window."""


@dataclass(frozen=True, slots=True)
class Repetitions:
    """How often each subject is measured."""

    starts: int
    slow_starts: int
    memory: int
    streams: int
    tool_runs: int
    prompts: int
    cancels: int
    crowds: int
    long_runs: int
    seconds: float  # of each round in which something is watched


FULL = Repetitions(
    starts=9,
    slow_starts=3,
    memory=3,
    streams=7,
    tool_runs=5,
    prompts=21,
    cancels=9,
    crowds=5,
    long_runs=5,
    seconds=5.0,
)
QUICK = Repetitions(
    starts=3,
    slow_starts=1,
    memory=1,
    streams=1,
    tool_runs=1,
    prompts=5,
    cancels=2,
    crowds=1,
    long_runs=1,
    seconds=2.0,
)


class Stage:
    """Starts contenders in one workspace, each with a home of its own and an environment without your settings."""

    def __init__(self, directory: Path, model: Model, repetitions: Repetitions) -> None:
        self.model = model
        self.repetitions = repetitions
        self.workspace = directory / "workspace"
        self._long_workspace = directory / "workspace-of-many-files"
        self._homes = {name: directory / name for name in _SETTINGS}
        for name, home in self._homes.items():
            home.mkdir()
            (home / "config.yaml").write_text(_SETTINGS[name].format(base_url=model.base_url), encoding="utf-8")
        self.workspace.mkdir()
        _write_notes(self.workspace, TURNS)
        self._long_workspace.mkdir()
        _write_notes(self._long_workspace, _MANY_NOTES)

    def start(self, contender: str, *, asks_model: bool = False, settings: Settings | None = None) -> Agent:
        """A contender's process; `asks_model`: it asks the model server instead of playing the model itself."""
        chosen = settings or ("loopback" if asks_model else "offline")
        asks_model = chosen != "offline"
        return Agent(self.command(contender, asks_model=asks_model), self.place(chosen), self.environment(chosen))

    def home(self, settings: Settings = "offline") -> Path:
        """The home of the processes with these settings."""
        return self._homes[settings]

    def place(self, settings: Settings = "offline") -> Path:
        """The workspace of the processes with these settings: for long turns, one with a file for each call."""
        return self._long_workspace if settings == "long" else self.workspace

    def command(self, contender: str, *, asks_model: bool = False) -> list[str]:
        if contender == HERMES:
            return [sys.executable, str(Path(sys.executable).with_name("hermes-acp"))]
        return [sys.executable, str(_FLOORS[contender]), *([self.model.base_url] if asks_model else ())]

    def environment(self, settings: Settings = "offline") -> Mapping[str, str]:
        home = str(self._homes[settings])
        kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
        # PYTHONPATH: the code beside these benchmarks is measured, wherever the environment's copy comes from.
        return {**kept, "HOME": home, "HERMES_HOME": home, "PYTHONPATH": str(ROOT), "SHELL": "/bin/sh"}


def _write_notes(workspace: Path, count: int) -> None:
    for number in range(1, count + 1):
        (workspace / f"notes-{number:02d}.txt").write_text(f"Note {number}.\n" * 20, encoding="utf-8")
