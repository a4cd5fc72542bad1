"""Puts a new text in the place of an old one: the exact place, or the only one that is alike."""

from __future__ import annotations

import html
import json
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from pathlib import PurePath
from typing import Any

from tools import arguments
from tools.context import ToolContext
from tools.environments.atomic_writes import FileChange
from tools.errors import ToolError
from tools.files.losses import check_elisions, elided_line
from tools.files.reading import encoded, read_whole
from tools.light_dataclass import dataclass
from tools.patching.drafts import Draft, body_of, save, text_of
from tools.patching.lines import (
    Likeness,
    Span,
    TextLines,
    applied,
    ending_at,
    folded,
    indexes,
    is_blank,
    keys,
    line_ending,
    line_numbers,
    merged,
    moved,
    places_after,
)
from tools.patching.v4a import Hunk
from tools.result import ShownDiff, ToolResult, plain
from tools.text.encoding import with_newlines
from tools.text.matching import (
    Region,
    clipped,
    closest_regions,
    compact_diff,
    line_number,
    occurrences,
)

# What models write that the file does not have: escapes of JSON or HTML, and the line numbers of read_file.

_GUTTER = re.compile(r"[ \t]*(\d+)\|")
_ESCAPED_QUOTE = re.compile(r"\\([\"'])")
_NESTED_QUOTE = re.compile(r"\\\\\\[\"']")
_QUOTE_OR_BACKSLASH = re.compile(r"\\([\"'\\])")
_ESCAPE = re.compile(r"\\([\"'\\/nrt])")
_MEANING = {"n": "\n", "r": "\r", "t": "\t"}
_CELL = re.compile(r'"source": \[(\s*)"')
_ENTITY = re.compile(r"&(?:lt|gt|amp|quot|apos|#39|#x27);")


@dataclass(frozen=True, slots=True)
class Reading:
    """Another way to read what was sent.

    Attributes:
        old, new: what was meant by the old text and the new one.
        how: «with …», for messages.
        is_lines: the old text begins at the beginning of a line.
    """

    old: str
    new: str
    how: str
    is_lines: bool = False


def readings(old: str, new: str) -> Iterator[Reading]:
    """How a replacement that was not found may be meant, the most likely first."""
    if (numbered := without_numbers(old.split("\n"))) is not None:
        lines = _new_without_numbers(new.split("\n"))
        if lines is not None:
            how = "without the line numbers of read_file (`N|`)"
            yield Reading("\n".join(numbered), "\n".join(lines), how, is_lines=True)
    if _ESCAPED_QUOTE.search(old):
        quotes = {found[1] for found in _ESCAPED_QUOTE.finditer(old)}
        yield Reading(
            _ESCAPED_QUOTE.sub(r"\1", old), _without_backslashes(new, quotes), "without the backslashes before quotes"
        )
    if "\\" in old and "\n" not in old and "\n" not in new:
        yield Reading(_unescaped(old), _unescaped(new), 'with \\n, \\t and \\" as the characters they stand for')
    if _ENTITY.search(old):
        yield Reading(
            _entities_read(old), _entities_read(new), "with &lt; and &amp; as the characters they stand for"
        )


def cell_readings(text: str, old: str, new: str) -> Iterator[Reading]:
    """How a replacement may be meant in a notebook's JSON, where a cell is a list of its lines."""
    source = _CELL.search(text)
    if source is None:
        return
    numbered = next((each for each in readings(old, new) if each.is_lines), None)
    if numbered is not None:
        old, new = numbered.old, numbered.new
    ends = f'\\n",{source[1]}"'
    whole = old.removesuffix("\n"), new.removesuffix("\n")
    for was, becomes in dict.fromkeys(((old, new), whole)):
        for is_ascii in (False, True):
            before, after = (
                ends.join(json.dumps(line, ensure_ascii=is_ascii)[1:-1] for line in part.split("\n"))
                for part in (was, becomes)
            )
            yield Reading(before, after, "as lines of a cell")


def without_numbers(lines: Sequence[str]) -> list[str] | None:
    """The lines without the numbers that read_file puts before them; None where not all have one, or not in order."""
    numbered = lines[:-1] if len(lines) > 1 and not lines[-1] else lines
    found = [_GUTTER.match(line) for line in numbered]
    numbers = [int(each[1]) for each in found if each is not None]
    if len(numbers) < len(numbered) or any(one >= other for one, other in pairwise(numbers)):
        return None
    kept = [line[each.end() :] for line, each in zip(numbered, found, strict=True) if each is not None]
    return [*kept, *lines[len(numbered) :]]


def _new_without_numbers(lines: Sequence[str]) -> Sequence[str] | None:
    """New lines, which have a number each or none of them; None where only some have."""
    return without_numbers(lines) if any(map(_GUTTER.match, lines)) else lines


def hunk_without_numbers(hunk: Hunk) -> Hunk | None:
    """The hunk without the numbers that read_file puts before lines; None where not all that was there have one."""
    old = without_numbers(hunk.old)
    added = _new_without_numbers([line.text for line in hunk.lines if line.sign == "+"])
    if not old or added is None:
        return None
    left, new = iter(old), iter(added)
    return replace(
        hunk, lines=tuple(replace(line, text=next(new if line.sign == "+" else left)) for line in hunk.lines)
    )


def _without_backslashes(new: str, quotes: Collection[str]) -> str:
    """The new text with its quotes read as those of the old; as it is where such a quote has no backslash before it.

    Args:
        quotes: those that have one in the old text.
    """
    if any(re.search(rf"(?<!\\){quote}", new) for quote in quotes):
        return new
    return (_QUOTE_OR_BACKSLASH if _NESTED_QUOTE.search(new) else _ESCAPED_QUOTE).sub(r"\1", new)


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: _MEANING.get(found[1], found[1]), text)


def _entities_read(text: str) -> str:
    return _ENTITY.sub(lambda found: html.unescape(found[0]), text)


# Where a text that was sent is in a file, though it differs in what hardly matters.

_BLANKS = " \t"


@dataclass(frozen=True, slots=True)
class Place:
    """A part of a file that is alike.

    Attributes:
        first: the index of its first line.
        start, end: its characters.
        begins_within: it begins after the indentation, or further within its first line.
    """

    first: int
    start: int
    end: int
    begins_within: bool


def alike_places(text: TextLines, sent: Sequence[str], likeness: Likeness) -> list[Place]:
    """Every place where the lines `sent` are; the first may be the end of a line, the last the beginning of one."""
    search = _Search(text, sent, likeness, text.keys(likeness), keys(sent, likeness))
    return [place for start in search.starts() if (place := search.place(start)) is not None]


def may_be_alike(text: str, sent: Sequence[str]) -> bool:
    """A quick look: False when not even the longest line of `sent` is in the text."""
    longest = max((line.strip(_BLANKS) for line in sent), key=len)
    return longest in text or folded(longest) in folded(text)


def places_within(text: TextLines, sent: str) -> list[Place]:
    """Where the text `sent` is, but for characters that look alike."""
    found: list[Place] = []
    for start in occurrences(folded(text.text), folded(sent)):
        first = bisect_right(text.starts, start, 0, len(text)) - 1
        found.append(Place(first, start, start + len(sent), begins_within=True))
    return found


def span_of(
    text: TextLines, place: Place, sent: Sequence[str], new: Sequence[str], likeness: Likeness
) -> Span | None:
    """The change that makes the lines `sent`, found at `place`, into `new`; None where it cannot be made for sure.

    Lines that are the same in `sent` and `new` stay as the file has them, with their line endings.
    """
    has = text.text[place.start : place.end].split("\n")
    endings = [*(("\r\n" if line.endswith("\r") else "\n") for line in has[:-1]), ""]
    has = [*(line.removesuffix("\r") for line in has[:-1]), has[-1]]
    made = merged(sent, has, new, likeness, begins_within=place.begins_within)
    if made is None:
        return None
    usual = endings[0] or line_ending(text.whole(place.first)) or text.ending_near(place.first)
    parts: list[str] = []
    for line, kept in made[:-1]:
        parts += [line, usual if kept is None else endings[kept] or usual]
    return Span(place.start, place.end, "".join([*parts, made[-1][0]]))


@dataclass(frozen=True, slots=True)
class _Search:
    """A search for the lines `sent`; `has` and `wanted` are the keys of the text's lines and of theirs."""

    text: TextLines
    sent: Sequence[str]
    likeness: Likeness
    has: Sequence[str]
    wanted: Sequence[str]

    def starts(self) -> Iterable[int]:
        """The lines where it is worth to look: all, unless there is a line between the first and the last."""
        inner = self.wanted[1:-1]
        if not inner:
            return range(len(self.has) - len(self.wanted) + 2)
        rare = max(range(len(inner)), key=lambda index: len(inner[index]))
        return [start for index in indexes(self.has, inner[rare]) if (start := index - rare - 1) >= 0]

    def place(self, start: int) -> Place | None:
        """The place that begins in the line `start`, if the lines are there."""
        last = start + len(self.sent) - 1
        if not self._fits(start, last):
            return None
        begin = self._begin(self._line(start))
        if begin is None:
            return None
        skipped = begin if start == last else 0
        end = _ending(self._line(last)[skipped:], self.sent[-1], self.likeness)
        if end is None:
            return None
        starts = self.text.starts
        within = begin > 0 or not self.sent[0]
        return Place(start, starts[start] + begin, starts[last] + skipped + end, begins_within=within)

    def _fits(self, start: int, last: int) -> bool:
        # What follows the last line ending is an empty line for this purpose: a text may end with its line ending.
        is_behind = last == len(self.has) and not self.wanted[-1] and self.text.text.endswith("\n")
        return (last < len(self.has) or is_behind) and self.has[start + 1 : last] == self.wanted[1:-1]

    def _begin(self, line: str) -> int | None:
        begin = _beginning(line, self.sent[0], self.likeness)
        if (
            begin is None
            and len(self.sent) == 1
            and self.likeness >= Likeness.INDENTATION
            and is_blank(self.sent[0][0])
        ):
            return 0  # the beginning of a line
        return begin

    def _line(self, index: int) -> str:
        return self.text.lines[index] if index < len(self.has) else ""


def _beginning(line: str, sent: str, likeness: Likeness) -> int | None:
    """Where in its `line` the first line begins; None where it is not there."""
    if likeness >= Likeness.INDENTATION and keys([line], likeness) == keys([sent], likeness):
        return len(line) if not sent and line else 0
    wrote, has = sent, line
    if likeness is Likeness.LOOKALIKES:
        wrote, has = folded(sent), folded(line)
    if likeness >= Likeness.TRAILING:
        wrote, has = wrote.rstrip(_BLANKS), has.rstrip(_BLANKS)
    if not sent:
        return len(line)
    if not wrote or not has.endswith(wrote):
        return 0 if not wrote and is_blank(line) else None
    return len(has) - len(wrote)


def _ending(line: str, sent: str, likeness: Likeness) -> int | None:
    """Where in its `line` the last line ends; None where it is not there."""
    wrote, has = (folded(sent), folded(line)) if likeness is Likeness.LOOKALIKES else (sent, line)
    indent = 0
    if likeness >= Likeness.INDENTATION and wrote.strip(_BLANKS):
        indent = len(has) - len(has.lstrip(_BLANKS))
        wrote, has = wrote.lstrip(_BLANKS), has[indent:]
    if has.startswith(wrote):
        return indent + len(wrote)
    short = wrote.rstrip(_BLANKS)
    if likeness >= Likeness.TRAILING and short != wrote and has.startswith(short) and is_blank(has[len(short) :]):
        return indent + len(has)
    return None


# Says why a text was not found, and shows what comes closest.

_MAX_REGION_LINES = 15
_MAX_LINE_CHARS = 300
_MIN_TELLING_CHARS = 10
_AS_CLOSE = 0.1

MAX_LINES_TOLD = 10
IN_NOTEBOOK = (
    "Send lines of one cell, as read_file shows them and without its headings. Or change cells with a program "
    "(execute_code, terminal): book = json.load(f), book['cells'][0]['source'] = text, json.dump(book, f, indent=1)."
)


def not_found(text: str, old: str, new: str, name: str) -> str:
    """The message for an `old` that a file does not have: a known reason, or the closest regions."""
    message = f"old_string is not in {name}. Nothing was changed."
    suffix = PurePath(name).suffix
    if without_numbers(old.split("\n")) is not None:
        return f"{message} Leave out the line numbers that read_file puts before `|`, in new_string too."
    # In a text that is not in the file, dots are no body of Python.
    if suffix != ".pyi" and (line := elided_line(old, "")):
        return f"{message} Its line `{line}` stands for others: write out all lines, or replace smaller pieces."
    if suffix.lower() == ".ipynb":
        return f"{message} {IN_NOTEBOOK}"
    done = line_number(text, text.index(new)) if len(new.strip()) > _MIN_TELLING_CHARS and new in text else 0
    if done:
        message += f" But new_string is there already, at line {done}: perhaps the change was made before."
    regions = closest_regions(text, old)
    regions = [region for region in regions if region.score >= regions[0].score - _AS_CLOSE]
    if done and (not regions or any(region.first <= done < region.first + len(region.lines) for region in regions)):
        return message
    if regions:
        shown = "\n\n".join(map(described, regions))
        return f"{message} The closest:\n\n{shown}\n\nSend old_string again exactly as the file has it."
    return f"{message} Nothing in it resembles that: read the file again, or look with search_files."


def described(region: Region) -> str:
    """The lines of a region with their numbers."""
    lines = [
        f"{number}|{clipped(line, _MAX_LINE_CHARS)}"
        for number, line in enumerate(region.lines[:_MAX_REGION_LINES], region.first)
    ]
    if hidden := len(region.lines) - len(lines):
        lines.append(f"[… {hidden} more lines]")
    if region.is_same:
        lines.append("- only line breaks before or after these lines differ: leave them out")
    return "\n".join(lines)


def described_lines(numbers: Sequence[int]) -> str:
    """«lines 3, 8 …» for line numbers (1-based), a bounded number of them."""
    more = " …" if len(numbers) > MAX_LINES_TOLD else ""
    return f"line{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers[:MAX_LINES_TOLD]))}{more}"


# Replaces a piece of text: exactly, or where only one place is alike but for what hardly matters.

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
        if wanted.every:
            exact = [found.start() for found in re.finditer(re.escape(wanted.old), text)]
        elif len(exact) > 1:
            raise ToolError(_many(text, exact, name))
        return _exact_spans(text, exact, wanted)
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


def _apart_places(places: Sequence[Place]) -> list[Place]:
    kept: list[Place] = []
    for place in places:
        if not kept or place.start >= kept[-1].end:
            kept.append(place)
    return kept


# Does what a call with old_string and new_string says, or one with several such edits.

_MAX_FACTS = 100


def edit_file(args: Mapping[str, Any], ctx: ToolContext) -> ToolResult:
    """Replace pieces of the file at `path`: old_string, or all `edits` in order.

    Returns:
        which lines have changed; notes, problems, and the diff where there are any.

    Raises:
        ToolError: one of them cannot be done, and none is. ToolInterrupted.
    """
    path = arguments.path(args, ctx)
    wanted = _wanted(args)
    before = read_whole(path, ctx)
    file = text_of(path, before, ctx)
    wanted = [replace(each, old=file.as_meant(each.old), new=file.as_meant(each.new)) for each in wanted]
    made = replaced(file.text, wanted, str(path))
    check_elisions(arguments.display(path, ctx), path, file.text, made.text, whole=False)
    after = encoded(path, file, made.text, ctx)
    payload: dict[str, Any] = {"path": arguments.display(path, ctx), "replacements": made.count}
    lines = made.lines(_MAX_FACTS)
    facts = {"path": str(path), "line": lines[0], "lines": lines}
    if after == before:
        note = "That left the file as it was."
        return plain("", [note], {**payload, "note": note}, **facts)
    draft = Draft(path, before, after, notes=tuple(filter(None, (*made.notes, file.kept_note))))
    (saved,) = save([(draft, FileChange(path, before, after))], ctx)
    text = saved.after or ""
    payload |= {"diff": compact_diff(file.text, text), **saved.remarks()}
    body, (line, *notes) = body_of([saved], ctx)
    times = f"{made.count} replacements" if made.count != 1 else ""
    return plain(body, [line, times, *notes], payload, ShownDiff(path, file.text, text), **facts)


def _wanted(args: Mapping[str, Any]) -> list[Replacement]:
    edits = args.get("edits")
    if not edits:
        return [_replacement(args)]
    if args.get("old_string"):
        raise ToolError("Give either old_string and new_string or edits, not both. Nothing was changed.")
    return [_replacement(edit) for edit in edits]


def _replacement(args: Mapping[str, Any]) -> Replacement:
    old, new = arguments.text(args, "old_string"), arguments.text(args, "new_string")
    return Replacement(old, new, every=arguments.boolean(args, "replace_all"))
