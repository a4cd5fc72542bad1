"""The code on pages of docs/, as the reader would copy it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
_BLOCK = re.compile(r"^```(?P<language>\w*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"`(?P<name>[\w./-]+)`:$")
_INDENTED = re.compile(r"(?:\A|\n)\n {4,}\S[^\n]*")


@dataclass(frozen=True, slots=True)
class DocBlock:
    """A block of code.

    Attributes:
        page: as seen from docs/, or `../README.md`.
        line: where its code begins, from 1.
        name: the file that the line before names («`plugin.yaml`:»), '' for none.
    """

    language: str
    code: str = field(repr=False)
    name: str = ""
    page: str = ""
    line: int = 0

    @property
    def first(self) -> str:
        """Its first line, by which lists call it."""
        return self.code.partition("\n")[0]


def blocks(page: str) -> list[DocBlock]:
    """The blocks of code on a page, in order."""
    text = (DOCS / page).read_text(encoding="utf-8")
    return [
        DocBlock(found["language"], found["code"], _named(before), page, before.count("\n") + 2)
        for found in _BLOCK.finditer(text)
        for before in [text[: found.start()]]
    ]


def file_on(page: str, name: str) -> str:
    """The text of the file that a page shows under that name."""
    [code] = [block.code for block in blocks(page) if block.name == name]
    return code


def indented(page: str) -> list[str]:
    """Lines that would be shown as code without a fence."""
    text = _BLOCK.sub("", (DOCS / page).read_text(encoding="utf-8"))
    return [found.strip() for found in _INDENTED.findall(text)]


def commands(block: DocBlock) -> Iterator[str]:
    """The commands of a block, one after the other, without their comments; of a console those after `$ `."""
    lines = block.code.splitlines()
    if block.language == "console":
        lines = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
    waiting = ""
    for line in lines:
        waiting = f"{waiting}\n{line}" if waiting else line
        try:
            words = shlex.split(waiting, comments=True)
        except ValueError:
            continue  # a quote is open: the command goes on
        if words:
            yield re.sub(r"\s+#[^'\"\n]*$", "", waiting).strip()
        waiting = ""
    assert not waiting, f"{block.page}:{block.line}: a command does not end"


def _named(before: str) -> str:
    found = _NAME.search(before.rstrip("\n").rpartition("\n")[2])
    return found["name"] if found else ""
