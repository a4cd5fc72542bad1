"""A stored session whose turns change real files, for tests of whatever takes them back."""

from __future__ import annotations

import os
import stat
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from agent_core.messages import Message, assistant_message, user_message
from agent_core.sessions.checkpoints.blobs import BlobStore
from agent_core.sessions.checkpoints.undo import FileStep, Rewinder, RewindReport
from agent_core.sessions.checkpoints.versions import CallHistory, FileVersions, VersionLimits
from agent_core.sessions.database import Database, pack
from agent_core.sessions.store import SessionStore
from tools.environments.local_files import LocalFileSystem
from tools.ports import CommandSpec

SESSION = "s"
Snapshot = dict[bytes, tuple[str, int, bytes]]


def never(step: FileStep) -> bool:
    """There is no conflict. What was only found changed after a command is the command's."""
    if step.state == "found":
        return True
    raise AssertionError(f"asked about {step.path}: {step.reason}")


class FileBench:
    """One session in `home`, that works in `work`. Its turns are rows written with plain SQL."""

    def __init__(self, directory: Path, limits: VersionLimits | None = None) -> None:
        self.home, self.work = directory / "home", directory / "work"
        self.work.mkdir(parents=True, exist_ok=True)
        self.now = time.time()
        self.database = Database(self.home / "hermes-acp.db", clock=lambda: self.now)
        self.blobs = BlobStore(self.home / "blobs")
        self.store = SessionStore(self.database, background=False)
        self.versions = FileVersions(self.database, self.blobs, self.store.note, limits)
        self.rewinder = Rewinder(self.database, self.blobs)
        self.turn = 0
        self._files = LocalFileSystem()
        with self.database.write() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO sessions (id, cwd, source, mode, root_id, created_at, updated_at)"
                " VALUES (?, ?, 'acp', 'default', ?, 0, 0)",
                (SESSION, str(self.work), SESSION),
            )

    def begin(self, prompt: str | None = "do it") -> int:
        """A new turn, with a prompt and an answer unless the prompt is None; its number."""
        self.turn += 1
        with self.database.write() as connection:
            connection.execute(
                "INSERT INTO turns (session_id, number, id, began_at) VALUES (?, ?, ?, ?)",
                (SESSION, self.turn, f"t{self.turn}", self.now),
            )
        if prompt is not None:
            self.say(user_message(prompt))
            self.say(assistant_message("done"))
        return self.turn

    def say(self, message: Message, hidden: str = "") -> None:
        with self.database.write() as connection:
            connection.execute(
                "INSERT INTO messages (session_id, turn, role, body, hidden, created_at) VALUES (?, ?, ?, ?, ?, ?)",
                (SESSION, self.turn, message["role"], pack(message), hidden, self.now),
            )

    def history(self, call_id: str = "c1") -> CallHistory:
        return self.versions.for_call(SESSION, f"t{self.turn}", call_id, (self.work,))

    def write(self, name: str | bytes, content: bytes) -> Path:
        """As an editing tool writes."""
        path = self.path(name)
        before = path.read_bytes() if path.exists() else None
        self.history().writing(path, before, content)
        self._files.write(path, content, expected=before)
        return path

    def remove(self, name: str | bytes) -> None:
        path = self.path(name)
        content = path.read_bytes()
        self.history().writing(path, content, None)
        self._files.remove(path, expected=content)

    def rename(self, name: str | bytes, target: str | bytes) -> None:
        self.history().moving(self.path(name), self.path(target))
        self._files.rename(self.path(name), self.path(target))

    def run(self, command: str) -> None:
        """As the terminal tool runs a command."""
        spec = CommandSpec(command, self.work, 10.0)
        with self.history().command(spec):
            subprocess.run(["bash", "-c", command], cwd=self.work, check=False, capture_output=True)

    def undo(self, turns: int = 1, overwrite: Callable[[FileStep], bool] = never) -> RewindReport:
        return self.rewinder.apply(self.rewinder.plan(SESSION, turns), overwrite)

    def redo(self, overwrite: Callable[[FileStep], bool] = never) -> RewindReport:
        return self.rewinder.apply(self.rewinder.plan_redo(SESSION), overwrite)

    def path(self, name: str | bytes) -> Path:
        return self.work / os.fsdecode(name)

    def rows(self, query: str, *values: object) -> list[tuple[object, ...]]:
        with self.database.read() as connection:
            return list(connection.execute(query, values))

    def snapshot(self) -> Snapshot:
        """Every file and link below `work`: kind, mode and content by path."""
        found: Snapshot = {}
        for parent, folders, files in os.walk(self.work):
            for path in (Path(parent, name) for name in (*files, *folders)):
                facts = path.lstat()
                if stat.S_ISLNK(facts.st_mode):
                    found[os.fsencode(path)] = ("link", 0, os.fsencode(path.readlink()))
                elif stat.S_ISREG(facts.st_mode):
                    found[os.fsencode(path)] = ("file", stat.S_IMODE(facts.st_mode), path.read_bytes())
        return found
