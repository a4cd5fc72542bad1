"""Whatever comes over stdin: no crash, no hang, one answer to each request, only valid frames, and bounds that hold.

`FUZZ_SEED` repeats a run, `FUZZ_LINES` says how long the whole one is. What failed is left in `FUZZ_KEPT` and is
replayed with `python -m tests.fuzz FILE`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from acp_adapter.server import MAX_REQUESTS_AT_ONCE
from tests.fuzz import plans
from tests.fuzz.run import FuzzRun
from tests.fuzz.watching import Usage

SEED = os.environ.get("FUZZ_SEED", "12")
LINES = int(os.environ.get("FUZZ_LINES", "200000"))
_MOST_MEMORY = 128 * 1024
_MOST_DESCRIPTORS = 40
# Those of requests, of turns that are just over, and the process's own.
_MOST_THREADS = MAX_REQUESTS_AT_ONCE + 40
_MOST_UNREAD = 64 * 1024

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc to see a process's memory")


@contextmanager
def _started(home: Path, workspace: Path, tmp_path: Path, seed: str) -> Iterator[FuzzRun]:
    kept = Path(os.environ.get("FUZZ_KEPT") or tmp_path)
    with FuzzRun.started(home, workspace, seed, kept) as run:
        yield run


def _check_growth(warm: Usage, run: FuzzRun, memory: int = _MOST_MEMORY) -> None:
    after = run.clear()
    assert after.memory - warm.memory < memory, f"KiB more than at first: {warm} became {after}"
    # The database's file stays open as often as it was read at once: SQLite closes none while another holds a lock.
    assert after.descriptors < after.threads + _MOST_DESCRIPTORS, f"{warm} became {after}"
    assert after.threads < _MOST_THREADS, f"{warm} became {after}"


def test_some_lines_of_any_kind(home: Path, workspace: Path, tmp_path: Path) -> None:
    with _started(home, workspace, tmp_path, SEED) as run:
        plans.random_lines(run, 300)


@pytest.mark.long
def test_thousands_of_lines_of_any_kind(home: Path, workspace: Path, tmp_path: Path) -> None:
    with _started(home, workspace, tmp_path, f"{SEED}-long") as run:
        plans.random_lines(run, 3_000)
        warm = run.measure()
        plans.every_field(run, 60)
        plans.flood(run, 2_000)
        plans.huge(run, 4 * plans.MIB)
        most = plans.flood_unread(run, 15_000)
        assert most < _MOST_UNREAD, f"KiB more while nobody reads: {most}"
        _check_growth(warm, run)


@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_the_whole_run(home: Path, workspace: Path, tmp_path: Path) -> None:
    sent, part = 0, 0
    while sent < LINES:
        ground = tmp_path / f"home-{part}"
        ground.mkdir()
        with _started(ground, workspace, tmp_path, f"{SEED}-{part}") as run:
            plans.random_lines(run, 5_000)
            warm = run.measure()
            plans.every_field(run)
            plans.random_lines(run, 15_000)
            plans.flood(run, 10_000)
            _check_growth(warm, run)
        sent, part = sent + run.sent, part + 1
        told = f"{run.sent} lines, {run.exchange.frames} frames, {run.seconds:.0f} s, {run.seen[-1]}"
        sys.stdout.write(f"{run.seed}: {told}\n")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_floods_that_nobody_reads_the_answers_to(home: Path, workspace: Path, tmp_path: Path) -> None:
    with _started(home, workspace, tmp_path, SEED) as run:
        plans.random_lines(run, 500)
        most = [plans.flood_unread(run, 10_000), plans.flood_unread(run, 50_000)]
        assert max(most) < _MOST_UNREAD, f"KiB more while nobody reads: {most}"


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_messages_of_fifty_mebibytes(home: Path, workspace: Path, tmp_path: Path) -> None:
    with _started(home, workspace, tmp_path, SEED) as run:
        plans.random_lines(run, 500)
        plans.huge(run, 50 * plans.MIB)
        plans.too_long(run)
        plans.random_lines(run, 500)


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", range(10))
def test_an_agent_that_was_never_greeted(seed: int, home: Path, workspace: Path, tmp_path: Path) -> None:
    """The first bytes reach the front door, where there is no SDK yet: each time others."""
    with _started(home, workspace, tmp_path, f"{SEED}-first-{seed}") as run:
        plans.random_lines(run, 40)
