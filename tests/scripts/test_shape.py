"""The figures of the house, and the bounds that `make lint` holds them to."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.shape import House, circles

_ROOT = Path(__file__).parents[2]


def _imports(**imports: str) -> dict[str, frozenset[str]]:
    return {name: frozenset(imported.split()) for name, imported in imports.items()}


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A small house of three packages, with its settings."""
    for package in ("acp_adapter", "agent_core", "tools"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
    (tmp_path / "agent_core" / "loop.py").write_text("import tools.registry\n" * 200)
    (tmp_path / "tools" / "registry.py").write_text("def names() -> None:\n    import tools.paths\n")
    (tmp_path / "tools" / "paths.py").write_text("SEPARATOR = '/'\n")
    (tmp_path / "pyproject.toml").write_text(
        "[tool.shape]\nfiles = 9\nsplinters = 2\ncircles = 0\n\n[tool.other]\nfiles = 100\n"
    )
    return tmp_path


def shape(house: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run it in a process of its own, as it reads packages that bear the product's names."""
    program = (
        f"import sys; from pathlib import Path; sys.path.insert(0, {str(house)!r}); sys.path.append({str(_ROOT)!r})"
    )
    program += f"; from scripts.shape import main; sys.exit(main({list(arguments)!r}, Path({str(house)!r})))"
    environment = {**os.environ, "PYTHONPATH": ""}
    return subprocess.run(
        [sys.executable, "-P", "-c", program], cwd=house, env=environment, capture_output=True, text=True, check=False
    )


def test_a_module_that_is_imported_once_and_short_is_a_splinter(house: Path) -> None:
    assert shape(house, "--splinters").stdout.split() == ["tools.paths", "tools.registry"]


def test_late_imports_and_imports_for_types_make_a_circle(house: Path) -> None:
    (house / "tools" / "paths.py").write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from tools import registry\n"
    )
    assert shape(house, "--circles").stdout == "tools.paths tools.registry\n"
    checked = shape(house, "--check")
    assert checked.returncode == 1
    assert "shape: circles is 1, and 0 is allowed" in checked.stderr


def test_figures_within_their_bounds_are_silent(house: Path) -> None:
    assert (shape(house, "--check").returncode, shape(house, "--check").stderr) == (0, "")


def test_bounds_are_lowered_to_todays_figures_and_never_raised(house: Path) -> None:
    settings = house / "pyproject.toml"
    settings.write_text(settings.read_text().replace("splinters = 2", "splinters = 1"))
    assert shape(house, "--tighten").returncode == 0
    assert settings.read_text() == (
        "[tool.shape]\nfiles = 6\nsplinters = 1\ncircles = 0\n\n[tool.other]\nfiles = 100\n"
    )


def test_circles_are_found_whole_and_apart() -> None:
    imports = _imports(a="b", b="c d", c="a", d="e", e="d f", f="", g="a")
    assert circles(imports) == [["a", "b", "c"], ["d", "e"]]
    assert circles(_imports(a="b c", b="c", c="")) == []


def test_figures_leave_packages_out_of_the_sizes_of_files() -> None:
    house = House({"tools": 0, "tools.a": 10, "tools.b": 30}, frozenset({"tools"}), _imports(tools=""))
    figures = house.figures()
    assert (figures["files"], figures["median"], figures["longest"]) == (3, 20, 30)
