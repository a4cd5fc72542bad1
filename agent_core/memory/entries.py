"""The text of a memory file: entries between lines that hold only `§`. What is not changed stays, byte for byte."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from tools.light_dataclass import dataclass
from tools.memory_port import MemoryOperation, MemoryRefused

SIGN = "§"
_BETWEEN = f"\n{SIGN}\n"
_SEPARATOR = re.compile(rf"^[ \t\ufeff]*{SIGN}[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_BLANK = " \t\r\n\v\f\ufeff"
_MOST_SHOWN = 100


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry and where it stands in the file's text."""

    text: str
    start: int
    end: int


def entries_of(text: str) -> tuple[Entry, ...]:
    """The entries of a file's text, in order; empty ones are none."""
    separators = [found.span() for found in _SEPARATOR.finditer(text)]
    edges = [(0, 0), *separators, (len(text), len(text))]
    found = []
    for (_, begin), (end, _) in pairwise(edges):
        piece = text[begin:end]
        inner = piece.strip(_BLANK)
        if inner:
            start = begin + len(piece) - len(piece.lstrip(_BLANK))
            found.append(Entry(inner.replace("\r\n", "\n"), start, start + len(inner)))
    return tuple(found)


def used(entries: Sequence[Entry] | Sequence[str]) -> int:
    """How many characters the entries are, with what stands between them."""
    return len(_BETWEEN.join(each.text if isinstance(each, Entry) else each for each in entries))


def changed(text: str, operations: Sequence[MemoryOperation]) -> str:
    """The text after a batch; each step sees what those before it did.

    Raises:
        MemoryRefused: a step cannot be done.
    """
    for number, operation in enumerate(operations, 1):
        try:
            text = _step(text, operation)
        except MemoryRefused as problem:
            where = f"Operation {number} of {len(operations)}: " if len(operations) > 1 else ""
            raise MemoryRefused(f"{where}{problem} Nothing was changed.") from problem
    return text


def _step(text: str, operation: MemoryOperation) -> str:
    entries = entries_of(text)
    if operation.action == "add":
        if any(_same(entry.text, operation.content) for entry in entries):
            return text
        return _added(text, entries, operation.content)
    at = _meant(entries, operation.old_text)
    if operation.action == "remove" or any(
        _same(entry.text, operation.content) for entry in entries if entry is not entries[at]
    ):
        return _without(text, entries, at)
    return text[: entries[at].start] + _written(operation.content, text) + text[entries[at].end :]


def _added(text: str, entries: Sequence[Entry], content: str) -> str:
    if not entries:
        return f"{text}{chr(10) if text and not text.endswith(chr(10)) else ''}{content}\n"
    end = entries[-1].end
    line = "\r\n" if "\r\n" in text else "\n"
    return f"{text[:end]}{line}{SIGN}{line}{_written(content, text)}{text[end:]}"


def _without(text: str, entries: Sequence[Entry], at: int) -> str:
    if at + 1 < len(entries):
        return text[: entries[at].start] + text[entries[at + 1].start :]
    if at:
        return text[: entries[at - 1].end] + text[entries[at].end :]
    return text[: entries[at].start] + text[entries[at].end :]


def _meant(entries: Sequence[Entry], old_text: str) -> int:
    wanted = old_text.replace("\r\n", "\n").strip()
    if not wanted:
        raise MemoryRefused("old_text is missing: give a part of the entry that is meant.")
    whole = [at for at, entry in enumerate(entries) if entry.text == wanted]
    found = whole or [at for at, entry in enumerate(entries) if wanted in entry.text]
    # Of entries that are the same, it does not matter which.
    if len({entries[at].text for at in found}) == 1:
        return found[0]
    if found:
        shown = listed([entries[at].text for at in found])
        raise MemoryRefused(f"{len(found)} entries hold {wanted!r}: give more of the one that is meant.\n{shown}\n")
    if not entries:
        raise MemoryRefused("There are no entries yet.")
    shown = listed([entry.text for entry in entries])
    raise MemoryRefused(f"No entry holds {wanted!r}. There are:\n{shown}\n")


def listed(texts: Sequence[str]) -> str:
    """Entries in a message, one a line, cut where they are long."""
    return "\n".join(f"- {_short(text)}" for text in texts)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MOST_SHOWN else f"{line[: _MOST_SHOWN - 1]}…"


def _same(one: str, other: str) -> bool:
    return " ".join(one.split()) == " ".join(other.split())


def _written(content: str, text: str) -> str:
    return content.replace("\n", "\r\n") if "\r\n" in text else content
