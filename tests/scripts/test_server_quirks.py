"""The table of servers' quirks in docs/models.md says what the tests show."""

from pathlib import Path

import pytest

from scripts.server_quirks import BEGIN, END, main, quirks_table, with_quirks

PAGE = Path("docs/models.md")


@pytest.mark.long
def test_the_page_has_the_quirks_that_the_tests_show(pytestconfig):
    page = (pytestconfig.rootpath / PAGE).read_text(encoding="utf-8")
    assert with_quirks(page, quirks_table()) == page, "run make docs"


def test_a_page_without_the_marks_of_the_quirks_is_refused_and_left_as_it_is(tmp_path):
    page = tmp_path / "models.md"
    page.write_text(f"{BEGIN}\n", encoding="utf-8")
    with pytest.raises(ValueError, match="needs the lines"):
        with_quirks(page.read_text(encoding="utf-8"), "table")
    assert with_quirks(f"before\n{BEGIN}\nold\n{END}\nafter", "new") == f"before\n{BEGIN}\nnew\n{END}\nafter"


def test_the_script_of_quirks_tells_how_it_is_used(capsys):
    assert main([]) == 2
    assert "docs/models.md" in capsys.readouterr().err
