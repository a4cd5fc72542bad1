"""Many sessions with mixed work for a long time: nothing grows but what was said.

`SOAK_SECONDS` says how long `make soak` is, `SOAK_SEED` repeats the choices of a run, `SOAK_EDITOR` names its editor,
`SOAK_FIGURES` a file for all figures.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from tests.e2e.conftest import EditorFactory
from tests.soak.soak import Setting, Soak
from tests.soak.verdict import LONG, SHORT, Bounds, problems
from tests.support.chaos_person import EDITORS

_SEED = os.environ.get("SOAK_SEED", "")
_SECONDS = float(os.environ.get("SOAK_SECONDS", "1800"))
_FIGURES = os.environ.get("SOAK_FIGURES", "")
_SHORT = 180.0
_MOST_LATER = 0.02
"""The part of all acts in which one may be told to try again."""


async def _soak(editor: EditorFactory, home: Path, scratch: Path, seconds: float, bounds: Bounds) -> None:
    seed = _SEED or str(random.SystemRandom().randrange(10_000))
    named = os.environ.get("SOAK_EDITOR") or random.Random(seed).choice(sorted(EDITORS))
    setting = Setting(seed, named, seconds)
    try:
        async with Soak.started(editor, home, scratch, setting) as soak:
            try:
                await soak.run()
            finally:
                if _FIGURES:
                    soak.keep(Path(_FIGURES))
        assert soak.counts["later"] <= _MOST_LATER * sum(soak.counts.values()), soak.counts
        found = problems(soak.samples, soak.probes, soak.others, bounds)
        assert found == [], "\n".join(soak.told())
    except BaseException as failure:
        failure.add_note(f"SOAK_SEED={seed} SOAK_EDITOR={named!r} repeats its choices: {setting}")
        raise


@pytest.mark.long
@pytest.mark.timeout(900)
async def test_in_three_minutes_nothing_is_left_behind(editor: EditorFactory, home: Path, tmp_path: Path) -> None:
    await _soak(editor, home, tmp_path / "run", _SHORT, SHORT)


@pytest.mark.slow
@pytest.mark.timeout(900 + 2 * _SECONDS)
async def test_in_half_an_hour_nothing_grows(editor: EditorFactory, home: Path, tmp_path: Path) -> None:
    await _soak(editor, home, tmp_path / "run", _SECONDS, LONG)
