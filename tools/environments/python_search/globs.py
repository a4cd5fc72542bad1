"""Globs as ripgrep and `.gitignore` mean them, as regular expressions.

`*` and `?` stop at a slash, `**` does not, `{a,b}` are alternatives, `[a-z]` and `[!a-z]` classes, a backslash takes
the meaning away. https://git-scm.com/docs/gitignore
"""

from __future__ import annotations

import re
from collections.abc import Iterable


class GlobError(ValueError):
    """A glob that is not well formed."""


def translate(glob: str) -> str:
    """The expression for a whole path, without a slash in front.

    Raises:
        GlobError
    """
    out: list[str] = []
    depth = at = 0
    while at < len(glob):
        char = glob[at]
        at += 1
        if char == "\\" and at < len(glob):
            out.append(re.escape(glob[at]))
            at += 1
        elif char == "*":
            stars = at
            while at < len(glob) and glob[at] == "*":
                at += 1
            piece, at = _stars(glob, stars - 1, at)
            out.append(piece)
        elif char == "[":
            piece, at = _class(glob, at)
            out.append(piece)
        else:
            depth += (char == "{") - (char == "}")
            if depth < 0:
                raise GlobError(f"error parsing glob '{glob}': unopened alternate group; missing '{{'")
            out.append({"?": "[^/]", "{": "(?:", "}": ")"}.get(char) or _plain(char, depth))
    if depth:
        raise GlobError(f"error parsing glob '{glob}': unclosed alternate group; missing '}}'")
    return "".join(out)


def _plain(char: str, depth: int) -> str:
    return "|" if char == "," and depth else re.escape(char)


def _stars(glob: str, start: int, end: int) -> tuple[str, int]:
    """What the stars from `start` to `end` mean, and where the glob goes on."""
    at_part = start == 0 or glob[start - 1] == "/"
    if glob[start:end] != "**" or not at_part or (end < len(glob) and glob[end] != "/"):
        return "[^/]*", end
    if end == len(glob):
        return ".*", end
    return "(?:.*/)?", end + 1


def _class(glob: str, at: int) -> tuple[str, int]:
    """The class that begins behind the bracket, and where the glob goes on."""
    negated = glob[at : at + 1] in {"!", "^"} and glob[at : at + 1] != ""
    start = at + negated
    end = glob.find("]", start + 1)
    if end < 0:
        raise GlobError(f"error parsing glob '{glob}': unclosed character class; missing ']'")
    inside = glob[start:end]
    escaped = re.sub(r"[\\\[\]^&~|]", r"\\\g<0>", inside)
    try:
        re.compile(f"[{escaped}]")
    except re.error as problem:
        raise GlobError(f"error parsing glob '{glob}': {problem}") from problem
    return f"(?!/)[{'^' if negated else ''}{escaped}]", end + 1


class Rules:
    """The lines of one ignore file; the last that matches decides."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._rules: list[tuple[re.Pattern[str], bool, bool]] = []
        expressions: list[str] = []
        for line in lines:
            if rule := _rule(line):
                expression, brings_back, only_folders = rule
                expressions.append(expression)
                self._rules.append((re.compile(expression, re.DOTALL), brings_back, only_folders))
        self._any = re.compile("|".join(f"(?:{expression})" for expression in expressions), re.DOTALL)

    def __bool__(self) -> bool:
        return bool(self._rules)

    def ignores(self, path: str, is_folder: bool) -> bool | None:
        """Whether `path`, relative to the file's folder, is left out; None when no line is about it."""
        if not self._any.fullmatch(path):
            return None
        for expression, brings_back, only_folders in reversed(self._rules):
            if (is_folder or not only_folders) and expression.fullmatch(path):
                return not brings_back
        return None


def _rule(line: str) -> tuple[str, bool, bool] | None:
    if line.startswith("#"):
        return None
    if not line.endswith("\\ "):
        line = line.rstrip()
    brings_back = line.startswith("!")
    line = line[1:] if brings_back or line.startswith(("\\!", "\\#")) else line
    only_folders = line.endswith("/")
    line = line.removesuffix("/")
    if not line:
        return None
    glob = line.removeprefix("/")
    if "/" not in line and not line.startswith("**/"):
        glob = f"**/{glob}"
    if glob.endswith("/**"):
        glob += "/*"
    try:
        return translate(glob), brings_back, only_folders
    except (GlobError, re.error):
        return None  # git passes over it, too


class NamePattern:
    """One glob that a search is narrowed by; with `!` in front it is for the others.

    Raises:
        GlobError
    """

    def __init__(self, glob: str) -> None:
        self.excludes = glob.startswith("!")
        bare = glob[1:] if self.excludes else glob
        translate(bare)
        self._rules = Rules([f"\\{bare}" if bare.startswith(("!", "#")) else bare])

    def decides(self, path: str, is_folder: bool) -> bool:
        """Whether the glob is about this path itself."""
        return self._rules.ignores(path, is_folder) is True

    def matches(self, name: str) -> bool:
        """Whether the file `name`, relative (`./` in front counts for nothing), is one of those wanted."""
        path = name.removeprefix("./")
        if not self.excludes:
            return self.decides(path, is_folder=False)
        ends = [at for at, char in enumerate(path) if char == "/"]
        return not self.decides(path, is_folder=False) and not any(self.decides(path[:end], True) for end in ends)
