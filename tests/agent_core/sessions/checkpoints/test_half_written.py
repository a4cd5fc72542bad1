"""What a killed process was writing beside a file goes; what may be a living one's, and what is somebody's, stays."""

from __future__ import annotations

import os

import pytest

from agent_core.sessions.checkpoints.restore import drop_half_written

NAME = ".hermes-0123456789ab.tmp"


def half_written(bench, name, age=60):
    path = bench.path(name)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"half")
    os.utime(path, (bench.now - age, bench.now - age))
    return path


def test_where_a_turn_that_broke_off_has_written_it_goes(bench):
    bench.begin()
    bench.write("a/file", b"whole")
    left, elsewhere = half_written(bench, f"a/{NAME}"), half_written(bench, f"b/{NAME}")
    assert drop_half_written(bench.database, bench.now) == 1
    assert (left.exists(), elsewhere.exists()) == (False, True)
    assert bench.path("a/file").read_bytes() == b"whole"


@pytest.mark.parametrize(("outcome", "dropped"), [("", 1), ("cancelled", 0), ("end_turn", 0)])
def test_where_a_turn_has_written_that_was_given_up_it_goes(bench, outcome, dropped):
    bench.begin()
    bench.write("file", b"whole")
    with bench.database.write() as connection:
        connection.execute("UPDATE turns SET ended_at = 1, outcome = ?", (outcome,))
    half_written(bench, NAME)
    assert drop_half_written(bench.database, bench.now) == dropped


def test_where_an_undo_has_written_it_goes_too(bench):
    bench.begin()
    bench.write("file", b"whole")
    with bench.database.write() as connection:
        connection.execute("UPDATE turns SET ended_at = 1")
    left = half_written(bench, NAME)
    assert drop_half_written(bench.database, bench.now) == 0
    bench.undo()
    assert drop_half_written(bench.database, bench.now) == 1
    assert not left.exists()


def test_what_is_young_or_has_another_name_stays(bench):
    bench.begin()
    bench.write("file", b"whole")
    young, others = half_written(bench, NAME, age=-1), half_written(bench, ".hermes-mine.tmp")
    assert drop_half_written(bench.database, bench.now) == 0
    assert young.exists()
    assert others.exists()


def test_a_directory_that_is_gone_is_passed_over(bench):
    bench.begin()
    bench.write("a/file", b"whole")
    bench.path("a/file").unlink()
    bench.path("a").rmdir()
    assert drop_half_written(bench.database, bench.now) == 0
