"""Globs as ripgrep and `.gitignore` mean them, as regular expressions.

`*` and `?` stop at a slash, `**` does not, `{a,b}` are alternatives, `[a-z]` and `[!a-z]` classes, a backslash takes
the meaning away. https://git-scm.com/docs/gitignore
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence


class GlobError(ValueError):
    """A glob that is not well formed."""


MOST_CHOICES = 256
_OF_NAMES = re.compile(r"[\[\]{},]")
# What may be a part of a name: everything but stars, and braces that hold no choice.
_IN_NAMES = re.compile(r"\\.|[\[\]{},]", re.DOTALL)
_LIKE_NAMES = re.compile(r"\\.|[\[\]]|\{[^{},\[\]]*\}", re.DOTALL)


def translate(glob: str) -> str:
    """The expression for a whole path, without a slash in front. None takes long, whatever the glob and the path.

    Raises:
        GlobError
    """
    return "|".join(f"(?:{_expression(_tokens(form, glob))})" for form in spread(glob))


def split(text: str) -> list[str]:
    """The globs of a list with commas, at least one; a comma in brackets, in braces, behind a backslash is no end."""
    found = [text[start:end].strip() for start, end in _between(text, 0, len(text))]
    return [text] if len(found) == 1 else [glob for glob in found if glob] or [text]


def spread(glob: str) -> list[str]:
    """The globs without braces that a glob with braces stands for.

    Raises:
        GlobError: a brace has no partner, or there are too many choices.
    """
    if glob.count("{") > MOST_CHOICES:
        raise GlobError(f"the glob '{glob[:40]}…' has more than {MOST_CHOICES} braces")
    begin = end = -1
    depth = 0
    for at, sign in _signs(glob):
        if sign == "{":
            begin, depth = (at if begin < 0 else begin), depth + 1
        elif sign == "}":
            depth -= 1
            if depth < 0:
                raise GlobError(f"error parsing glob '{glob}': unopened alternate group; missing '{{'")
            end = at if not depth and end < 0 else end
    if depth:
        raise GlobError(f"error parsing glob '{glob}': unclosed alternate group; missing '}}'")
    if begin < 0:
        return [glob]
    forms: list[str] = []
    for start, stop in _between(glob, begin + 1, end):
        forms += spread(f"{glob[:begin]}{glob[start:stop]}{glob[end + 1 :]}")
        if len(forms) > MOST_CHOICES:
            raise GlobError(f"the glob '{glob}' stands for more than {MOST_CHOICES} others")
    return forms


def _signs(glob: str) -> Iterator[tuple[int, str]]:
    """The characters that mean something, with their places: none behind a backslash or in a class."""
    at = 0
    while at < len(glob):
        if glob[at] == "\\" and at + 1 < len(glob):
            at += 1
        elif glob[at] == "[":
            yield at, "["
            closing = glob.find("]", at + 2)
            at = at if closing < 0 else closing
        else:
            yield at, glob[at]
        at += 1


def _between(glob: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """What the commas between two places divide; those in braces belong to a part."""
    depth = 0
    for at, sign in _signs(glob[:end]):
        if at < start:
            continue
        depth += (sign == "{") - (sign == "}")
        if sign == "," and depth <= 0:
            yield start, at
            start = at + 1
    yield start, end


_STAR, _FOLDERS, _REST = "*", "**/", "**"


def _tokens(form: str, glob: str) -> list[str]:
    """Stars, and the expressions of what lies between them, each for one character."""
    found: list[str] = []
    at = 0
    while at < len(form):
        sign = form[at]
        at += 1
        if sign == "\\" and at < len(form):
            found.append(re.escape(form[at]))
            at += 1
        elif sign == "*":
            start = at - 1
            while at < len(form) and form[at] == "*":
                at += 1
            token = _stars(form, start, at)
            at += token == _FOLDERS
            found.append(token)
        elif sign == "[":
            piece, at = _class(form, at, glob)
            found.append(piece)
        else:
            found.append("[^/]" if sign == "?" else re.escape(sign))
    return found


def _stars(form: str, start: int, end: int) -> str:
    at_part = start == 0 or form[start - 1] == "/"
    if form[start:end] != "**" or not at_part or (end < len(form) and form[end] != "/"):
        return _STAR
    return _REST if end == len(form) else _FOLDERS


def _expression(tokens: Sequence[str]) -> str:
    """The tokens as one expression. Where a star is followed by another, the first place will do: so nothing that
    has matched is tried again, and the time is bounded.
    """
    if _FOLDERS in tokens:
        at = tokens.index(_FOLDERS)
        before, after = tokens[:at], tokens[at + 1 :]
        if _FOLDERS not in after:
            return f"{_expression(before)}(?:.*/)?{_expression(after)}"
        end = after.index(_FOLDERS)
        return f"{_expression(before)}(?>(?:[^/]*/)*?{_expression(after[:end])}){_expression(after[end:])}"
    out: list[str] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        at += 1
        if token == _STAR:
            end = next(
                (place for place in range(at, len(tokens)) if tokens[place] in {_STAR, _REST, "/"}), len(tokens)
            )
            chunk = "".join(tokens[at:end])
            is_last = end == len(tokens) or tokens[end] != _STAR
            out.append(f"[^/]*{chunk}" if is_last else f"(?>[^/]*?{chunk})")
            at = end
        else:
            out.append(".*" if token == _REST else token)
    return "".join(out)


def _class(form: str, at: int, glob: str) -> tuple[str, int]:
    """The class that begins behind the bracket, and where the glob goes on."""
    negated = form[at : at + 1] in {"!", "^"} and form[at : at + 1] != ""
    start = at + negated
    end = form.find("]", start + 1)
    if end < 0:
        raise GlobError(f"error parsing glob '{glob}': unclosed character class; missing ']'")
    inside = form[start:end]
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


class Wanted:
    """Some globs that a search is narrowed by: one of them has to match, and none that excludes may.

    Raises:
        GlobError
    """

    def __init__(self, globs: Iterable[str]) -> None:
        patterns = [NamePattern(glob) for glob in globs]
        self._including = [pattern for pattern in patterns if not pattern.excludes]
        self._excluding = [pattern for pattern in patterns if pattern.excludes]

    def matches(self, name: str) -> bool:
        """Whether the file `name`, relative, is wanted."""
        if self._including and not any(pattern.matches(name) for pattern in self._including):
            return False
        return all(pattern.matches(name) for pattern in self._excluding)


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


def settled(text: str, listed: Callable[[], Iterable[str]]) -> tuple[str, ...]:
    """The globs that `text` stands for, those that exclude last.

    A name that exists goes before a pattern: `app/[slug]/page.tsx` is that file where there is one.

    Args:
        listed: the files that there are, as `./a/b`: a name that is one of them goes before a pattern.
    """
    whole = _IN_NAMES.sub(_escaped, text)
    if whole == text:
        return (text,)
    # No other name can be what is written.
    names = [name for name in listed() if _OF_NAMES.search(name)]
    if _fits(whole, names):
        return (whole,)
    globs = [_named_or_meant(part, names) for part in split(text)]
    return tuple(sorted(globs, key=lambda glob: glob.startswith("!")))


def _named_or_meant(part: str, names: Sequence[str]) -> str:
    """The glob, with its braces and brackets as parts of a name where there is such a file."""
    excludes, glob = part.startswith("!"), part.removeprefix("!")
    for pattern in (_IN_NAMES, _LIKE_NAMES):
        literal = pattern.sub(_escaped, glob)
        if literal != glob and _fits(literal, names):
            return "!" * excludes + literal
    return part


def _fits(glob: str, names: Iterable[str]) -> bool:
    pattern = NamePattern(glob.removeprefix("!"))
    return any(map(pattern.matches, names))


def _escaped(found: re.Match[str]) -> str:
    text = found[0]
    if text.startswith("\\"):
        return text
    return f"\\{text[:-1]}\\}}" if len(text) > 1 else f"\\{text}"
