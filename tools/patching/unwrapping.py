"""Takes a patch out of what some models put around it: Markdown fences, heredocs, the headers of unified diffs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tools.patching.paths import FILE_HEADER, NEW_NAME, OLD_NAME, diff_name

BEGIN = re.compile(r"\*\*\*\s*Begin\s+Patch\s*", re.IGNORECASE)
END = re.compile(r"\*\*\*\s*End\s+Patch\s*", re.IGNORECASE)

_FENCE = re.compile(r"\s*(?:```|~~~).*")
_HEREDOC = re.compile(r".*<<-?\s*(['\"]?)(\w+)\1.*")

NumberedLine = tuple[int, str]
"""A line of the patch with its number (1-based)."""


def unwrapped(patch: str) -> list[NumberedLine]:
    """The lines of a patch from its first header on, without line endings and without what is around it."""
    lines = [line.removesuffix("\r") for line in patch.removeprefix("\ufeff").split("\n")]
    numbered = _dedented(list(enumerate(lines, 1)))
    first = next((index for index, (_, line) in enumerate(numbered) if BEGIN.fullmatch(line.strip())), None)
    before = numbered[: first or 0]
    if first is None:
        before = [each for each in numbered if _HEREDOC.fullmatch(each[1])][:1]
        numbered = _without_opening(numbered)
    numbered = _without_closing(numbered[first or 0 :], before)
    if any(FILE_HEADER.fullmatch(line.strip()) for _, line in numbered):
        return numbered
    return list(_from_unified(numbered))


def _dedented(lines: list[NumberedLine]) -> list[NumberedLine]:
    """The lines without the indentation that all of them have, from the beginning of the patch on."""
    start = next((line for _, line in lines if line.lstrip().startswith("***")), "")
    indent = start[: len(start) - len(start.lstrip())]
    if not indent or any(line.strip() and not line.startswith(indent) for _, line in lines):
        return lines
    return [(number, line[len(indent) :]) for number, line in lines]


def _without_opening(lines: list[NumberedLine]) -> list[NumberedLine]:
    for index, (_, line) in enumerate(lines):
        if line.strip() and not _FENCE.fullmatch(line) and not _HEREDOC.fullmatch(line):
            return lines[index:]
    return []


def _without_closing(lines: list[NumberedLine], before: list[NumberedLine]) -> list[NumberedLine]:
    """The lines up to the last header or hunk line; an end mark that is indented is one all the same."""
    words = {found[2] for _, line in before if (found := _HEREDOC.fullmatch(line))}
    rest = list(lines)
    while rest and (not rest[-1][1].strip() or _FENCE.fullmatch(rest[-1][1]) or rest[-1][1].strip() in words):
        rest.pop()
    if rest and END.fullmatch(rest[-1][1].strip()):
        rest[-1] = rest[-1][0], rest[-1][1].strip()
    return rest


def _from_unified(lines: list[NumberedLine]) -> Iterator[NumberedLine]:
    """The lines with the headers of a unified diff made those of V4A, where there are any."""
    skip = 0
    for index, (number, line) in enumerate(lines):
        if skip:
            skip -= 1
            continue
        following = lines[index + 1][1] if index + 1 < len(lines) else ""
        if OLD_NAME.fullmatch(line) and NEW_NAME.fullmatch(following):
            skip = 1
            yield from _headers(number, diff_name(line, OLD_NAME), diff_name(following, NEW_NAME))
        elif not line.startswith(("diff --git ", "index ", "new file mode ", "deleted file mode ")):
            yield number, line


def _headers(number: int, old: str | None, new: str | None) -> Iterator[NumberedLine]:
    if old is None:
        yield number, f"*** Add File: {new}"
    elif new is None:
        yield number, f"*** Delete File: {old}"
    else:
        yield number, f"*** Update File: {old}"
        if old != new:
            yield number + 1, f"*** Move to: {new}"
