"""The documentation hangs together: every link leads somewhere, every page can be found, nothing is fetched."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.doc_links import DOCS, SITE, anchor, broken, documents, in_navigation, links, pages
from tests.support.each import each

_LOADED = re.compile(r"<(?:script|img|iframe|source)\b[^>]*\bsrc=[\"']?([^\"'\s>]+)|<link\b([^>]*)>")
_HREF = re.compile(r"href=[\"']?([^\"'\s>]+)")
_IN_STYLE = re.compile(r"url\([\"']?(https?:)?//|@import")


@each("path", documents())
def test_every_link_leads_somewhere(path: Path) -> None:
    assert list(broken(path)) == []


def test_a_link_to_nothing_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# A page\n\n[a](gone.md) [b](#nothing) [c](#a-page) `[d](code.md)`\n\n```\n[e](code.md)\n```\n")
    assert list(broken(page)) == ["gone.md: there is no such file", "#nothing: there is no such heading"]


@each(
    "heading, name",
    [
        ("`config.yaml`", "configyaml"),
        ("What it does, and why", "what-it-does-and-why"),
        ("modal, daytona, vercel", "modal-daytona-vercel"),
        ("The [policy](permissions.md)", "the-policy"),
        ("`tool_loop_guardrails`", "tool_loop_guardrails"),
    ],
)
def test_headings_have_the_names_that_the_generator_gives_them(heading: str, name: str) -> None:
    assert anchor(heading) == name


def test_every_page_is_in_the_navigation_once() -> None:
    assert sorted(in_navigation()) == [str(path.relative_to(DOCS)) for path in pages()]


def test_every_picture_is_there_and_used() -> None:
    used = {
        (page.parent / target).resolve()
        for page in pages()
        for is_picture, target in links(page.read_text(encoding="utf-8"))
        if is_picture
    }
    assert used == {path.resolve() for path in (DOCS / "pictures").iterdir()}


@each("path", documents())
def test_nobody_is_told_to_install_what_is_not_published(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    told = re.findall(r"uvx hermes\S*|(?:pip|pipx|uv tool) install [^`\n]*hermes\S*", text)
    assert [line for line in told if "/hermes" not in line] == []  # a wheel's file is there


@pytest.mark.long
def test_the_site_is_built_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    pytest.importorskip("zensical", reason="the generator is not installed (the extra dev)")
    shutil.copytree(DOCS, tmp_path / "docs")
    shutil.copy(SITE, tmp_path)
    built = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr

    site = tmp_path / "html"
    for page in pages():
        name = page.relative_to(DOCS).with_suffix(".html")
        assert (site / (name.with_name("index.html") if page.name == "README.md" else name)).is_file(), name
    assert {loaded for page in site.rglob("*.html") for loaded in _loads(page.read_text(encoding="utf-8"))} == set()
    assert [style.name for style in site.rglob("*.css") if _IN_STYLE.search(style.read_text(encoding="utf-8"))] == []


def _loads(page: str) -> list[str]:
    """What a browser would fetch from another host to show the page."""
    found: list[str] = []
    for source, link in _LOADED.findall(page):
        target = source or next(iter(_HREF.findall(link)), "")
        if target.startswith(("http:", "https:", "//")):
            found.append(target)
    return found
