"""Applies a patch: the place of each hunk by its anchors and its lines, and all files together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from pathlib import Path

from tools.arguments import display, with_odd_bytes
from tools.context import ToolContext
from tools.errors import Denied, ToolError
from tools.files.losses import check_elisions, check_unread
from tools.files.reading import encoded
from tools.light_dataclass import dataclass
from tools.patching.drafts import Draft, Drafts, Saved, body_of, save, share_of, text_of
from tools.patching.lines import (
    Likeness,
    Shift,
    Span,
    TextLines,
    applied,
    fitted_lines,
    folded,
    indent_of,
    indexes,
    is_blank,
    keys,
    line_ending,
    line_numbers,
    places_after,
    runs,
    shift_between,
)
from tools.patching.replacing import described, described_lines, hunk_without_numbers
from tools.patching.v4a import AddFile, DeleteFile, Hunk, HunkLine, Operation, UpdateFile, parse
from tools.result import Shown, ToolResult, plain
from tools.text.encoding import TextFile, count_lines, decode, with_newlines
from tools.text.matching import closest_regions

# What a hunk makes of the lines where it belongs.


def hunk_span(text: TextLines, hunk: Hunk, start: int, likeness: Likeness) -> Span | None:
    """The change that a hunk makes whose first line is the line `start` (0-based) of the text.

    Unchanged lines stay as the file has them. New ones get its indentation and its line endings.

    Returns:
        None where the indentation of a new line cannot be known.
    """
    has = text.lines[start : start + len(hunk.old)]
    plain = [folded(line) for line in has] if likeness is Likeness.LOOKALIKES else has
    shift = shift_between(zip(hunk.old, plain, strict=True))
    if shift is None:
        return None
    first, end = start + hunk.head, start + len(hunk.old) - hunk.tail
    made = _core(text, hunk, first, shift, likeness)
    if made is None:
        return None
    ending = text.ending_near(first)
    begin = text.starts[first] if first < len(text) else len(text.text)
    new = _joined(made, ending, is_bare=hunk.ends_bare and end == len(text))
    if new and begin and text.text[begin - 1] != "\n":
        new = ending + new  # what was the last line had no ending
    return Span(begin, text.starts[end] if end < len(text) else len(text.text), new)


def _core(text: TextLines, hunk: Hunk, first: int, shift: Shift, likeness: Likeness) -> list[tuple[str, bool]] | None:
    """The lines from the first change to the last, each with whether it is the file's own and has its ending."""
    made: list[tuple[str, bool]] = []
    place = first
    for taken, put, kept in _steps(hunk.lines[hunk.head : len(hunk.lines) - hunk.tail]):
        has = text.lines[place : place + len(taken)]
        fitted = fitted_lines(taken, has, put, shift, likeness)
        if fitted is None:
            return None
        made += [(line, False) for line in fitted]
        place += len(taken)
        made += [(text.whole(index), True) for index in range(place, place + kept)]
        place += kept
    return made


def _steps(lines: Sequence[HunkLine]) -> Iterator[tuple[list[str], list[str], int]]:
    """What is taken out and put in at one place, and how many unchanged lines follow."""
    taken: list[str] = []
    put: list[str] = []
    for is_kept, group in groupby(lines, key=lambda line: line.sign == " "):
        same_kind = list(group)
        if is_kept:
            yield taken, put, len(same_kind)
            taken, put = [], []
        else:
            taken = [line.text for line in same_kind if line.sign == "-"]
            put = [line.text for line in same_kind if line.sign == "+"]
    if taken or put:
        yield taken, put, 0


def _joined(made: Sequence[tuple[str, bool]], ending: str, *, is_bare: bool) -> str:
    parts: list[str] = []
    for index, (line, is_own) in enumerate(made):
        is_last = index == len(made) - 1
        parts.append(line)
        if is_last and (is_own or is_bare):
            continue
        if not is_own or not line_ending(line):
            parts.append(ending)
    return "".join(parts)


# Where the anchors of a hunk (`@@ def area():`) lead.

_CLOSERS = (")", "]", "}", "{")
_MIN_CONTAINED_CHARS = 3


def anchor_ends(text: TextLines, anchors: Sequence[str]) -> list[int]:
    """The lines (0-based) that the innermost anchor may mean, each after those that the outer ones mean."""
    ends: list[int] = []
    for depth, anchor in enumerate(anchors):
        found = _lines_like(text, anchor)
        inner = (_below(text, [index for index in found if index > end], end) for end in ends)
        ends = sorted({index for below in inner for index in below}) if depth else found
    return ends


def _lines_like(text: TextLines, anchor: str) -> list[int]:
    for likeness in Likeness:
        if found := indexes(text.keys(likeness), keys([anchor], likeness)[0]):
            return found
    part = folded(anchor).strip()
    if len(part) < _MIN_CONTAINED_CHARS:
        return []
    return [index for index, line in enumerate(text.keys(Likeness.LOOKALIKES)) if part in line]


def below_anchors(text: TextLines, starts: Sequence[int], ends: Sequence[int]) -> list[int]:
    """Which of the places `starts` the anchors at `ends` may mean, in order.

    An anchor that opens a block means what is in it. Any other means the first place that comes after it.
    """
    found: set[int] = set()
    for end in ends:
        found.update(_below(text, [start for start in starts if start >= end], end))
    return sorted(found)


def _below(text: TextLines, starts: Sequence[int], end: int) -> Sequence[int]:
    adjacent = [start for start in starts if start <= end + 1]
    if adjacent:
        return adjacent[:1]
    if not _opens_block(text, end):
        return starts[:1]
    inside = [start for start in starts if _is_inside(text, end, start)]
    # A place of deeper lines that is not in this block belongs to another one.
    return inside or [start for start in starts if _depth(text, start) <= _depth(text, end)]


def _opens_block(text: TextLines, end: int) -> bool:
    following = next((line for line in text.lines[end + 1 :] if not is_blank(line)), "")
    return _width(following) > _width(text.lines[end])


def _is_inside(text: TextLines, end: int, start: int) -> bool:
    outer = _width(text.lines[end])
    between = (line for line in text.lines[end + 1 : start] if not is_blank(line))
    return _depth(text, start) > outer and all(
        _width(line) > outer or line.lstrip().startswith(_CLOSERS) for line in between
    )


def _depth(text: TextLines, start: int) -> int:
    """The indentation of the first line from `start` on that is not blank."""
    return _width(next((line for line in text.lines[start:] if not is_blank(line)), ""))


def _width(line: str) -> int:
    return len(indent_of(line).expandtabs(8))


# Finds the one place where each hunk of a file belongs.


@dataclass(frozen=True, slots=True)
class Candidates:
    """Where a hunk may belong: the lines (0-based) where it would begin, in order.

    Attributes:
        hunk: the hunk as it is there; an empty line at its end may be left out.
        note: what the model should know of how they were found.
        problem: why there are none.
    """

    hunk: Hunk
    starts: tuple[int, ...] = ()
    likeness: Likeness = Likeness.EXACT
    note: str = ""
    problem: str = ""

    def core(self, start: int) -> tuple[int, int]:
        """The lines from the first change to the last (exclusive), were it to begin at `start`."""
        return start + self.hunk.head, start + len(self.hunk.old) - self.hunk.tail


def candidates(text: TextLines, hunk: Hunk) -> Candidates:
    """Every place where a hunk may belong: those that are most alike, told apart by its anchors."""
    ends = anchor_ends(text, hunk.anchors)
    if not hunk.old:
        return _insertions(text, hunk, ends)
    found = _search(text, hunk, ends)
    if found.starts or not is_blank(hunk.old[-1]) or hunk.lines[-1].sign != " ":
        return found
    shorter = replace(hunk, lines=_without_blank_end(hunk.lines))
    second = _search(text, shorter, ends) if shorter.old else found
    return second if second.starts else found


def _search(text: TextLines, hunk: Hunk, ends: Sequence[int]) -> Candidates:
    elsewhere: list[int] = []
    for likeness in Likeness:
        every = runs(text.keys(likeness), keys(hunk.old, likeness))
        if likeness >= Likeness.INDENTATION:
            every = [start for start in every if hunk_span(text, hunk, start, likeness) is not None]
        if not every:
            continue
        starts = below_anchors(text, every, ends) if ends else every
        if hunk.anchors and not ends and (len(every) > 1 or likeness > Likeness.TRAILING):
            return Candidates(hunk, problem=f"there is no line like its anchor @@ {hunk.anchors[-1].strip()}")
        if starts:
            return Candidates(hunk, tuple(_narrowed(text, hunk, starts)), likeness, _note(hunk, likeness, ends))
        elsewhere = elsewhere or every
    if elsewhere:
        lines = ", ".join(str(start + 1) for start in elsewhere[:5])
        problem = f"its lines are there (line {lines}), but not below its anchor @@ {hunk.anchors[-1].strip()}"
        return Candidates(hunk, problem=problem)
    return Candidates(hunk)


def _narrowed(text: TextLines, hunk: Hunk, starts: Sequence[int]) -> Sequence[int]:
    """Those of several places that the end of the file, or the line of a unified diff, tells apart."""
    if hunk.is_at_end:
        at_end = [start for start in starts if all(map(is_blank, text.lines[start + len(hunk.old) :]))]
        return at_end or starts
    if hunk.near is not None and hunk.near - 1 in starts:
        return [hunk.near - 1]
    return starts


def _note(hunk: Hunk, likeness: Likeness, ends: Sequence[int]) -> str:
    notes = []
    if likeness > Likeness.EXACT:
        notes.append(f"hunk {hunk.number} was found without regard to {likeness.told}")
    if hunk.anchors and not ends and hunk.near is None:
        notes.append(f"hunk {hunk.number}: its anchor was not found, but its lines are unique")
    return "; ".join(notes)


def _insertions(text: TextLines, hunk: Hunk, ends: Sequence[int]) -> Candidates:
    """Where new lines go that come with no line of the file: behind their anchor, else to the end."""
    if hunk.near is not None and not hunk.is_at_end:
        return Candidates(hunk, (min(hunk.near, len(text)),))
    if hunk.is_at_end or not hunk.anchors:
        note = f"hunk {hunk.number} names no place: its lines were put at the end of the file"
        return Candidates(hunk, (len(text),), note="" if hunk.is_at_end or not len(text) else note)
    if not ends:
        return Candidates(hunk, problem=f"there is no line like its anchor @@ {hunk.anchors[-1].strip()}")
    return Candidates(hunk, tuple(end + 1 for end in ends))


def _without_blank_end(lines: Sequence[HunkLine]) -> tuple[HunkLine, ...]:
    kept = list(lines)
    while kept and kept[-1].sign == " " and is_blank(kept[-1].text):
        kept.pop()
    return tuple(kept)


@dataclass(frozen=True, slots=True)
class Order:
    """The places of all hunks of a file, one each; or which of them have more than one, or none left."""

    starts: tuple[int, ...] = ()
    ambiguous: tuple[int, ...] = ()
    overlapping: tuple[int, ...] = ()
    is_reordered: bool = False


def in_order(found: Sequence[Candidates]) -> Order:
    """Gives each hunk its place. Hunks come in the order of the file, so that one may tell another's place.

    Only what cannot be otherwise is taken: if the first and the last way to place them all differ, it is ambiguous.
    """
    earliest, latest = _earliest(found), _latest(found)
    if earliest is not None and latest is not None:
        ambiguous = tuple(i for i, (one, other) in enumerate(zip(earliest, latest, strict=True)) if one != other)
        return Order(ambiguous=ambiguous) if ambiguous else Order(tuple(earliest))
    several = tuple(index for index, each in enumerate(found) if len(each.starts) > 1)
    if several:
        return Order(ambiguous=several)
    cores = sorted((each.core(each.starts[0]), index) for index, each in enumerate(found))
    overlapping = [later for ((_, end), _), ((begin, _), later) in pairwise(cores) if begin < end]
    if overlapping:
        return Order(overlapping=tuple(overlapping))
    return Order(tuple(each.starts[0] for each in found), is_reordered=True)


def _earliest(found: Sequence[Candidates]) -> list[int] | None:
    places: list[int] = []
    cursor = 0
    for each in found:
        place = next((start for start in each.starts if each.core(start)[0] >= cursor), None)
        if place is None:
            return None
        places.append(place)
        cursor = each.core(place)[1]
    return places


def _latest(found: Sequence[Candidates]) -> list[int] | None:
    places: list[int] = []
    limit: int | None = None
    for each in reversed(found):
        fitting = (start for start in reversed(each.starts) if limit is None or each.core(start)[1] <= limit)
        place = next(fitting, None)
        if place is None:
            return None
        places.append(place)
        limit = each.core(place)[0]
    return places[::-1]


# Does all hunks of a file, or none and says what is wrong with each.

_MAX_LOST = 8
_SEVERAL = (
    "Tell which is meant: put @@ and the line of the function or class around it first, or more unchanged lines."
)


class HunksMisplaced(Exception):
    """Some hunks have no place, or more than one. `problems` says so of each."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n\n".join(problems))
        self.problems = tuple(problems)


@dataclass(frozen=True, slots=True)
class Patched:
    """A file's new text, the lines (1-based) in it that begin a change, and what the model should know."""

    text: str
    lines: tuple[int, ...]
    notes: tuple[str, ...]


def patched(text: str, hunks: Sequence[Hunk], name: str) -> Patched:
    """The text with all hunks done. `name` is the file's, for messages.

    Raises:
        HunksMisplaced: not all of them can be done.
    """
    keyed = TextLines(text)
    found = [_candidates(keyed, hunk) for hunk in hunks]
    without = [each for each in found if not each.starts]
    # To find what comes closest takes time, and no more than a few are told.
    lost = [_lost(keyed, each, name) for each in without[:_MAX_LOST]]
    lost += [f"{_where(each.hunk, name)}: its lines are not in the file." for each in without[_MAX_LOST:]]
    placed = [each for each in found if each.starts]
    order = in_order(placed)
    problems = [*lost, *_unclear(placed, order, name)]
    if problems:
        raise HunksMisplaced(problems)
    made = [_span(keyed, each, start) for each, start in zip(placed, order.starts, strict=True)]
    spans = _tidied(text, sorted(made, key=lambda span: (span.start, span.end)))
    new = applied(text, spans)
    notes = [each.note for each in placed if each.note]
    if order.is_reordered:
        notes.append("the hunks were not in the order of the file")
    last = max(count_lines(new), 1)
    lines = tuple(min(line, last) for line in line_numbers(new, places_after(spans)))
    return Patched(new, lines, tuple(notes))


def _candidates(text: TextLines, hunk: Hunk) -> Candidates:
    found = candidates(text, hunk)
    if found.starts or not hunk.old or (unnumbered := hunk_without_numbers(hunk)) is None:
        return found
    second = candidates(text, unnumbered)
    if not second.starts:
        return found
    note = f"hunk {hunk.number} was read without the line numbers of read_file (`N|`)"
    return replace(second, note="; ".join(filter(None, (note, second.note))))


def _span(text: TextLines, found: Candidates, start: int) -> Span:
    span = hunk_span(text, found.hunk, start, found.likeness)
    if span is None:
        # Places like that are no candidates; a hunk must not be lost all the same.
        raise HunksMisplaced([f"Hunk {found.hunk.number}: the indentation of its new lines is not clear."])
    return span


def _tidied(text: str, spans: Iterable[Span]) -> list[Span]:
    """The spans without the line ending that one began with though the one before it ends with it."""
    tidy: list[Span] = []
    for span in spans:
        before = tidy[-1] if tidy else None
        if before is not None and before.end == span.start and span.start and text[span.start - 1] != "\n":
            left = before.new or text[: before.start]
            new = span.new.removeprefix("\r").removeprefix("\n") if left.endswith("\n") else span.new
            tidy.append(span._replace(new=new))
        else:
            tidy.append(span)
    return tidy


def _lost(text: TextLines, found: Candidates, name: str) -> str:
    where = _where(found.hunk, name)
    if found.problem:
        return f"{where}: {found.problem}."
    hunk = found.hunk
    new = [line for line in hunk.new if not is_blank(line)]
    if len(new) > 1 and any(line.sign == "+" for line in hunk.lines) and (done := runs(text.lines, hunk.new)):
        return f"{where}: its new lines are there already, at line {done[0] + 1}. Perhaps it was done before."
    regions = closest_regions(text.text, "\n".join(hunk.old), limit=1)
    if not regions:
        return f"{where}: its lines are not in the file, nor anything like them. Read the file again."
    region = regions[0]
    last = region.first + len(region.lines) - 1
    closest = f"is line {last}" if region.first == last else f"are lines {region.first}–{last}"
    return f"{where}: its lines are not in the file. Closest {closest}:\n{described(region)}"


def _unclear(placed: Sequence[Candidates], order: Order, name: str) -> list[str]:
    problems: list[str] = []
    for index in order.ambiguous:
        each = placed[index]
        lines = described_lines([each.core(start)[0] + 1 for start in each.starts])
        what = "its lines are" if each.hunk.old else "its anchor is"
        problems.append(f"{_where(each.hunk, name)}: {what} there {len(each.starts)} times ({lines}). {_SEVERAL}")
    problems += [
        f"{_where(placed[index].hunk, name)}: it changes lines that another hunk changes. Make one hunk of them."
        for index in order.overlapping
    ]
    return problems


def _where(hunk: Hunk, name: str) -> str:
    return f"Hunk {hunk.number} of {name} (line {hunk.at} of the patch)"


# Does what a patch says: everything in drafts first, then all of it on the disk, or nothing.

_MAX_PROBLEMS = 8


def apply_patch(patch: str, path: str, ctx: ToolContext) -> ToolResult:
    """Apply a patch in the V4A format, whole or not at all.

    Args:
        patch: its text.
        path: the file that hunks without a header belong to, '' for none.

    Returns:
        a line for each file: what became of it (added, updated, moved, deleted, unchanged) and where; notes,
        problems, and the diff where there are any.

    Raises:
        ToolError: it cannot be read, or a part of it cannot be done: why, for each hunk. ToolInterrupted.
    """
    drafts = Drafts(ctx)
    problems: list[str] = []
    touched: list[Draft] = []
    for operation in parse(patch, path):
        try:
            touched.append(_drafted(operation, drafts, ctx))
        except Denied:
            raise
        except HunksMisplaced as problem:
            problems += problem.problems
        except ToolError as problem:
            problems.append(str(problem))
    if problems:
        raise ToolError(_told(problems))
    saved = save(drafts.changes(), ctx)
    return _result(saved, touched, ctx)


def _drafted(operation: Operation, drafts: Drafts, ctx: ToolContext) -> Draft:
    draft = drafts.at(_resolved(operation.path, operation.at, ctx))
    match operation:
        case AddFile(text=text):
            drafts.check_free(draft)
            # What is replaced keeps its encoding and its line endings.
            file = (None if draft.now is None else decode(draft.now)) or TextFile("")
            fitted = with_newlines(text, "\r\n") if file.newline == "\r\n" else text
            _check_losses(draft, fitted, ctx)
            draft.now, draft.lines = encoded(draft.path, file, fitted, ctx), (1,)
        case DeleteFile():
            if draft.now is None:
                text_of(draft.path, None, ctx)
            draft.now, draft.source = None, None
        case UpdateFile(move_to=move_to):
            _update(draft, operation, ctx)
            if move_to is not None:
                return drafts.move(draft, _resolved(move_to, operation.at, ctx))
    return draft


def _check_losses(draft: Draft, text: str, ctx: ToolContext) -> None:
    """Refuse a whole text that would lose lines of what was there before the patch."""
    was = None if draft.before is None else decode(draft.before)
    if was is None:
        return
    name = display(draft.path, ctx)
    check_elisions(name, draft.path, was.text, text, whole=True)
    if draft.now is not None and ctx.seen is not None:
        check_unread(name, draft.path, was.text, text, ctx.seen.known(draft.path))


def _update(draft: Draft, operation: UpdateFile, ctx: ToolContext) -> None:
    if not operation.hunks and draft.now is not None:
        return  # it only moves, and may be anything
    file = text_of(draft.path, draft.now, ctx)
    name = display(draft.path, ctx)
    hunks = [hunk.mapped(file.as_meant) for hunk in operation.hunks] if file.has_odd_bytes else operation.hunks
    made = patched(file.text, hunks, name)
    check_elisions(name, draft.path, file.text, made.text, whole=False)
    draft.now = encoded(draft.path, file, made.text, ctx)
    draft.lines = made.lines
    draft.notes += tuple(f"{note[0].upper()}{note[1:]}." for note in made.notes)
    if file.is_guessed and draft.now != draft.before:
        draft.notes += (file.kept_note,)


def _resolved(path: str, at: int, ctx: ToolContext) -> Path:
    if "\0" in path:
        raise ToolError(f"Line {at} of the patch: the path holds a NUL character.")
    path = with_odd_bytes(path)
    try:
        path.encode("utf-8", "surrogateescape")
        return ctx.resolve(path)
    except (RuntimeError, ValueError) as problem:  # a home that nobody has, half a surrogate pair
        raise ToolError(f"Line {at} of the patch: {path!r} cannot be a path: {problem}.") from problem


def _told(problems: list[str]) -> str:
    told = problems[:_MAX_PROBLEMS]
    if hidden := len(problems) - len(told):
        told.append(f"… and {hidden} more problems.")
    return "\n\n".join(["The patch cannot be applied as a whole, so nothing was changed.", *told])


def _result(saved: list[Saved], touched: list[Draft], ctx: ToolContext) -> ToolResult:
    files = [each.told(ctx, share_of(saved)) for each in saved]
    changed = {each.change.path for each in saved} | {each.change.source for each in saved}
    unchanged = [draft for draft in touched if draft.path not in changed]
    names = [display(draft.path, ctx) for draft in unchanged]
    files += [{"path": name, "change": "unchanged"} for name in names]
    body, ending = body_of(saved, ctx, names)
    shown: list[Shown] = [part for each in saved for part in each.shown()]
    locations = [
        {"path": str(each.change.path), "line": each.draft.lines[0] if each.draft.lines else 1}
        for each in saved
        if each.change.after is not None
    ]
    first = locations[0] if locations else {"path": str(touched[0].path)}
    lines = list(saved[0].draft.lines) if saved and locations else []
    return plain(body, ending, {"files": files}, *shown, **first, lines=lines, locations=locations)
