"""`hermes-acp inspect`: a page beside the recording, and clear words where there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_adapter.cli.inspect.main import main
from tests.support.recordings import sample_lines


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "session.jsonl"
    path.write_text("\n".join(sample_lines()), encoding="utf-8")
    return path


def test_the_page_is_written_beside_the_recording(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(recording)]) == 0
    page = recording.with_suffix(".html")
    assert capsys.readouterr().out == f"Wrote {page}.\n"
    assert page.stat().st_mode & 0o777 == 0o600
    written = page.read_text(encoding="utf-8")
    assert "Recording session.jsonl" in written
    assert "http://" not in written.replace("http://www.w3.org", "")


def test_a_page_that_is_there_stays_unless_told(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = recording.with_suffix(".html")
    page.write_text("mine", encoding="utf-8")
    assert main([str(recording)]) == 1
    assert "there is such a file" in capsys.readouterr().err
    assert page.read_text(encoding="utf-8") == "mine"
    assert main([str(recording), "--force"]) == 0
    assert "Connection 1" in page.read_text(encoding="utf-8")


def test_the_recording_itself_is_never_written_over(recording: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = recording.read_bytes()
    assert main([str(recording), "--output", str(recording), "--force"]) == 1
    assert "over the recording" in capsys.readouterr().err
    assert recording.read_bytes() == before


def test_a_missing_file_and_one_that_is_no_recording_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path / "absent.jsonl")]) == 1
    assert "could not be read" in capsys.readouterr().err
    other = tmp_path / "other.jsonl"
    other.write_text("a text\n", encoding="utf-8")
    assert main([str(other)]) == 1
    assert "no recording" in capsys.readouterr().err
    assert not other.with_suffix(".html").exists()
