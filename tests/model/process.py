"""The agent as an editor starts it: killed, ended, started again, in one home and with one mark on all it starts."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.editor import JETBRAINS, PLAIN, ZED, Editor
from tests.support.editor_files import EditorFiles
from tests.support.remains import running_with

_VARIABLE = "MODEL_RUN"
PATIENCE = 30.0
"""Seconds that anything may take on a machine with much else to do."""
PROFILES: dict[str, dict[str, Any]] = {"plain": PLAIN, "zed": ZED, "jetbrains": JETBRAINS}


@dataclass(slots=True)
class AgentProcess:
    """One process after the other.

    Attributes:
        scratch: where temporary files and the cache go.
        profile: what the editor can do, of `PROFILES`.
        terminals: the settings want commands in the editor's own terminals.
        files: those of the editor, which outlives the agent.
        editor: in front of the one that runs.
    """

    home: Path
    scratch: Path
    profile: str
    terminals: bool = False
    files: EditorFiles = field(default_factory=EditorFiles)
    editor: Editor = field(init=False)
    _mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    @property
    def has_own(self) -> bool:
        """Whether the editor lends its files and its terminals."""
        return bool(PROFILES[self.profile]["terminal"])

    async def start(self) -> None:
        """Start one."""
        for name in ("tmp", "cache"):
            (self.scratch / name).mkdir(exist_ok=True)
        surroundings = {
            _VARIABLE: self._mark,
            "TMPDIR": str(self.scratch / "tmp"),
            "XDG_CACHE_HOME": str(self.scratch / "cache"),
        }
        self.editor = await Editor.spawn(home=self.home, env=surroundings, cwd=self.scratch)
        self.editor.host.files = self.files
        await self.editor.initialize(PROFILES[self.profile])

    async def kill(self) -> None:
        """kill -9; what it had written is read to its end."""
        await self.editor.kill()
        await self.editor.until(lambda: self.editor.ended, PATIENCE, "the end of what was written")
        await self.editor.close()

    async def end(self) -> None:
        """The end of its input: it ends by itself, with code 0."""
        await self.editor.close(expect=0, within=PATIENCE)

    def running(self) -> list[str]:
        """The commands of all that it has started and that still runs, without itself and its guardian."""
        process = self.editor.process
        own = None if process is None else process.pid
        found = running_with(_VARIABLE, self._mark)
        return [line for pid, line in found.items() if pid != own and "hermes-acp-guardian" not in line]

    def everything(self) -> list[str]:
        """The same with itself and its guardian."""
        return list(running_with(_VARIABLE, self._mark).values())

    def temporary(self) -> list[str]:
        """What is left in the directory for temporary files."""
        return sorted(path.name for path in (self.scratch / "tmp").iterdir())
