"""Saved outputs: where they go, and when they go away."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_core.sessions.library import SavedOutputs

_DAY = 86_400.0


def _save(outputs: SavedOutputs, session: str, call: str, age_days: float = 0.0) -> Path:
    path = outputs.file_of(session, call)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("all of it")
    written = 100 * _DAY - age_days * _DAY
    os.utime(path, (written, written))
    return path


@pytest.fixture
def outputs(tmp_path: Path) -> SavedOutputs:
    return SavedOutputs(tmp_path / "outputs", clock=lambda: 100 * _DAY)


def test_a_call_has_a_file_in_its_sessions_directory(outputs: SavedOutputs, tmp_path: Path) -> None:
    assert outputs.file_of("s-1", "call_7") == tmp_path / "outputs" / "s-1" / "call_7.txt"


@pytest.mark.parametrize("odd", ["../../x", "/etc/passwd", "..", "", "a" * 300, "a\0b", "-rf", "a/b", "\ud800"])
def test_an_id_that_is_no_harmless_name_leads_nowhere_else(odd: str, outputs: SavedOutputs, tmp_path: Path) -> None:
    path = outputs.file_of(odd, odd)
    assert path.parent.parent == tmp_path / "outputs"
    assert path == Path(os.path.normpath(path))
    assert len(path.name) < 110
    assert path != outputs.file_of("other", "other")


def test_they_go_with_their_session(outputs: SavedOutputs) -> None:
    gone, stays = _save(outputs, "a", "c"), _save(outputs, "b", "c")
    outputs.drop("a")
    outputs.drop("never-there")
    assert not gone.parent.exists()
    assert stays.exists()


def test_after_seven_days_they_go_by_themselves(outputs: SavedOutputs) -> None:
    old, older, new = (_save(outputs, *names) for names in (("a", "1", 8), ("b", "1", 30), ("b", "2", 6)))
    assert outputs.prune() == 2
    assert not old.parent.exists(), "an empty directory goes too"
    assert not older.exists()
    assert new.exists()


def test_without_any_there_is_nothing_to_do(outputs: SavedOutputs) -> None:
    assert outputs.prune() == 0
