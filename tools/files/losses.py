"""Refuses new texts that would lose lines which nobody meant to delete."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tools.errors import ToolError
from tools.files.seen import Lines, SeenFile
from tools.text.elisions import Elision, elision_in

_SHORT_FILE = 50
"""Lines; a shorter file is read whole, as a rule, and quickly written again."""
_MAX_RANGES = 5
_MAX_SHOWN_CHARS = 80


class TextLost(ToolError):
    """A new text would lose lines of the old one that its author does not know, or meant to keep."""


def check_elisions(name: str, path: Path, before: str, after: str, *, whole: bool) -> None:
    """Refuse a line like `# ... existing code ...` in the place of the lines that it stands for.

    Args:
        name: the file's, for messages.
        whole: `after` was sent as the file's whole text, not made by changing a part.

    Raises:
        TextLost: there is one.
    """
    if (elision := elision_in(before, after, path.suffix)) is not None:
        raise TextLost(_elided(elision, name, whole=whole))


def check_unread(name: str, path: Path, before: str, after: str, known: SeenFile | None) -> None:
    """Refuse a text less than half as long as the file that it replaces, where lines vanish that nobody has read.

    Raises:
        TextLost: there are such lines. The text says which, and how to go on.
    """
    old, new = (text.removesuffix("\n").split("\n") for text in (before, after))
    # A notebook's lines are not those that read_file shows of it.
    if known is None or known.whole or len(old) < _SHORT_FILE or path.suffix.lower() == ".ipynb":
        return
    if 2 * len(new) >= len(old):
        return
    unread = known.unread(len(old))
    there = Counter(map(str.strip, new))
    lines = (line.strip() for first, last in unread for line in old[first - 1 : last])
    if any(line and not there[line] for line in lines):
        raise TextLost(_unread(name, unread, len(old), len(new)))


def _elided(elision: Elision, name: str, *, whole: bool) -> str:
    count = f"{elision.lost} line{'' if elision.lost == 1 else 's'}"
    shown = elision.text if len(elision.text) <= _MAX_SHOWN_CHARS else f"{elision.text[:_MAX_SHOWN_CHARS]}…"
    what = f"What you send is written as it is: the line `{shown}`"
    meant = "If that line itself belongs in the file, add it with a patch that removes nothing."
    if whole:
        return (
            f"{what} (line {elision.line} of content) would replace {count} of {name}. Nothing was written. "
            f"To change a part of the file use patch; to replace all of it send its whole text. {meant}"
        )
    return (
        f"{what} would replace {count} of {name}. Nothing was changed. Patch only the lines that change, and write "
        f"out those that stay between them. {meant}"
    )


def _unread(name: str, unread: Sequence[Lines], old: int, new: int) -> str:
    ranges = [f"{first}–{last}" if first < last else str(first) for first, last in unread[:_MAX_RANGES]]
    more = " …" if len(unread) > _MAX_RANGES else ""
    return (
        f"You have not read lines {', '.join(ranges)}{more} of {name}, and the {new} lines that you sent in place of "
        f"its {old} would lose them. Nothing was written. Read them first (read_file with offset={unread[0][0]}), or "
        "change a part of the file with patch. If all of it may go, delete the file first."
    )
