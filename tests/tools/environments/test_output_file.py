"""Long output in a file: all of it, bounded, for the user alone; a disk that takes nothing is no failure."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.limits import size_limit
from tools.environments.output import OutputBuffer, OutputFile, save_text
from tools.result import MAX_SHOWN_CHARS, SavedOutput


def _filled(path: Path, pieces: list[str], limit: int = 50_000) -> tuple[OutputBuffer, SavedOutput | None]:
    buffer = OutputBuffer(limit, 0.4, path)
    for piece in pieces:
        buffer.add(piece)
    return buffer, buffer.close()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "outputs" / "s" / "c.txt"


def test_what_is_shown_whole_is_not_saved(path: Path) -> None:
    _, saved = _filled(path, ["x" * MAX_SHOWN_CHARS])
    assert saved is None
    assert not path.parent.exists()


@pytest.mark.parametrize("size", [1_000, 7_777, 19_999, 60_000, 150_000])
def test_all_of_a_long_output_is_saved_whatever_its_pieces(path: Path, size: int) -> None:
    text = "".join(f"line {number} ✓\n" for number in range(10_000))
    buffer, saved = _filled(path, [text[at : at + size] for at in range(0, len(text), size)])
    assert buffer.truncated_chars == len(text) - 50_000
    assert path.read_text() == text
    assert saved == SavedOutput(path, len(text.encode()))


def test_what_is_kept_whole_but_not_shown_whole_is_saved_too(path: Path) -> None:
    buffer, saved = _filled(path, ["x" * MAX_SHOWN_CHARS, "y"])
    assert buffer.truncated_chars == 0
    assert saved == SavedOutput(path, MAX_SHOWN_CHARS + 1)


def test_a_small_limit_saves_sooner(path: Path) -> None:
    _, saved = _filled(path, ["abc", "def", "ghi"], limit=6)
    assert saved is not None
    assert path.read_text() == "abcdefghi"


def test_it_is_for_the_user_alone(path: Path) -> None:
    save_text("secret", path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_it_is_bounded_and_says_so_at_its_end(path: Path) -> None:
    file = OutputFile(path, max_bytes=10)
    for _ in range(3):
        file.write("1234567")
    saved = file.close()
    assert path.read_text() == "1234567123\n[… more was printed than is kept …]\n"
    assert saved == SavedOutput(path, path.stat().st_size)


def test_what_was_there_is_replaced(path: Path) -> None:
    save_text("a longer text", path)
    save_text("short", path)
    assert path.read_text() == "short"


def test_half_a_character_pair_does_not_break_it(path: Path) -> None:
    assert save_text("a\ud800b", path) == SavedOutput(path, 3)


def test_a_link_in_its_place_is_not_followed(path: Path, tmp_path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.symlink_to(tmp_path / "elsewhere")
    assert save_text("x", path) is None
    assert not (tmp_path / "elsewhere").exists()


def test_where_nothing_can_be_saved_the_output_is_still_collected(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    buffer, saved = _filled(tmp_path / "file" / "c.txt", ["x" * 30_000])
    assert saved is None
    assert len(buffer.text()) == 30_000


def test_a_full_disk_ends_the_saving_alone(path: Path) -> None:
    with size_limit(10_000):
        buffer, saved = _filled(path, ["x" * 30_000, "y" * 30_000])
    assert saved is None
    assert buffer.truncated_chars == 10_000
