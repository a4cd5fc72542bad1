"""Finds `@path` in a rules file: other files that it wants read along."""

from __future__ import annotations

import re
from collections.abc import Iterator

_MENTION = re.compile(r"(?<![\w@/.`\\+-])@((?:~/|\.{1,2}/|/)?[\w.-][\w./~+-]{0,250})")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_CODE_SPAN = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


def mentions_in(text: str) -> Iterator[str]:
    """The paths, as they are written, in order and each once. What stands in code, or in a comment, is none."""
    seen: set[str] = set()
    for line in _prose(_COMMENT.sub("", text)):
        for found in _MENTION.finditer(_CODE_SPAN.sub(" ", line)):
            path = found[1].rstrip(".")
            # A name without a dot or a slash is a person's, as @someone.
            if path not in seen and ("." in path or "/" in path):
                seen.add(path)
                yield path


def _prose(text: str) -> Iterator[str]:
    """The lines outside of code blocks."""
    fence = ""
    for line in text.split("\n"):
        opened = _FENCE.match(line)
        if fence:
            if opened and opened[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence = ""
            continue
        if opened:
            fence = opened[1]
        elif not line.startswith(("    ", "\t")) or line.lstrip().startswith(("-", "*", "@")):
            yield line
