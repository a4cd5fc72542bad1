"""Patches in the V4A format. What can mean one thing only is taken as that; the rest is an error."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Literal

from tools.errors import ToolError
from tools.light_dataclass import dataclass

# The paths that a call of `patch` works on, found without reading the patch.

FILE_HEADER = re.compile(r"\*\*\*\s*(Update|Add|Delete)\s+File\s*:\s*(.*?)\s*", re.IGNORECASE)
MOVE_HEADER = re.compile(r"\*\*\*\s*Move\s+to\s*:\s*(.*?)\s*", re.IGNORECASE)
NEW_NAME = re.compile(r"\+\+\+\s+(\S.*?)(?:\t.*)?")
OLD_NAME = re.compile(r"---\s+(\S.*?)(?:\t.*)?")

_QUOTES = "`'\""
_SIDE = re.compile(r"[ab]/")


def paths_of(arguments: Mapping[str, Any]) -> list[str]:
    """Every path that the arguments name, as they name it, in order and each once."""
    path, patch = arguments.get("path"), arguments.get("patch")
    found = [path] if isinstance(path, str) and path.strip() else []
    if not isinstance(patch, str):
        return found
    lines = [line.strip() for line in patch.split("\n")]
    for line in lines:
        if header := FILE_HEADER.fullmatch(line):
            found.append(named(header[2]))
        elif header := MOVE_HEADER.fullmatch(line):
            found.append(named(header[1]))
    if not any(FILE_HEADER.fullmatch(line) for line in lines):
        found += [name for line in lines if (name := diff_name(line, OLD_NAME) or diff_name(line, NEW_NAME))]
    return list(dict.fromkeys(name for name in found if name))


def named(name: str) -> str:
    """A path out of a header, without the quotes or stars that some models put around it."""
    name = name.removesuffix("***").strip()
    if len(name) > 1 and name[0] == name[-1] and name[0] in _QUOTES:
        name = name[1:-1].strip()
    return name


def diff_name(line: str, form: re.Pattern[str]) -> str | None:
    """The path in a header of a unified diff, without its `a/` or `b/`; None for another line and for `/dev/null`."""
    header = form.fullmatch(line)
    if header is None or header[1] == "/dev/null":
        return None
    return _SIDE.sub("", named(header[1]), count=1) if _SIDE.match(named(header[1])) else named(header[1])


# What a patch in the V4A format says: files to add, to delete, and to update hunk by hunk.

_MAX_QUOTED = 60


class PatchUnreadable(ToolError):
    """A line (1-based) of the patch cannot be read."""

    def __init__(self, at: int, what: str) -> None:
        super().__init__(f"Line {at} of the patch: {what} Nothing was changed.")


def quoted(line: str) -> str:
    """A line for a message, cut where it is long."""
    return repr(line if len(line) <= _MAX_QUOTED else f"{line[:_MAX_QUOTED]}…")


@dataclass(frozen=True, slots=True)
class HunkLine:
    """A line of a hunk: unchanged, taken out or put in. `text` is without the sign."""

    sign: Literal[" ", "-", "+"]
    text: str


@dataclass(frozen=True, slots=True)
class Hunk:
    """A change of some lines.

    Attributes:
        number: counted from 1 in its file.
        at: the line (1-based) of the patch where it begins.
        anchors: lines of the file that come before it, the outermost first.
        lines: what was there and what shall be there.
        is_at_end: it ends with the file (`*** End of File`).
        near: the line (1-based) where the header of a unified diff says that it begins; None in V4A.
        ends_bare: what it puts at the end of the file has no line ending.
    """

    number: int
    at: int
    anchors: tuple[str, ...]
    lines: tuple[HunkLine, ...]
    is_at_end: bool = False
    near: int | None = None
    ends_bare: bool = False

    def mapped(self, change: Callable[[str], str]) -> Hunk:
        """The hunk with each of its lines changed."""
        lines = tuple(HunkLine(line.sign, change(line.text)) for line in self.lines)
        return replace(self, anchors=tuple(map(change, self.anchors)), lines=lines)

    @property
    def old(self) -> list[str]:
        """The lines that the file has."""
        return [line.text for line in self.lines if line.sign != "+"]

    @property
    def new(self) -> list[str]:
        """The lines that it shall have."""
        return [line.text for line in self.lines if line.sign != "-"]

    @property
    def head(self) -> int:
        """How many unchanged lines come before the first change."""
        return next(index for index, line in enumerate(self.lines) if line.sign != " ")

    @property
    def tail(self) -> int:
        """How many unchanged lines come after the last change."""
        return next(index for index, line in enumerate(reversed(self.lines)) if line.sign != " ")


@dataclass(frozen=True, slots=True)
class AddFile:
    """A new file with all its text. `at` is the line of the patch."""

    path: str
    at: int
    text: str


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """A file to delete. `at` is the line of the patch."""

    path: str
    at: int


@dataclass(frozen=True, slots=True)
class UpdateFile:
    """A file to change, to move, or both. `at` is the line of the patch."""

    path: str
    at: int
    move_to: str | None
    hunks: tuple[Hunk, ...]


Operation = AddFile | DeleteFile | UpdateFile


# Takes a patch out of what some models put around it: Markdown fences, heredocs, the headers of unified diffs.

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


# Reads the hunks of one file out of a patch.

_END_OF_FILE = re.compile(r"\*\*\*\s*End\s+of\s+File\s*", re.IGNORECASE)
_UNIFIED = re.compile(r"@@\s*-(\d+)(?:,\d+)?\s+\+\d+(?:,\d+)?\s*@@(.*)")
_NO_NEWLINE = "\\ No newline"


def parse_hunks(lines: Sequence[NumberedLine]) -> list[Hunk]:
    """The hunks that change something, in order.

    Raises:
        ToolError: a line cannot be read; its number in the patch and why.
    """
    reader = _Reader()
    for index, (number, line) in enumerate(lines):
        following = lines[index + 1][1] if index + 1 < len(lines) else ""
        reader.read(number, line, following)
    reader.close()
    return reader.hunks


class _Reader:
    """Collects the lines of a hunk until the next begins."""

    def __init__(self) -> None:
        self.hunks: list[Hunk] = []
        self._count = 0
        self._skips = False
        self._reset()

    def _reset(self) -> None:
        self._at = 0
        self._anchors: list[str] = []
        self._near: int | None = None
        self._has_header = False
        self._lines: list[tuple[HunkLine, bool]] = []  # with whether it is an empty line without its sign
        self._is_at_end = False
        self._ends_bare = False

    def read(self, number: int, line: str, following: str) -> None:
        """Take the next line; `following` is the one after it."""
        if self._skips:
            self._skips = False
        elif line.startswith("@@"):
            self._header(number, line)
        elif _END_OF_FILE.fullmatch(line):
            self._is_at_end = True
            self.close()
        elif line.startswith(_NO_NEWLINE):
            self._ends_bare = bool(self._lines) and self._lines[-1][0].sign != "-"
        elif self._begins_unified(line, following):
            self._skips = line.startswith("--- ")
        elif not line.strip():
            # Editors and models drop the sign of an empty line.
            self._add(number, HunkLine(" ", line[1:]), is_unsigned=not line)
        else:
            self._add(number, _signed(number, line), is_unsigned=False)

    def close(self) -> None:
        """The hunk is complete."""
        lines = list(self._lines)
        # Empty lines around a hunk are there for the eye, unless they come after its header.
        while lines and lines[-1][1]:
            lines.pop()
        while lines and lines[0][1] and not self._has_header:
            lines.pop(0)
        if self._anchors and not lines:
            raise PatchUnreadable(self._at, f"a hunk without lines follows @@ {self._anchors[-1]}.")
        if lines:
            self._count += 1
        if any(line.sign != " " for line, _ in lines):
            hunk_lines = tuple(line for line, _ in lines)
            ends_bare = self._ends_bare and hunk_lines[-1].sign == "+"
            self.hunks.append(
                Hunk(self._count, self._at, tuple(self._anchors), hunk_lines, self._is_at_end, self._near, ends_bare)
            )
        self._reset()

    def _header(self, number: int, line: str) -> None:
        if self._lines:
            self.close()
        self._at = self._at or number
        self._has_header = True
        anchor = line[2:]
        if unified := _UNIFIED.fullmatch(line):
            self._near, anchor = int(unified[1]), unified[2]
        anchor = anchor.rstrip().removesuffix("@@").rstrip().removeprefix(" ")
        if anchor.strip():
            self._anchors.append(anchor)

    def _add(self, number: int, line: HunkLine, *, is_unsigned: bool) -> None:
        self._at = self._at or number
        self._lines.append((line, is_unsigned))

    def _begins_unified(self, line: str, following: str) -> bool:
        """Whether this is a header of a unified diff, which says nothing that is not known."""
        if self.hunks or self._lines or self._has_header:
            return False
        is_pair = line.startswith("--- ") and following.startswith("+++ ")
        return is_pair or line.startswith(("diff --git ", "index "))


def _signed(number: int, line: str) -> HunkLine:
    match line[0]:
        case " " | "-" | "+" as sign:
            return HunkLine(sign, line[1:])
    what = "is no header that there is" if line.startswith("***") else "has neither a space, - nor + before it"
    raise PatchUnreadable(
        number,
        f"{quoted(line)} {what}. In a hunk, unchanged lines begin with a space, lines to take out with -, new ones "
        "with +. Headers are *** Update File:, *** Add File:, *** Delete File: and *** Move to:.",
    )


# Reads a whole patch.

_HUNK_SIGNS = ("+", "-", " ", "@@")


@dataclass(slots=True)
class _Section:
    """A file's part of the patch: its header, and what stands below it."""

    kind: str
    path: str
    at: int
    body: list[NumberedLine] = field(default_factory=list)


def parse(patch: str, path: str = "") -> list[Operation]:
    """What a patch does, in order.

    Args:
        patch: the text, with or without a Markdown fence or heredoc around it.
        path: the file that hunks without a header belong to; '' for none.

    Raises:
        ToolError: it cannot be read; which line and why. One without its end mark may have been cut off.
    """
    lines = unwrapped(patch)
    if not any(line.strip() for _, line in lines):
        raise ToolError("The patch is empty. It begins with *** Begin Patch and *** Update File: path.")
    sections = _sections(lines, path)
    if not sections:
        raise ToolError(
            "The patch names no file: after *** Begin Patch comes *** Update File: path, *** Add File: path or "
            "*** Delete File: path. Nothing was changed."
        )
    return [_operation(section) for section in sections]


def _sections(lines: Sequence[NumberedLine], path: str) -> list[_Section]:
    sections: list[_Section] = []
    current: _Section | None = None
    has_ended = False
    for number, line in lines:
        # Only in a hunk does a space before a mark mean something.
        mark = line if current and current.kind == "update" else line.strip()
        if BEGIN.fullmatch(mark) or END.fullmatch(mark):
            current, has_ended = None, has_ended or END.fullmatch(mark) is not None
        elif header := FILE_HEADER.fullmatch(mark):
            current = _Section(header[1].lower(), named(header[2]), number)
            if not current.path:
                raise PatchUnreadable(number, "the path is missing.")
            sections.append(current)
        elif current is not None:
            current.body.append((number, line))
        elif path and not sections and line.startswith(_HUNK_SIGNS):
            current = _Section("update", path, number, [(number, line)])
            sections.append(current)
        else:
            _check_between(number, line, has_ended=has_ended)
    if current is not None:
        raise ToolError(
            f"The patch has no *** End Patch after its part for {current.path}: it may have been cut off. Nothing "
            "was changed. Send all of it again with *** End Patch as its last line; a long one in several patches."
        )
    return sections


def _check_between(number: int, line: str, *, has_ended: bool) -> None:
    """Refuse what would be lost: a hunk that belongs to no file, or a header that is none."""
    is_header = line.strip().startswith("***")
    if not line.strip() or (has_ended and not is_header and not line.startswith(_HUNK_SIGNS)):
        return
    raise PatchUnreadable(
        number,
        f"{quoted(line)} where a header is due: *** Update File: path, *** Add File: path or *** Delete File: path.",
    )


def _operation(section: _Section) -> Operation:
    if section.kind == "add":
        return AddFile(section.path, section.at, _new_text(section))
    if section.kind == "delete":
        _check_nothing_below(section)
        return DeleteFile(section.path, section.at)
    return _update(section)


def _update(section: _Section) -> UpdateFile:
    body: list[NumberedLine] = []
    move_to: str | None = None
    for number, line in section.body:
        if header := MOVE_HEADER.fullmatch(line if body else line.strip()):
            move_to = named(header[1])
            if not move_to:
                raise PatchUnreadable(number, "the path is missing.")
        else:
            body.append((number, line))
    hunks = parse_hunks(body)
    if not hunks and move_to is None:
        raise PatchUnreadable(
            section.at,
            f"there is nothing to change in {section.path}: lines with - are taken out, lines with + are put in.",
        )
    return UpdateFile(section.path, section.at, move_to, tuple(hunks))


def _new_text(section: _Section) -> str:
    """The text of a new file: lines with `+`, or all lines as they are where none has one."""
    body = list(section.body)
    while body and not body[-1][1].strip():
        body.pop()
    is_bare = bool(body) and body[-1][1].startswith(_NO_NEWLINE)
    if is_bare:
        body.pop()
    # A unified diff has a header there.
    body = [each for index, each in enumerate(body) if index or not each[1].startswith("@@")]
    if body and not any(line.startswith("+") for _, line in body):
        number, first = next(each for each in body if each[1].strip())
        if first.startswith(("***", "@@", "-", " ")):
            raise PatchUnreadable(number, _not_new(first))
        body = [(number, f"+{line}") for number, line in body]
    lines = []
    for number, line in body:
        if line and not line.startswith("+"):
            raise PatchUnreadable(number, _not_new(line))
        lines.append(line[1:])
    return "\n".join(lines) + ("" if is_bare or not lines else "\n")


def _not_new(line: str) -> str:
    return f"{quoted(line)} in a new file, each line of which begins with +."


def _check_nothing_below(section: _Section) -> None:
    # A unified diff repeats the lines of a file that it deletes.
    for number, line in section.body:
        if line.strip() and not line.startswith(("-", "@@", _NO_NEWLINE)):
            raise PatchUnreadable(number, f"{quoted(line)} below *** Delete File, which needs nothing more.")
