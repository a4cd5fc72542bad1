"""The code on pages of docs/, as the reader would copy it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
_BLOCK = re.compile(r"^(?P<lead>[^\n]*)\n\n```(?P<language>\w*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"`(?P<name>[\w./-]+)`:$")


@dataclass(frozen=True, slots=True)
class DocBlock:
    """A block of code. `name` is the file that the line before names («`plugin.yaml`:»), '' for none."""

    language: str
    code: str
    name: str


def blocks(page: str) -> list[DocBlock]:
    """The blocks of code on a page, in order."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return [DocBlock(found["language"], found["code"], _named(found["lead"])) for found in _BLOCK.finditer(text)]


def file_on(page: str, name: str) -> str:
    """The text of the file that a page shows under that name."""
    [code] = [block.code for block in blocks(page) if block.name == name]
    return code


def _named(line: str) -> str:
    found = _NAME.search(line)
    return found["name"] if found else ""
