"""The pictures of the documentation are of what the program shows now."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from scripts.pictures.drawing import drawn
from scripts.pictures.pseudo_terminal import COLUMNS, SceneStuckError, Step, on_screen, played
from scripts.pictures.scenes import SCENES, Stage

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
# How a traceback looks is Python's, and changes with its version.
_SETTLED = [scene for scene in SCENES if scene.name != "demo"]


@pytest.mark.long
@pytest.mark.parametrize("scene", _SETTLED, ids=lambda scene: scene.name)
def test_a_terminal_shows_what_its_picture_shows(scene, tmp_path: Path) -> None:
    """`make pictures` makes them anew."""
    picture = (PICTURES / f"{scene.name}.svg").read_text(encoding="utf-8")
    assert drawn(Stage(tmp_path).play(scene), scene.title) == picture


def test_every_scene_has_a_picture_and_pictures_are_small() -> None:
    assert {f"{scene.name}.svg" for scene in SCENES} == {path.name for path in PICTURES.glob("*.svg")}
    assert [path.name for path in PICTURES.iterdir() if path.stat().st_size > 120_000] == []


def test_colours_are_kept_and_other_codes_are_not() -> None:
    picture = drawn(["\x1b[2K  \x1b[1;31mno <b>\x1b[0m and \x1b[32myes\x1b[0m"], "a & b")
    assert "a &amp; b" in picture
    assert "\x1b" not in picture
    assert re.findall(
        r'x="([\d.]+)".*?fill="(#\w+)"( font-weight="bold")?>([^<]*)<', picture.partition("</text>")[2]
    ) == [
        ("32.8", "#f2777a", ' font-weight="bold"', "no\xa0&lt;b&gt;"),
        ("91.6", "#d8dee9", "", "and"),
        ("125.2", "#8bc98b", "", "yes"),
    ]


def test_pieces_of_one_look_are_one_and_long_lines_are_folded() -> None:
    whole, parts = drawn(["\x1b[2mab\x1b[0m"], "x"), drawn(["\x1b[2ma\x1b[0m\x1b[2mb\x1b[0m"], "x")
    assert whole == parts
    rows = re.findall(r">([^<>]*)</tspan>", drawn(["x" * (COLUMNS + 3)], "x"))
    assert [len(row) for row in rows] == [COLUMNS, 3]


def test_what_was_drawn_over_or_taken_away_is_not_in_the_picture() -> None:
    menu = "Allow?\r\n  y yes\r\n  n no\r\n\x1b[2A\x1b[J  -> yes\r\n"
    assert on_screen(f"one\r\n{menu}working\r\x1b[Kdone\r\n") == ["one", "Allow?", "  -> yes", "done"]


def test_what_is_typed_waits_for_what_is_seen(tmp_path: Path) -> None:
    program = 'name = input("who? "); print("hello", name)'
    steps = (Step("who? ", "you\r"),)
    assert played([sys.executable, "-c", program], steps, tmp_path, {"TERM": "dumb"})[-1] == "hello you"


def test_a_scene_that_waits_for_nothing_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("scripts.pictures.pseudo_terminal._LONGEST", 0.2)
    with pytest.raises(SceneStuckError, match="who"):
        played([sys.executable, "-c", 'input("who? ")'], (Step("never", ""),), tmp_path, {"TERM": "dumb"})
