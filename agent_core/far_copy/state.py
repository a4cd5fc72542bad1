"""What is known of a session's copy, in a directory of this machine: it outlives the process."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import field, fields
from pathlib import Path

from agent_core.far_copy.facts import Fact, Pair
from agent_core.far_copy.packing import PART
from tools.light_dataclass import dataclass
from tools.os_compat import O_CLOEXEC, lock

_FILE, _NEW, _LOCK = "copy.json", "copy.json.new", "lock"
_PART_SECONDS, _KEPT_SECONDS, _STATE_SECONDS = 86_400.0, 7 * 86_400.0, 90 * 86_400.0


@dataclass(slots=True)
class State:
    """A copy as it was when the two sides were last brought together.

    Attributes:
        id: the copy's, as its marker there has it; '' where there is none yet.
        where: what people call the machine that it was made on.
        files: by name.
        links: the links that were sent, and where they lead.
        streams: how many were sent.
        is_whole: it was made whole.
        top, root: the directories here and there.
        session: whose it is.
        both: changes come back.
        asked: when changes were last looked for, in seconds since the epoch.
    """

    id: str = ""
    where: str = ""
    files: dict[str, Pair] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    streams: int = 0
    asked: float = 0.0
    is_whole: bool = False
    top: str = ""
    root: str = ""
    session: str = ""
    both: bool = False


_PLAIN = tuple(each.name for each in fields(State) if each.name != "files")


class Store:
    """Where a session's state is, with the streams that were sent and what is kept. Blocking."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._lock: int | None = None

    @property
    def streams(self) -> list[Path]:
        """What was sent, newest first."""
        return sorted(self.directory.glob("sent-*.tar.gz"), reverse=True)

    def load(self) -> State:
        """The state; an empty one where there is none, or none that can be read."""
        try:
            told = json.loads((self.directory / _FILE).read_text(encoding="utf-8", errors="surrogatepass"))
            files = {name: _pair(each) for name, each in told["files"].items()}
            return State(**{name: told[name] for name in _PLAIN}, files=files)
        except (OSError, ValueError, KeyError, TypeError, IndexError):
            return State()

    def save(self, state: State) -> None:
        """Store the state, whole or not at all.

        Raises:
            OSError: there is no room.
        """
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        files = {name: [_fact(pair.here), _fact(pair.there), pair.apart] for name, pair in state.files.items()}
        told = {"files": files, **{name: getattr(state, name) for name in _PLAIN}}
        new = self.directory / _NEW
        with new.open("w", encoding="utf-8", errors="surrogatepass") as stream:
            json.dump(told, stream)
            stream.flush()
            os.fsync(stream.fileno())
        new.replace(self.directory / _FILE)

    def next_stream(self, state: State) -> Path:
        """Where the next one goes; what a killed process has left half goes away."""
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        for part in self.directory.glob(f"*{PART}"):
            part.unlink(missing_ok=True)
        state.streams += 1
        file = self.directory / f"sent-{state.streams:06}.tar.gz"
        file.unlink(missing_ok=True)
        return file

    def hold(self) -> bool:
        """Have it for this process alone, until it ends; False while another one has it."""
        if self._lock is not None:
            return True
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self.directory / _LOCK, os.O_RDWR | os.O_CREAT | O_CLOEXEC, 0o600)
        try:
            lock(descriptor)
            # Who had it may have removed the file meanwhile, and others lock the next one.
            is_ours = os.path.samestat(os.fstat(descriptor), (self.directory / _LOCK).stat())
        except OSError:
            is_ours = False
        if not is_ours:
            os.close(descriptor)
            return False
        self._lock = descriptor
        return True

    def let_go(self) -> None:
        """Let others have it."""
        held, self._lock = self._lock, None
        if held is not None:
            os.close(held)

    def forget(self) -> None:
        """The copy is gone: what was kept of it stays."""
        ours = (self.directory / name for name in (_FILE, _NEW, _LOCK))
        for path in (*self.streams, *self.directory.glob(f"*{PART}"), *ours):
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.directory.rmdir()

    def new_rest(self) -> Path:
        """Where patches go; not made yet."""
        stamp = time.strftime("%Y%m%d-%H%M%S")
        rests = (self.directory / f"kept-{stamp}{f'-{number}' if number else ''}" for number in range(10_000))
        return next(rest for rest in rests if not rest.exists())


def states_in(directory: Path) -> list[Store]:
    """All that there are."""
    return [Store(each) for each in _directories(directory) if (each / _FILE).exists()]


def tidy_states(directory: Path) -> None:
    """Remove what was kept more than a week ago, and the states that nobody has touched for long. Never raises."""
    for session in _directories(directory):
        for rest in (each for each in _directories(session) if each.name.startswith("kept-")):
            if _is_old(rest, _KEPT_SECONDS):
                shutil.rmtree(rest, ignore_errors=True)
        for part in session.glob(f"*{PART}"):
            if _is_old(part, _PART_SECONDS):
                part.unlink(missing_ok=True)
        if _is_old(session, _STATE_SECONDS) and _is_old(session / _FILE, _STATE_SECONDS):
            Store(session).forget()


def _directories(directory: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        yield from [entry for entry in directory.iterdir() if entry.is_dir() and not entry.is_symlink()]


def _is_old(path: Path, seconds: float) -> bool:
    try:
        return time.time() - path.stat().st_mtime > seconds
    except OSError:
        return True


def _pair(told: list[object]) -> Pair:
    here, there, apart = told
    return Pair(_read(here), _read(there), bool(apart))


def _fact(fact: Fact | None) -> list[object] | None:
    return None if fact is None else [fact.digest, fact.executable]


def _read(told: object) -> Fact | None:
    if not isinstance(told, list):
        return None
    return Fact(str(told[0]), bool(told[1]))
