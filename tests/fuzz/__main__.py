"""Play tapes, each to a fresh agent: `python -m tests.fuzz FILE …`; the exit code tells of failures."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.fuzz.run import FuzzRun
from tests.fuzz.tape import read_tape


def _replay(path: Path) -> bool:
    with tempfile.TemporaryDirectory() as scratch:
        home, workspace = Path(scratch, "home"), Path(scratch, "workspace")
        home.mkdir()
        workspace.mkdir()
        (workspace / "README.md").write_text("# Sums\n")
        try:
            with FuzzRun.started(home, workspace, "replay", Path(scratch)) as run:
                run.replay(read_tape(path))
        except AssertionError as failure:
            print(f"{path}: {failure}")  # noqa: T201 - a program for people
            return False
    print(f"{path}: all answered")  # noqa: T201 - a program for people
    return True


if __name__ == "__main__":
    played = [_replay(Path(name)) for name in sys.argv[1:]]
    sys.exit(not all(played))
