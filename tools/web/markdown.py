"""HTML as Markdown: `page_cleaning` finds what the page is about, a library writes it. Imported only when needed."""

from __future__ import annotations

import importlib.util
import re

from tools.extras import install_line
from tools.web.port import WebError

_GAPS = re.compile(r"\n{3,}")
_FENCE = re.compile(r"^ *(`{3,}|~{3,}).*?^ *\1`*~* *$", re.MULTILINE | re.DOTALL)


def can_read_html() -> bool:
    """Whether the libraries are installed."""
    return all(importlib.util.find_spec(name) is not None for name in ("html_to_markdown", "lxml"))


def html_to_text(text: str, url: str) -> tuple[str, str]:
    """Title and Markdown of a page; `url` is where its relative links begin.

    Raises:
        WebError: the libraries are missing, or the page cannot be read.
    """
    if not can_read_html():
        raise WebError(
            "This is an HTML page, and the libraries that read it are missing. The user can install them: "
            f"{install_line('web')}",
            "answer",
        )
    import html_to_markdown  # noqa: PLC0415 - an extra

    from tools.web.page_cleaning import clean  # noqa: PLC0415 - needs lxml

    try:
        title, main = clean(text, url)
        options = html_to_markdown.ConversionOptions(
            extract_metadata=False, skip_images=True, compact_tables=True, expand_abbreviations=False, autolinks=False
        )
        converted = html_to_markdown.convert(main, options).content
    except (ValueError, RecursionError, html_to_markdown.ConversionError) as problem:
        raise WebError(f"The page cannot be read as HTML: {problem}.", "answer") from problem
    return title, _tightened(converted or "")


def _tightened(markdown: str) -> str:
    """Without blank lines that say nothing, but for those in code."""
    parts, end = [], 0
    for fence in _FENCE.finditer(markdown):
        parts += [_GAPS.sub("\n\n", markdown[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, _GAPS.sub("\n\n", markdown[end:])]).strip()
