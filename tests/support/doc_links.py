"""Links on the pages of the documentation, and the places that they may lead to."""

from __future__ import annotations

import re
import tomllib
import unicodedata
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SITE = ROOT / "zensical.toml"
_NOTES = DOCS / "tools" / "notes"

_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"(?P<picture>!?)\[[^\]]*\]\((?P<target>[^()\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(?P<text>.+?) *#*$", re.MULTILINE)
_INLINE_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")


def pages() -> list[Path]:
    """Every page of docs/; notes of tools are parts of pages."""
    return sorted(path for path in DOCS.rglob("*.md") if not path.is_relative_to(_NOTES))


def documents() -> list[Path]:
    """The same, and what stands beside docs/."""
    return [*pages(), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"))]


def links(text: str) -> Iterator[tuple[bool, str]]:
    """Whether it is a picture, and where it leads to."""
    prose = _CODE.sub("", _FENCE.sub("", text))
    for found in _LINK.finditer(prose):
        yield bool(found["picture"]), found["target"]


@cache
def anchors(path: Path) -> frozenset[str]:
    """The names by which a page's headings are linked, as the generator makes them."""
    prose = _FENCE.sub("", path.read_text(encoding="utf-8"))
    return frozenset(anchor(found["text"]) for found in _HEADING.finditer(prose))


def anchor(heading: str) -> str:
    """A heading's name in an address; forges and the generator agree about those of plain letters."""
    plain = _INLINE_LINK.sub(r"\1", heading).replace("`", "")
    letters = unicodedata.normalize("NFKD", plain).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", letters).strip().lower())


def broken(path: Path) -> Iterator[str]:
    """Links of a document that lead nowhere, with the reason."""
    for _, target in links(path.read_text(encoding="utf-8")):
        if target.startswith(("http://", "https://")):
            continue
        file, _, name = target.partition("#")
        where = path.parent / file if file else path
        if not where.exists():
            yield f"{target}: there is no such file"
        elif name and name not in anchors(where.resolve()):
            yield f"{target}: there is no such heading"
        elif path.is_relative_to(DOCS) and not where.resolve().is_relative_to(DOCS):
            yield f"{target}: it is no page of the site"


def in_navigation() -> list[str]:
    """The pages that the site's navigation has, in order."""
    return list(_entries(tomllib.loads(SITE.read_text(encoding="utf-8"))["project"]["nav"]))


def _entries(part: Any) -> Iterator[str]:
    if isinstance(part, str):
        yield part
        return
    for entry in part.values() if isinstance(part, dict) else part:
        yield from _entries(entry)
