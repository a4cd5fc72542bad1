"""A page's accessibility tree as models read it: short, bounded, with a reference where something can be done."""

from __future__ import annotations

import re
from collections.abc import Collection

from tools.light_dataclass import dataclass

_REF = re.compile(r" \[ref=([\w]+)\]")
_POINTER = " [cursor=pointer]"
_LINE = re.compile(r"^(\s*)- (\S+)(.*)$")
_GIVEN = re.compile(r"^@?((?:f\d+)?e\d+)$")
_VALUE = re.compile(r"(\[ref=(\w+)\][^:]*): .*$")
_MAX_LINE = 300
_INTERACTIVE = frozenset(
    {
        "button",
        "checkbox",
        "combobox",
        "gridcell",
        "link",
        "listbox",
        "menuitem",
        "menuitemcheckbox",
        "menuitemradio",
        "option",
        "radio",
        "scrollbar",
        "searchbox",
        "slider",
        "spinbutton",
        "switch",
        "tab",
        "textbox",
        "treeitem",
    }
)
# They say nothing by themselves.
_BARE = frozenset({"generic", "generic:"})


@dataclass(frozen=True, slots=True)
class Outline:
    """An outline, and how many lines of it were left out at the end."""

    text: str
    left_out: int


def ref_of(given: str) -> str | None:
    """The driver's name of an element for a reference as models write it: `@e12`, `e12`; None when it is none."""
    found = _GIVEN.match(given.strip())
    return found[1] if found else None


def fields_with_values(tree: str) -> tuple[str, ...]:
    """The driver's names of the fields that hold something."""
    fields = (line.strip() for line in tree.splitlines())
    return tuple(found[2] for line in fields if line.startswith("- textbox") and (found := _VALUE.search(line)))


def outline(tree: str, max_chars: int, secret: Collection[str] = ()) -> Outline:
    """The driver's tree (YAML, one element a line) shortened to at most `max_chars`, cut at a line.

    Args:
        secret: names of fields whose content is not shown.
    """
    lines = [line for raw in tree.splitlines() if (line := _told(raw, secret)) is not None]
    size = 0
    for number, line in enumerate(lines):
        size += len(line) + 1
        if size > max_chars:
            return Outline("\n".join(lines[:number]), len(lines) - number)
    return Outline("\n".join(lines), 0)


def _told(raw: str, secret: Collection[str]) -> str | None:
    found = _LINE.match(raw)
    if found is None:
        return raw[:_MAX_LINE]
    if (value := _VALUE.search(raw)) is not None and value[2] in secret:
        raw = f"{raw[: value.start()]}{value[1]}: ••••"
    role = found[2].rstrip(":")
    # Pages make buttons of anything by their style.
    usable = role in _INTERACTIVE or _POINTER in raw
    ref = _REF.search(raw)
    line = raw.replace(_POINTER, "")
    line = _REF.sub(f" @{ref[1]}" if usable and ref is not None else "", line, count=1)
    if line.strip().removeprefix("- ") in _BARE:
        return None
    return line if len(line) <= _MAX_LINE else f"{line[:_MAX_LINE]}…"
