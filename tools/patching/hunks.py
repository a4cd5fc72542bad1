"""Does all hunks of a file, or none and says what is wrong with each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tools.light_dataclass import dataclass
from tools.patching.anchors import KeyedText
from tools.patching.hunk_spans import hunk_span
from tools.patching.likeness import is_blank, runs
from tools.patching.misses import described, described_lines
from tools.patching.placing import Candidates, Order, candidates, in_order
from tools.patching.slips import hunk_without_numbers
from tools.patching.spans import Span, applied, line_numbers, places_after
from tools.patching.v4a import Hunk
from tools.text.matching import closest_regions

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
    keyed = KeyedText(text)
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
    return Patched(new, tuple(_first_lines(new, spans)), tuple(notes))


def _candidates(text: KeyedText, hunk: Hunk) -> Candidates:
    found = candidates(text, hunk)
    if found.starts or not hunk.old or (unnumbered := hunk_without_numbers(hunk)) is None:
        return found
    second = candidates(text, unnumbered)
    if not second.starts:
        return found
    note = f"hunk {hunk.number} was read without the line numbers of read_file (`N|`)"
    return replace(second, note="; ".join(filter(None, (note, second.note))))


def _span(text: KeyedText, found: Candidates, start: int) -> Span:
    span = hunk_span(text.text, found.hunk, start, found.likeness)
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


def _first_lines(text: str, spans: Sequence[Span]) -> list[int]:
    last = text.count("\n") + (not text.endswith("\n"))
    return [min(line, max(last, 1)) for line in line_numbers(text, places_after(spans))]


def _lost(text: KeyedText, found: Candidates, name: str) -> str:
    where = _where(found.hunk, name)
    if found.problem:
        return f"{where}: {found.problem}."
    hunk = found.hunk
    new = [line for line in hunk.new if not is_blank(line)]
    if len(new) > 1 and any(line.sign == "+" for line in hunk.lines) and (done := runs(text.lines, hunk.new)):
        return f"{where}: its new lines are there already, at line {done[0] + 1}. Perhaps it was done before."
    regions = closest_regions(text.text.text, "\n".join(hunk.old), limit=1)
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
