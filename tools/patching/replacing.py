"""Replaces a piece of text: exactly, or where only one place is alike but for what hardly matters."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import chain

from tools.errors import ToolError
from tools.light_dataclass import dataclass
from tools.patching.finding import Place, alike_places, may_be_alike, places_within, span_of
from tools.patching.likeness import Likeness
from tools.patching.misses import IN_NOTEBOOK, MAX_LINES_TOLD, described_lines, not_found
from tools.patching.slips import cell_readings, readings
from tools.patching.spans import Span, TextLines, applied, ending_at, line_numbers, moved, places_after
from tools.text.encoding import with_newlines
from tools.text.matching import line_number, occurrences

_CRLF = "\r\n"


@dataclass(frozen=True, slots=True)
class Replacement:
    """A piece of text and what takes its place; `every` for all places where it is."""

    old: str
    new: str
    every: bool = False


@dataclass(frozen=True, slots=True)
class Replaced:
    """What came of replacements.

    Attributes:
        text: the new text.
        places: where in it something was put.
        count: how many pieces were replaced.
        notes: what the model should know of how they were found.
    """

    text: str
    places: tuple[int, ...]
    count: int
    notes: tuple[str, ...]

    def lines(self, limit: int) -> list[int]:
        """The lines (1-based) of the new text that begin a change, at most `limit`."""
        return line_numbers(self.text, sorted(self.places)[:limit])


def replaced(text: str, wanted: Sequence[Replacement], name: str) -> Replaced:
    """Do all replacements, one after the other. `name` is the file's, for messages.

    Raises:
        ToolError: one cannot be done; which one and why.
    """
    places: list[int] = []
    notes: list[str] = []
    count = 0
    for number, replacement in enumerate(wanted, 1):
        which = f"edit {number} of {len(wanted)}: " if len(wanted) > 1 else ""
        try:
            spans, note = _spans(text, replacement, name)
        except ToolError as problem:
            raise ToolError(f"{which[:1].upper()}{which[1:]}{problem}") from problem
        places = moved(places, spans) + places_after(spans)
        text = applied(text, spans)
        count += len(spans)
        if note and (which + note) not in notes:
            notes.append(which + note)
    return Replaced(text, tuple(places), count, tuple(notes))


def _spans(text: str, wanted: Replacement, name: str) -> tuple[list[Span], str]:
    """The changes that a replacement makes, and a note on how their places were found."""
    _check(wanted)
    found = _found(text, wanted, name)
    is_broken = found is not None and _breaks_notebook(text, found[0], name)
    if found is None or is_broken:
        found = _found_otherwise(text, wanted, name)
    if found is None and is_broken:
        raise ToolError(f"With that {name} would be no valid JSON. Nothing was changed. {IN_NOTEBOOK}")
    if found is None:
        raise ToolError(not_found(text, wanted.old, wanted.new, name))
    return found


def _breaks_notebook(text: str, spans: Sequence[Span], name: str) -> bool:
    """Whether a notebook could not be opened any more."""
    return _is_notebook(name) and _is_json(text) and not _is_json(applied(text, spans))


def _is_notebook(name: str) -> bool:
    return name.lower().endswith(".ipynb")


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _found(text: str, wanted: Replacement, name: str) -> tuple[list[Span], str] | None:
    exact = occurrences(text, wanted.old)
    # Where line endings are of two kinds, the model takes pieces for the same that are not.
    if exact and not (_CRLF in text and "\n" in wanted.old):
        places = _apart(exact, len(wanted.old)) if wanted.every else exact
        if len(places) > 1 and not wanted.every:
            raise ToolError(_many(text, exact, name))
        return _exact_spans(text, places, wanted)
    if (at_end := _unended(text, wanted)) is not None:
        return [at_end], "The file ends without a line ending, and that stayed so."
    return _alike_spans(text, wanted, name)


def _found_otherwise(text: str, wanted: Replacement, name: str) -> tuple[list[Span], str] | None:
    """What is found where the text is read as it was probably meant: without escapes, without line numbers."""
    meant = readings(wanted.old, wanted.new)
    if _is_notebook(name):
        meant = chain(meant, cell_readings(text, wanted.old, wanted.new))
    for reading in meant:
        is_sent = (reading.old, reading.new) == (wanted.old, wanted.new)
        if is_sent or not reading.old or reading.old == reading.new:
            continue
        try:
            found = _found(text, Replacement(reading.old, reading.new, wanted.every), name)
        except ToolError as problem:
            raise ToolError(f"Read {reading.how}: {problem}") from problem
        if found is None or _breaks_notebook(text, found[0], name):
            continue
        if reading.is_lines and not all(_is_lines(text, span) for span in found[0]):
            continue
        spans, note = found
        both = "old_string was" if reading.new == wanted.new else "old_string and new_string were"
        return spans, f"{both} read {reading.how}.{f' {note}' if note else ''}"
    return None


def _is_lines(text: str, span: Span) -> bool:
    """Whether whole lines are found, but for the spaces around them."""
    rest = text[span.end :].partition("\n")[0] if text[span.end - 1 : span.end] != "\n" else ""
    return not text[text.rfind("\n", 0, span.start) + 1 : span.start].strip() and not rest.strip()


def _unended(text: str, wanted: Replacement) -> Span | None:
    """The end of a file whose last line has no ending, where that is all that the old text has more."""
    old = wanted.old.removesuffix("\n")
    if text.endswith("\n") or not old or old == wanted.old or not text.endswith(old) or _CRLF in text:
        return None
    return Span(len(text) - len(old), len(text), wanted.new.removesuffix("\n"))


def _check(wanted: Replacement) -> None:
    if not wanted.old:
        raise ToolError("old_string is empty. To create a file, or to replace all of it, use write_file.")
    if wanted.old == wanted.new:
        raise ToolError("old_string and new_string are the same: there is nothing to change.")


def _exact_spans(text: str, places: Sequence[int], wanted: Replacement) -> tuple[list[Span], str]:
    note = ""
    spans: list[Span] = []
    for place in places:
        new = _with_endings(wanted, text, place)
        if new != wanted.new:
            note = _kept(new)
        spans.append(Span(place, place + len(wanted.old), new))
    return spans, note


def _with_endings(wanted: Replacement, text: str, place: int) -> str:
    """The new text with the line endings that it was found with, or that the file has there."""
    if "\n" not in wanted.new or _kinds(wanted.new) <= _kinds(wanted.old) or "\n" not in text:
        return wanted.new
    return with_newlines(wanted.new, ending_at(text, place))


def _kinds(text: str) -> set[str]:
    windows = text.count(_CRLF)
    kinds = {_CRLF} if windows else set()
    return kinds | {"\n"} if text.count("\n") > windows else kinds


def _alike_spans(text: str, wanted: Replacement, name: str) -> tuple[list[Span], str] | None:
    sent, new = (with_newlines(part, "\n").split("\n") for part in (wanted.old, wanted.new))
    if sent == new:
        raise ToolError("old_string and new_string differ in line endings only, and those stay as the file has them.")
    return _found_alike(TextLines(text), wanted, sent, new, name) if may_be_alike(text, sent) else None


def _found_alike(
    lines: TextLines, wanted: Replacement, sent: Sequence[str], new: Sequence[str], name: str
) -> tuple[list[Span], str] | None:
    for likeness, find in _searches(lines, wanted.old, sent):
        places = _apart_places(find()) if wanted.every else find()
        if len(places) > 1 and not (wanted.every and likeness is Likeness.EXACT):
            raise ToolError(_many(lines.text, [place.start for place in places], name, likeness))
        spans = [span_of(lines, place, sent, new, likeness) for place in places]
        sure = [span for span in spans if span is not None]
        if sure and len(sure) == len(spans):
            return sure, _note(likeness, lines.text[sure[0].start : sure[0].end], wanted.old)
    return None


def _searches(lines: TextLines, old: str, sent: Sequence[str]) -> list[tuple[Likeness, Callable[[], list[Place]]]]:
    """What to look for, one after the other: each finds more, and more doubtful, places than the one before."""
    searches: list[tuple[Likeness, Callable[[], list[Place]]]] = []
    if len(sent) > 1:
        searches.append((Likeness.EXACT, lambda: alike_places(lines, sent, Likeness.EXACT)))
    if not old.strip():
        return searches
    searches += [
        (Likeness.TRAILING, lambda: alike_places(lines, sent, Likeness.TRAILING)),
        (Likeness.INDENTATION, lambda: alike_places(lines, sent, Likeness.INDENTATION)),
        (Likeness.LOOKALIKES, lambda: places_within(lines, old)),
        (Likeness.LOOKALIKES, lambda: alike_places(lines, sent, Likeness.LOOKALIKES)),
    ]
    return searches


def _note(likeness: Likeness, has: str, old: str) -> str:
    if likeness is Likeness.EXACT:
        return "" if _kinds(has) == _kinds(old) else _kept(has)
    return f"old_string was found without regard to {likeness.told}; what you did not change stayed as it was."


def _kept(text: str) -> str:
    return f"The file's {'Windows (CRLF)' if _CRLF in text else 'Unix (LF)'} line endings were kept."


def _many(text: str, places: Sequence[int], name: str, likeness: Likeness = Likeness.EXACT) -> str:
    lines = described_lines([line_number(text, place) for place in places[: MAX_LINES_TOLD + 1]])
    where = f"{name} {len(places)} times ({lines}). Nothing was changed. Add lines around it until it is unique"
    if likeness is Likeness.EXACT:
        return f"old_string is in {where}, or set replace_all."
    return f"old_string is not as you wrote it, but without regard to {likeness.told} it is in {where}, and exact."


def _apart(positions: list[int], length: int) -> list[int]:
    kept: list[int] = []
    for position in positions:
        if not kept or position >= kept[-1] + length:
            kept.append(position)
    return kept


def _apart_places(places: Sequence[Place]) -> list[Place]:
    kept: list[Place] = []
    for place in places:
        if not kept or place.start >= kept[-1].end:
            kept.append(place)
    return kept
