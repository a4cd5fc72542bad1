"""The capability matrix says what the golden transcripts say."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.acp_support import BEGIN, END, entries, main, support_tables, with_tables

PAGE = Path(__file__).parent.parent.parent / "docs" / "acp-support.md"
_GOLDEN = """\
Something.

=== plain, minimal ===
→ session/prompt #1
    {"prompt": []}
→ session/cancel
← update tool_call
    {
        "toolCallId": "c", "kind": "edit",
        "content": [{"type": "diff", "_meta": {"odd": 1}}],
        "rawInput": {"_meta": {"mine": 1}}
    }
← fs/read_text_file #a1
→ answer to fs/read_text_file #a1
← answer to session/prompt #1
    {"stopReason": "end_turn"}
← error to session/fork #2

=== zed ===
← error to session/prompt #1
    {"code": 1}

=== jetbrains ===
→ initialize #1
    {"offering as well": {"session": {"notices": {}}}}
← update notice
    {"severity": "info"}
← answer to session/set_config_option #2
    {"configOptions": "<with thought_level=\\"low\\">"}
"""


def test_the_page_is_up_to_date() -> None:
    """`make docs` renews it."""
    page = PAGE.read_text(encoding="utf-8")
    assert with_tables(page, support_tables(entries())) == page


def test_each_profile_is_told_of_what_it_saw(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text(_GOLDEN, encoding="utf-8")
    lines = support_tables(entries(tmp_path)).splitlines()
    assert "| `session/prompt` | yes | no | – | yes |" in lines
    assert "| `session/cancel` | yes | – | – | yes |" in lines
    assert "| `tool_call` | yes | – | – | yes |" in lines
    assert "| `fs/read_text_file` | yes | – | – | yes |" in lines
    assert "| `notice` | – | – | if offered | – |" in lines
    assert "| `thought_level` | – | – | if offered | – |" in lines
    assert "| `odd` | yes | – | – | yes |" in lines
    assert "| content `diff` | yes | – | – | yes |" in lines
    assert "| `end_turn` | yes | – | – | yes |" in lines
    assert not [line for line in lines if "session/fork" in line or "mine" in line]


def test_a_page_without_markers_is_an_error() -> None:
    with pytest.raises(ValueError, match="around its tables"):
        with_tables("# A page\n", "")


def test_the_page_is_renewed_between_its_markers(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nthe old tables\n{END}\nafter\n", encoding="utf-8")
    assert main([str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "the old tables" not in text
    assert "## Reasons to stop" in text
