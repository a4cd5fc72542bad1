"""A compact unified diff of two texts, for the model to read."""

from __future__ import annotations

import difflib
from itertools import takewhile

_CONTEXT = 2
_MAX_COMPARED_LINES = 4000


def compact_diff(before: str, after: str, max_chars: int = 4000) -> str:
    """The changed lines with two lines around them, cut at `max_chars`."""
    old, new = before.splitlines(), after.splitlines()
    same_head = sum(1 for _ in takewhile(_same, zip(old, new, strict=False)))
    # Comparing only what lies between the equal ends keeps a small change in a long file cheap.
    head = max(0, same_head - _CONTEXT)
    rest = zip(reversed(old[same_head:]), reversed(new[same_head:]), strict=False)
    tail = max(0, sum(1 for _ in takewhile(_same, rest)) - _CONTEXT)
    old_part, new_part = old[head : len(old) - tail], new[head : len(new) - tail]
    if len(old_part) + len(new_part) > _MAX_COMPARED_LINES:
        return f"[{len(old_part)} lines from line {head + 1} became {len(new_part)}; too many to show]"
    return _cut("\n".join(_hunks(old_part, new_part, head)), max_chars)


def _same(pair: tuple[str, str]) -> bool:
    return pair[0] == pair[1]


def _hunks(old: list[str], new: list[str], shift: int) -> list[str]:
    out: list[str] = []
    for group in difflib.SequenceMatcher(None, old, new).get_grouped_opcodes(_CONTEXT):
        _, old_from, _, new_from, _ = group[0]
        _, _, old_to, _, new_to = group[-1]
        old_range, new_range = _range(old_from, old_to, shift), _range(new_from, new_to, shift)
        out.append(f"@@ -{old_range} +{new_range} @@")
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                out += [f" {line}" for line in old[i1:i2]]
                continue
            out += [f"-{line}" for line in old[i1:i2]]
            out += [f"+{line}" for line in new[j1:j2]]
    return out


def _range(start: int, end: int, shift: int) -> str:
    # An empty range names the line before it, as diff(1) does.
    return f"{start + shift + (end > start)},{end - start}"


def _cut(diff: str, max_chars: int) -> str:
    if len(diff) <= max_chars:
        return diff
    cut = diff.rfind("\n", 0, max_chars)
    return f"{diff[: cut if cut > 0 else max_chars]}\n[… {diff.count(chr(10), max(cut, 0))} more lines]"
