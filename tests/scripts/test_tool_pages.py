"""The pages of docs/tools say what the tools' schemas say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from scripts.tool_pages import INDEX, MARK, NOTES, is_generated, main, page, pages
from tests.support.each import each
from tools.registry import ToolEntry

FOLDER = Path(__file__).parent.parent.parent / "docs" / "tools"
_SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "A file | folder."},
        "mode": {"type": "string", "enum": ["a", "b"], "default": "a"},
        "edits": {
            "type": "array",
            "items": {"type": "object", "properties": {"old": {"type": "string"}}, "required": ["old"]},
        },
    },
    "required": ["path"],
}


def _entry(**options: object) -> ToolEntry:
    return ToolEntry("demo", "files", _SCHEMA, lambda args, **kw: "{}", "Does it. And more.", **options)  # type: ignore[arg-type]


@each("name", sorted(pages(FOLDER)))
def test_the_page_is_up_to_date(name: str) -> None:
    """`make docs` renews them."""
    assert (FOLDER / name).read_text(encoding="utf-8") == pages(FOLDER)[name]


def test_no_page_is_of_a_tool_that_is_gone() -> None:
    assert {path.name for path in FOLDER.glob("*.md") if is_generated(path)} == set(pages(FOLDER))


def test_every_note_is_of_a_tool() -> None:
    names = {path.stem for path in (FOLDER / NOTES).glob("*.md")}
    assert {f"{name}.md" for name in names} <= set(pages(FOLDER))


def test_every_link_of_the_index_leads_somewhere() -> None:
    text = (FOLDER / INDEX).read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)#:]+)\)", text)
    assert targets
    assert [target for target in targets if not (FOLDER / target).exists()] == []


def test_a_page_says_what_the_schema_says() -> None:
    text = page(_entry(parallel="paths", requires_env=("DEMO_KEY",), check_fn=lambda: True), "A note.")
    lines = text.splitlines()

    assert lines[0] == "# demo"
    assert r"| `path` | string | required | A file \| folder. |" in lines
    assert '| `mode` | `a`, `b` | `"a"` |  |' in lines
    assert "| `edits` | list of object |  |  |" in lines
    assert "| `edits[].old` | string | required |  |" in lines
    assert "- Needs `DEMO_KEY` in the environment." in lines
    assert "- Runs beside other calls of the same answer that work on other paths." in lines
    assert "## Worth knowing\n\nA note." in text


def test_pages_are_renewed_and_those_of_tools_that_are_gone_removed(tmp_path: Path) -> None:
    (tmp_path / "gone.md").write_text(f"# gone\n\n{MARK}\n")
    (tmp_path / "own.md").write_text("# Written by hand\n")
    (tmp_path / NOTES).mkdir()
    (tmp_path / NOTES / "todo.md").write_text("Something worth knowing.\n")

    assert main([str(tmp_path)]) == 0

    assert not (tmp_path / "gone.md").exists()
    assert (tmp_path / "own.md").read_text() == "# Written by hand\n"
    assert "Something worth knowing." in (tmp_path / "todo.md").read_text()
    assert "[todo](todo.md)" in (tmp_path / INDEX).read_text()


def test_without_a_folder_the_usage_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "Usage" in capsys.readouterr().err
