"""A run is kept as a file that can be read, and read again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import runs
from benchmarks.__main__ import main
from benchmarks.figures import BYTES, HERMES, RAW, Quantity, Samples, Section
from benchmarks.runs import NoSuchRun, Spread

_SIZE = Quantity("a request", BYTES, at_most=16)
_TIME = Quantity("a turn")


def _section() -> Section:
    samples = Samples()
    samples.add(_SIZE, HERMES, 12)
    for number in range(1, 9):
        samples.add(_TIME, HERMES, number)
        samples.add(_TIME, RAW, number / 2)
    return samples.section("Turns", (_SIZE, _TIME))


def test_a_run_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "results" / "run.json"
    run = runs.run_of([_section()], {"commit": "abc", "quick": False}, [9, 10, 11])
    runs.save(path, run)
    assert runs.load(path) == run
    assert run.figures[1].spreads[HERMES] == Spread(4.5, 2.75, 6.25, 8), "the middle half"


def test_a_kept_run_tells_each_ratio_and_target_in_a_line_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    runs.save(path, runs.run_of([_section()], {"commit": "abc"}, [10]))
    [size, time] = json.loads(path.read_text())["figures"]
    assert (size["at_most"], size["ratios"]) == (16, {})
    assert (time["at_most"], time["ratios"]) == (None, {RAW: 2.0})
    assert "samples" not in time
    assert sum('"title"' in line for line in path.read_text().splitlines()) == 2


@pytest.mark.parametrize("text", [None, "", "[]", "{}", '{"figures": [{}], "yardstick": {}}'])
def test_a_file_that_holds_no_run_is_refused(text: str | None, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(NoSuchRun, match=r"run\.json"):
        runs.load(path)


def test_without_a_committed_run_nothing_is_measured_and_the_way_to_one_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["benchmarks", "--compare", "--committed", str(tmp_path / "none.json")])
    assert main() == 2
    said = capsys.readouterr()
    assert "none.json is not there" in said.err
    assert "make bench-keep" in said.err
    assert said.out == ""


def test_the_last_run_can_be_made_the_committed_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    latest, committed = tmp_path / "latest.json", tmp_path / "committed.json"
    run = runs.run_of([_section()], {"commit": "abc"}, [10])
    runs.save(latest, run, [_section()])
    monkeypatch.setattr("sys.argv", ["benchmarks", "--keep", "--json", str(latest), "--committed", str(committed)])
    assert main() == 0
    assert runs.load(committed) == run
    assert "samples" not in committed.read_text()


def test_a_run_of_some_subjects_is_not_made_the_committed_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    latest, committed = tmp_path / "latest.json", tmp_path / "committed.json"
    runs.save(latest, runs.run_of([_section()], {"only": ["startup"]}, [10]))
    monkeypatch.setattr("sys.argv", ["benchmarks", "--keep", "--json", str(latest), "--committed", str(committed)])
    assert main() == 2
    assert "startup only" in capsys.readouterr().err
    assert not committed.exists()
