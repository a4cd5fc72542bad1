"""Reads a patch in the V4A format. What can mean one thing only is taken as that; the rest is an error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from tools.errors import ToolError
from tools.light_dataclass import dataclass
from tools.patching.hunk_parsing import parse_hunks
from tools.patching.paths import FILE_HEADER, MOVE_HEADER, named
from tools.patching.unwrapping import BEGIN, END, NumberedLine, unwrapped
from tools.patching.v4a import AddFile, DeleteFile, Operation, PatchUnreadable, UpdateFile, quoted

_HUNK_SIGNS = ("+", "-", " ", "@@")
_NO_NEWLINE = "\\ No newline"


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
            _check_path(current)
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


def _check_path(section: _Section) -> None:
    if not section.path:
        raise PatchUnreadable(section.at, "the path is missing.")


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
