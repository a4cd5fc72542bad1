"""Code fences in Markdown: long enough for what is in them, and closed where a text left one open."""

from __future__ import annotations

import re

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)$")
_LEAST = 3


def fenced(content: str, info: str = "") -> str:
    """`content` as a code block that nothing in it can end."""
    longest = max((len(run) for run in re.findall(r"`{3,}", content)), default=_LEAST - 1)
    fence = "`" * (longest + 1)
    return f"{fence}{info}\n{content.rstrip(chr(10))}\n{fence}"


def closed(markdown: str) -> str:
    """`markdown` with the closing fence that it lacks, so that what follows is no part of its last code block."""
    open_fence = ""
    for line in markdown.splitlines():
        found = _FENCE.match(line)
        if found is None:
            continue
        mark, info = found[1], found[2]
        if not open_fence:
            open_fence = mark if mark[0] == "~" or "`" not in info else ""
        elif mark[0] == open_fence[0] and len(mark) >= len(open_fence) and not info.strip():
            open_fence = ""
    return f"{markdown.rstrip(chr(10))}\n{open_fence}" if open_fence else markdown
