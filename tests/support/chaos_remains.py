"""What a run may leave: processes, what the agent holds, temporary files, copies of the work tree."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.editor import Editor
from tests.support.remains import Held, held_by, running_with
from tests.support.waiting import wait_until

VARIABLE = "CHAOS_RUN"
PATIENCE = 30.0
"""Seconds that something may take on a machine with much else to do."""
_MORE = 4
"""Threads that there may be more of: those that wait for the next work."""
_CONNECTIONS = 20
"""Connections that the client of a model's server keeps at most; the next request closes those that are old."""


@dataclass(slots=True)
class Remains:
    """Looks at what is left of one agent's work.

    Attributes:
        mark: the value of `VARIABLE` in all that belongs to the run.
        scratch: where its temporary files and its cache are.
    """

    agent: Editor
    mark: str
    scratch: Path
    _held: Held | None = None

    @staticmethod
    def environment_of(mark: str, scratch: Path) -> dict[str, str]:
        """What the agent is started with."""
        return {VARIABLE: mark, "TMPDIR": str(scratch / "tmp"), "XDG_CACHE_HOME": str(scratch / "cache")}

    async def check_idle(self) -> None:
        """Without a session there are the agent and its guardian, and hold what they held the first time."""
        assert self.agent.process is not None
        pid = self.agent.process.pid
        await eventually(lambda: set(self._running()) == {pid}, self._running)
        first = self._held = self._held or held_by(pid)

        def is_back() -> bool:
            now = held_by(pid)
            return (
                now.threads <= first.threads + _MORE
                and now.sockets <= first.sockets + _CONNECTIONS
                and now.descriptors - now.sockets <= first.descriptors - first.sockets + _MORE
            )

        await eventually(is_back, lambda: f"it held {first}, now {held_by(pid)}")
        await eventually(lambda: not self.places(), self.places)

    async def check_end(self) -> None:
        """Without the agent there is nothing."""
        await eventually(lambda: not running_with(VARIABLE, self.mark), lambda: running_with(VARIABLE, self.mark))
        assert self.places() == []

    def places(self) -> list[Path]:
        """Temporary files, and copies of the work tree but those of which the person was told that they are kept."""
        directory = self.scratch / "cache" / "hermes-acp" / "copies"
        copies = [copy for copy in (directory.iterdir() if directory.exists() else ()) if not self._is_kept(copy)]
        return [*(self.scratch / "tmp").iterdir(), *copies]

    def _is_kept(self, copy: Path) -> bool:
        if not (copy / "kept").exists():
            return False
        # Its path stands in its own calls' cards too: only words that say that it is kept count.
        said = (json.dumps(frame.message, ensure_ascii=False) for frame in self.agent.frames if not frame.ours)
        told = re.compile(rf"kept(?: for a week)?: [^\n\"]*{re.escape(copy.name)}")
        return any(told.search(words) for words in said)

    def _running(self) -> dict[int, str]:
        """All processes of the run but the guardian."""
        found = running_with(VARIABLE, self.mark)
        return {pid: command for pid, command in found.items() if "hermes-acp-guardian" not in command}


async def eventually(holds: Callable[[], bool], told: Callable[[], Any]) -> None:
    """Wait for something.

    Raises:
        AssertionError: it did not happen; `told` says how it is.
    """
    try:
        await asyncio.to_thread(wait_until, holds, PATIENCE)
    except AssertionError as late:
        raise AssertionError(f"it did not happen: {told()}") from late
