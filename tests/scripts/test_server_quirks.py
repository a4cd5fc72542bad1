"""The table of servers' quirks in docs/models.md says what the tests show."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.server_quirks import BEGIN, END, main, with_quirks

PAGE = Path("docs/models.md")


@pytest.mark.long
def test_the_page_has_the_quirks_that_the_tests_show(pytestconfig, tmp_path):
    page = pytestconfig.rootpath / PAGE
    renewed = Path(shutil.copy(page, tmp_path))
    words = [sys.executable, "-m", "scripts.server_quirks", str(renewed)]
    subprocess.run(words, cwd=pytestconfig.rootpath, check=True, timeout=50)
    assert renewed.read_text(encoding="utf-8") == page.read_text(encoding="utf-8"), "run make docs"


def test_a_page_without_the_marks_of_the_quirks_is_refused_and_left_as_it_is(tmp_path):
    page = tmp_path / "models.md"
    page.write_text(f"{BEGIN}\n", encoding="utf-8")
    with pytest.raises(ValueError, match="needs the lines"):
        with_quirks(page.read_text(encoding="utf-8"), "table")
    assert with_quirks(f"before\n{BEGIN}\nold\n{END}\nafter", "new") == f"before\n{BEGIN}\nnew\n{END}\nafter"


def test_the_script_of_quirks_tells_how_it_is_used(capsys):
    assert main([]) == 2
    assert "docs/models.md" in capsys.readouterr().err
