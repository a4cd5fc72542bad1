"""What the documentation tells people to import can be imported, today and under the names it was told by before."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_PUBLIC = _ROOT / "tests" / "data" / "public_imports.txt"
_IMPORT = re.compile(r"^\s*from ((?:acp_adapter|agent_core|tools)[\w.]*) import ([\w, ]+)", re.MULTILINE)


def _public() -> Iterator[tuple[str, str]]:
    for line in _PUBLIC.read_text().splitlines():
        if line and not line.startswith("#"):
            module, name = line.split()
            yield module, name


def _told() -> Iterator[tuple[str, str]]:
    for page in (_ROOT / "README.md", *(_ROOT / "docs").rglob("*.md")):
        for module, names in _IMPORT.findall(page.read_text()):
            yield from ((module, name.split(" as ")[0].strip()) for name in names.split(","))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(("module", "name"), [*_public()])
def test_a_public_import_path_keeps_working(module: str, name: str) -> None:
    found = importlib.import_module(module)
    assert hasattr(found, name) or importlib.import_module(f"{module}.{name}")


def test_the_public_import_paths_are_those_of_the_documentation() -> None:
    assert {*_told()} <= {*_public()}, f"add what is missing to {_PUBLIC.relative_to(_ROOT)}"
