"""New lines in the manner of the file: what the model did not mean to change stays as the file has it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher

from tools.patching.indentation import Shift, shift_between
from tools.patching.likeness import Likeness, folded, indent_of, with_characters_of

_MAX_PAIRS = 100_000

Merged = list[tuple[str, int | None]]
"""New lines, each with the index of the file's line that it is unchanged, None where it is not."""


def merged(
    sent: Sequence[str], has: Sequence[str], new: Sequence[str], likeness: Likeness, *, begins_within: bool = False
) -> Merged | None:
    """`new` for the place of `has`, which was sent as `sent`; None where the new indentation cannot be known.

    `begins_within` says that the first line is only the end of a line, so that it has no indentation to speak of.
    """
    if begins_within:
        rest = merged(sent[1:], has[1:], new[1:], likeness)
        if rest is None:
            return None
        kept = None if new[0] != sent[0] else 0
        first = has[0] if kept == 0 else with_characters_of(has[0], sent[0], new[0])
        return [(first, kept), *((line, None if index is None else index + 1) for line, index in rest)]
    # Other blanks than spaces and tabs count as what they look like.
    plain = [folded(line) for line in has] if likeness is Likeness.LOOKALIKES else has
    shift = shift_between(zip(sent, plain, strict=True))
    if shift is None:
        return None
    made: Merged = []
    for tag, start, end, new_start, new_end in _opcodes(sent, new):
        if tag == "equal":
            made += [(has[index], index) for index in range(start, end)]
            continue
        fitted = fitted_lines(sent[start:end], has[start:end], new[new_start:new_end], shift, likeness)
        if fitted is None:
            return None
        made += [(line, None) for line in fitted]
    return made


def _opcodes(sent: Sequence[str], new: Sequence[str]) -> Sequence[tuple[str, int, int, int, int]]:
    """How `new` differs from `sent`. Where most lines are the same ones again, exactness would take minutes."""
    there = Counter(sent)
    is_costly = sum(there[line] for line in new) > _MAX_PAIRS
    return SequenceMatcher(None, sent, new, autojunk=is_costly).get_opcodes()


def fitted_lines(
    sent: Sequence[str], has: Sequence[str], new: Sequence[str], shift: Shift, likeness: Likeness
) -> list[str] | None:
    """`new` with the file's indentation, and its characters where lines are changed one for one.

    Returns:
        None where the indentation of a line cannot be known.
    """
    if likeness is Likeness.LOOKALIKES and len(sent) == len(new):
        new = [_with_own_characters(*lines) for lines in zip(sent, has, new, strict=True)]
    shifted = [shift.line(line) for line in new]
    fitted = [line for line in shifted if line is not None]
    return fitted if len(fitted) == len(shifted) else None


def _with_own_characters(sent: str, has: str, new: str) -> str:
    body = new[len(indent_of(new)) :]
    return indent_of(new) + with_characters_of(has.strip(" \t"), sent.strip(" \t"), body)
