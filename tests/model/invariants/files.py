"""The files of each workspace are those that were wanted: nothing is lost, broken, or left beside them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.model.world import World


HALF_WRITTEN = ".hermes-*.tmp"


def on_disk(workspace: Path) -> dict[str, str]:
    """What is in a workspace, but git's own, and what a process was writing when it ended."""
    return {
        str(path.relative_to(workspace)): path.read_text(encoding="utf-8")
        for path in workspace.rglob("*")
        if path.is_file() and ".git" not in path.relative_to(workspace).parts and not path.match(HALF_WRITTEN)
    }


def half_written(world: World) -> list[Path]:
    """What processes were writing when they ended, in the workspaces of sessions."""
    return [path for session in world.sessions.values() for path in session.cwd.rglob(HALF_WRITTEN)]


def check_files(world: World) -> None:
    """Raises AssertionError."""
    for session in world.sessions.values():
        found = on_disk(session.cwd)
        wrong = [path for path in {*found, *session.files} if found.get(path) != session.files.get(path)]
        told = {path: (found.get(path), session.files.get(path)) for path in wrong}
        assert not wrong, f"files of {session.id} (as they are, as they should be): {told}"
        typed = {path: world.process.files.buffers.get(str(session.cwd / path)) for path in session.unsaved}
        assert typed == session.unsaved, f"unsaved in {session.id} is {typed}, typed was {session.unsaved}"
