"""What a query means in options of `rg`. `python_search.options` knows the same ones."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tools.ports import SearchQuery
from tools.text.globs import spread

_NO_GIT = ("--glob", "!.git")
# A line break, or an escape for one.
_LINE_BREAK = re.compile(r"\n|(?<!\\)(?:\\\\)*\\n")
_CARRIAGE_RETURN = re.compile(r"\r|(?<!\\)(?:\\\\)*\\r")
# A search across lines needs the whole file in memory.
_WHOLE_FILES = ("--multiline", "--max-filesize=64M")
# `\n` outside of [ ] stands for the break of either kind of line.
_PIECES = re.compile(r"\\n|\n|\\.|\[\^?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\]|.", re.DOTALL)
_EITHER_BREAK = r"(?:\r?\n)"


def spans_lines(query: SearchQuery) -> bool:
    """Whether a match may be longer than a line: asked for, or the pattern holds a line break."""
    text = "\n" in query.pattern if query.fixed else _LINE_BREAK.search(query.pattern) is not None
    return query.multiline or text


def pattern(query: SearchQuery) -> tuple[str, ...]:
    """The pattern, and how it is meant."""
    spans = spans_lines(query)
    names_return = "\r" in query.pattern if query.fixed else _CARRIAGE_RETURN.search(query.pattern) is not None
    text, fixed = query.pattern, query.fixed
    if spans and not names_return:
        text, fixed = (_regex_of(text) if fixed else _breaks_of_either_kind(text)), False
    options = ["--engine=auto", "--regexp", text]
    if not names_return:
        options.append("--crlf")
    if fixed:
        options.append("--fixed-strings")
    if query.ignore_case:
        options.append("--ignore-case")
    if spans:
        options.extend(_WHOLE_FILES)
    if query.multiline:
        options.append("--multiline-dotall")
    return tuple(options)


def everywhere(query: SearchQuery) -> tuple[str, ...]:
    """Which files are looked at, whatever the pattern."""
    return ("--no-ignore", *_NO_GIT) if query.include_ignored else _NO_GIT


def narrowing(query: SearchQuery, globs: Sequence[str]) -> tuple[str, ...]:
    """Only files of a type, or with one of the globs."""
    kind = ("--type", query.type) if query.type else ()
    return (*kind, *(word for glob in globs for word in ("--glob", glob)))


def plain(glob: str) -> list[str]:
    """The same for `rg` without braces, of which it passes over empty choices, and without a `#` that begins a note.

    Raises:
        GlobError
    """
    excludes, bare = glob.startswith("!"), glob.removeprefix("!")
    # Of `{a/b,c}` neither is meant at any depth.
    root = "/" if "/" in bare.removesuffix("/") else ""
    forms = [root * ("/" not in form.removesuffix("/")) + form for form in spread(bare) if form]
    return [f"!{form}" if excludes else re.sub(r"\A#", r"\#", form) for form in forms]


def overrides(globs: Sequence[str]) -> bool:
    """Whether the globs bring back what is ignored: those that exclude do not."""
    return not all(glob.startswith("!") for glob in globs)


def _breaks_of_either_kind(regex: str) -> str:
    return _PIECES.sub(lambda piece: _EITHER_BREAK if piece[0] in {"\n", r"\n"} else piece[0], regex)


def _regex_of(text: str) -> str:
    return _EITHER_BREAK.join(re.sub(r"[\\.+*?()|\[\]{}^$#&~-]", r"\\\g<0>", line) for line in text.split("\n"))
