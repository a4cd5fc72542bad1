"""The reference of the settings says what the model of the settings says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pydantic import Field

from agent_core.settings.model import Settings
from agent_core.settings.project import MAY_NARROW
from scripts.settings_reference import BEGIN, END, _row, keys, main, reference, with_reference
from tests.support.doc_links import documents
from tests.support.each import each

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"
_SPAN = re.compile(r"`([a-z_]+(?:\.[A-Za-z_]+)+)(?:: [^`]*)?`")
_FILES = (".py", ".md", ".json")
_OTHER_NAMES = {"delegation.provider"}
"""What is understood, and called otherwise in the reference."""


def test_the_page_is_up_to_date() -> None:
    """`make docs` renews it."""
    page = PAGE.read_text(encoding="utf-8")
    assert with_reference(page, reference()) == page


def test_every_setting_says_what_it_means_and_what_it_is() -> None:
    lines = [line.split(" | ") for line in reference().splitlines() if line.startswith("| `")]
    assert len(lines) > 150
    assert [line[0] for line in lines if len(line) != 4 or not line[3].strip(" |") or line[1] == "value"] == []


def test_a_setting_s_line_has_its_kind_limits_and_default() -> None:
    class Part(Settings):
        size: int | None = Field(7, ge=1, lt=1000, description="How big | or small.")

    assert _row("part.size", Part.model_fields["size"]) == (
        "part.size",
        "whole number, 1 to under 1,000",
        "`7`",
        "How big | or small.",
    )


def test_what_a_project_may_narrow_is_said_there_and_nowhere_else() -> None:
    told = set(re.findall(r"^\| `([\w.]+)` .*A project may narrow it", reference(), re.MULTILINE))
    assert told == {f"{part}.{key}" for part, names in MAY_NARROW.items() for key in names}


@each("path", documents())
def test_every_setting_that_a_page_names_is_one(path: Path) -> None:
    parts = set(Settings.model_fields)
    named = {name for name in _SPAN.findall(path.read_text(encoding="utf-8")) if not name.endswith(_FILES)}
    settings = {name for name in named if name.split(".")[0] in parts} - _OTHER_NAMES
    assert {name for name in settings if not _is_known(name)} == set()


def _is_known(name: str) -> bool:
    known = re.sub(r"^auxiliary\.[a-z]+", "auxiliary.TASK", name).removesuffix(".NAME")
    return any(f"{key}.".replace("[]", "").startswith(f"{known}.") for key in keys())


def test_a_page_without_marks_is_an_error() -> None:
    with pytest.raises(ValueError, match="around its reference"):
        with_reference("# A page\n", "")


def test_the_page_is_renewed_between_its_marks(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    assert main([str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "### `sandbox`" in text
