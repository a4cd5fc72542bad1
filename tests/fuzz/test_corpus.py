"""What the fuzzer has found once, each as a tape, played to a fresh agent."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz.run import FuzzRun
from tests.fuzz.tape import read_tape

_TAPES = sorted((Path(__file__).parents[1] / "data" / "fuzz").glob("*.tape"))


@pytest.mark.slow
@pytest.mark.parametrize("tape", _TAPES, ids=lambda tape: tape.stem)
def test_what_was_found_stays_mended(tape: Path, home: Path, workspace: Path, tmp_path: Path) -> None:
    with FuzzRun.started(home, workspace, tape.stem, tmp_path) as run:
        run.replay(read_tape(tape))


@pytest.mark.long
def test_all_that_was_found_stays_mended_in_one_agent(home: Path, workspace: Path, tmp_path: Path) -> None:
    with FuzzRun.started(home, workspace, "all", tmp_path) as run:
        for number, tape in enumerate(_TAPES):
            opened = len(run.exchange.opened)
            run.replay(_moved(piece, opened, number) for piece in read_tape(tape))


def _moved(piece: bytes, opened: int, tape: int) -> bytes:
    """For an agent that has opened other sessions before: `<session 0>` is the first of this tape."""
    return piece.replace(b"<session 0>", b"<session %d>" % opened).replace(b'"id": ', b'"id": %d00' % (tape + 1))
