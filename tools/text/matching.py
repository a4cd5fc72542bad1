"""Finds text in a file, or the region most like it; compact diffs."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import accumulate, count, groupby
from operator import add

from tools.light_dataclass import dataclass

# A compact unified diff of two texts, for the model to read.

_LONG_LINE = 400
_AROUND_CHANGE = 80
_CONTEXT = 2
_MAX_COMPARED_LINES = 4000
_MOST_HEADERS = 8
_BLOCKS = (4096, 64, 1)


def compact_diff(before: str, after: str, max_chars: int = 4000) -> str:
    """The changed lines with two lines around them, cut at `max_chars`; '' where only line endings differ."""
    return _cut("\n".join(with_short_lines(_compared(before, after))), max_chars)


def hunk_headers(before: str, after: str) -> str:
    """Where two texts differ: the headers of their diff, `@@ -22,5 +22,5 @@`; of many the first ones."""
    headers = [line for line in _compared(before, after) if line.startswith(("@@", "["))]
    more = f" and {len(headers) - _MOST_HEADERS} more" if len(headers) > _MOST_HEADERS else ""
    return " ".join(headers[:_MOST_HEADERS]) + more


def _compared(before: str, after: str) -> list[str]:
    # Comparing only what lies between the equal ends keeps a small change in a long file cheap.
    head = _begin(before, same_head(before, after))
    tail = same_tail(before, after, min(len(before), len(after)) - head)
    old_part = _lines(before[head : _end(before, len(before) - tail)])
    new_part = _lines(after[head : _end(after, len(after) - tail)])
    shift = before.count("\n", 0, head)
    if len(old_part) + len(new_part) > _MAX_COMPARED_LINES:
        return [f"[{len(old_part)} lines from line {shift + 1} became {len(new_part)}; too many to show]"]
    return _hunks(old_part, new_part, shift)


def same_head(before: str, after: str) -> int:
    """How many characters two texts have in common at their beginning."""
    limit = min(len(before), len(after))
    size = 0
    # Blocks are compared at the speed of memory, characters are not.
    for block in _BLOCKS:
        while size + block <= limit and before[size : size + block] == after[size : size + block]:
            size += block
    return size


def same_tail(before: str, after: str, limit: int) -> int:
    """How many characters, at most `limit`, two texts have in common at their end."""
    size = 0
    for block in _BLOCKS:
        while size + block <= limit and _before_end(before, size, block) == _before_end(after, size, block):
            size += block
    return size


def _before_end(text: str, size: int, block: int) -> str:
    end = len(text) - size
    return text[end - block : end]


def _begin(text: str, place: int) -> int:
    """Where the line of `place` begins, and the lines before it that are shown with it."""
    for _ in range(_CONTEXT + 1):
        place = text.rfind("\n", 0, place)
        if place < 0:
            return 0
    return place + 1


def _end(text: str, place: int) -> int:
    """Where the lines end that are shown behind the one that `place` is in."""
    for _ in range(_CONTEXT + 1):
        place = text.find("\n", place) + 1
        if not place:
            return len(text)
    return place


def with_short_lines(diff: Sequence[str], *, keeps_changes: bool = False) -> list[str]:
    """The lines of a unified diff, each with its sign, and long ones around the characters that changed in them.

    Args:
        keeps_changes: only characters that did not change may be left out.
    """
    made: list[str] = []
    removed: list[str] = []
    for sign, group in groupby(diff, key=lambda line: line[:1]):
        lines = list(group)
        if sign == "-":
            removed = lines
            continue
        if sign == "+" and len(removed) == len(lines):
            pairs = [
                around_change(old[1:], new[1:], None if keeps_changes else _LONG_LINE)
                for old, new in zip(removed, lines, strict=True)
            ]
            made += [f"-{old}" for old, _ in pairs] + [f"+{new}" for _, new in pairs]
        else:
            made += [line if keeps_changes and line[:1] in "-+" else clipped(line) for line in (*removed, *lines)]
        removed = []
    return made + [line if keeps_changes else clipped(line) for line in removed]


def around_change(old: str, new: str, most: int | None = _LONG_LINE) -> tuple[str, str]:
    """Two lines, and if one is long what is near the characters in which they differ: about `most` of each."""
    if max(len(old), len(new)) <= _LONG_LINE:
        return old, new
    head = same_head(old, new)
    tail = same_tail(old, new, min(len(old), len(new)) - head)
    start, end = max(0, head - _AROUND_CHANGE), max(0, tail - _AROUND_CHANGE)
    return _part(old, start, end, most), _part(new, start, end, most)


def clipped(line: str, most: int = _LONG_LINE) -> str:
    """The line, or the beginning and the end of a long one."""
    if len(line) <= most:
        return line
    end = most // 4
    return f"{line[: most - end]}{_left_out(len(line) - most)}{line[-end:]}"


def _part(line: str, start: int, end: int, most: int | None) -> str:
    part = line[start : len(line) - end]
    return f"{_left_out(start)}{part if most is None else clipped(part, most)}{_left_out(end)}"


def _left_out(count: int) -> str:
    return f"[… {count} characters]" if count else ""


def _lines(text: str) -> list[str]:
    lines = text.replace("\r\n", "\n").split("\n")
    return lines if lines[-1] else lines[:-1]


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


# Finds a piece of text in a file, and where it is not there, what comes closest.

_LOOKALIKES = str.maketrans(
    {
        "‘": "'", "’": "'", "‚": "'", "′": "'", "“": '"', "”": '"', "„": '"', "″": '"',
        "–": "-", "—": "-", "−": "-", "‐": "-", "‑": "-", "…": "...",
        "\u00a0": " ", "\u202f": " ", "\u200b": "", "\ufeff": "",
    }
)  # fmt: skip
_QUOTES = str.maketrans({"'": '"', "`": '"'})
_WORD = re.compile(r"[^\W\d_]{2,}|\d{2,}")
_MOST_WORDS = 64
_MOST_PLACES = 1000
_CANDIDATES = 8
_MIN_SCORE = 0.5
_MAX_COMPARED_CHARS = 300


@dataclass(frozen=True, slots=True)
class Region:
    """Lines of a file that resemble what was looked for.

    Attributes:
        first: number of its first line (1-based).
        score: 1 when only white space, quotes or letter case differ; less with each other difference.
        is_same: the lines are those that were looked for, so that only line breaks around them differ.
    """

    first: int
    lines: tuple[str, ...]
    score: float
    is_same: bool


def occurrences(text: str, needle: str) -> list[int]:
    """Every position where `needle` begins in `text`, overlapping ones too."""
    found: list[int] = []
    position = text.find(needle)
    while position >= 0:
        found.append(position)
        position = text.find(needle, position + 1)
    return found


def line_starts(lines: Sequence[str]) -> list[int]:
    """Where lines begin that one character ends each, and at last where the text ends."""
    return [0, *map(add, accumulate(map(len, lines)), count(1))]


def line_number(text: str, position: int) -> int:
    """The line (1-based) that a position is in."""
    return text.count("\n", 0, position) + 1


def closest_regions(text: str, needle: str, limit: int = 3) -> list[Region]:
    """Up to `limit` regions of `text` that resemble `needle`, the closest first.

    The needle's words vote for where it would begin; only the few best places are compared line by line, so that a
    long file costs little.
    """
    wanted = needle.strip("\n").split("\n")
    lines = text.split("\n")
    if not "".join(wanted).strip():
        return []
    wanted_keys = [_key(line) for line in wanted]
    scored = sorted(
        ((_score(lines, start, wanted_keys), start) for start in _candidates(lines, wanted)),
        key=lambda pair: (-pair[0], pair[1]),
    )
    regions: list[Region] = []
    for score, start in scored:
        apart = all(abs(start + 1 - region.first) >= len(wanted) for region in regions)
        if score >= _MIN_SCORE and apart and len(regions) < limit:
            regions.append(_region(lines, start, wanted, score))
    return regions


def _candidates(lines: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """The first lines (0-based) of the places that share the most, and the rarest, words with `wanted`."""
    asked = {word.casefold(): index for index, line in enumerate(wanted) for word in _WORD.findall(line)}
    asked = dict(sorted(asked.items(), key=lambda item: -len(item[0]))[:_MOST_WORDS])
    places: defaultdict[str, list[int]] = defaultdict(list)
    for number, line in enumerate(lines):
        for word in asked.keys() & map(str.casefold, _WORD.findall(line)):
            places[word].append(number)
    votes: defaultdict[int, float] = defaultdict(float)
    for word, found in places.items():
        for number in found[:_MOST_PLACES]:
            # A line too many or too few moves later words' votes by one: neighbours get half the weight.
            for start, share in ((0, 1.0), (-1, 0.5), (1, 0.5)):
                votes[max(0, number - asked[word] + start)] += share / len(found)
    return sorted(votes, key=lambda start: (-votes[start], start))[:_CANDIDATES]


def _key(line: str) -> str:
    """The line without what a reader would hardly see: white space, kind of quotes, letter case, look-alikes."""
    if not line.isascii():
        line = unicodedata.normalize("NFKC", line.translate(_LOOKALIKES))
    return " ".join(line.translate(_QUOTES).split()).casefold()


def _score(lines: Sequence[str], start: int, wanted: Sequence[str]) -> float:
    """The mean likeness of the lines from `start` on to the keys `wanted`, weighted by their length."""
    has = [_key(line) for line in lines[start : start + _window(len(wanted))]]
    matcher = SequenceMatcher(None, has, wanted)
    likeness = 0.0
    weight = sum(len(line) + 1 for line in wanted)
    for tag, has_from, has_to, wanted_from, wanted_to in matcher.get_opcodes():
        if tag == "equal":
            likeness += sum(len(line) + 1 for line in wanted[wanted_from:wanted_to])
        elif tag == "replace":
            pairs = zip(has[has_from:has_to], wanted[wanted_from:wanted_to], strict=False)
            likeness += sum(_likeness(a, b) * (len(b) + 1) for a, b in pairs)
    return likeness / weight


def _window(count: int) -> int:
    """How many lines of a file are looked at for `count` lines: some may have been left out."""
    return count + count // 4 + 2 if count > 1 else count


def _likeness(first: str, second: str) -> float:
    matcher = SequenceMatcher(None, first[:_MAX_COMPARED_CHARS], second[:_MAX_COMPARED_CHARS], autojunk=False)
    return matcher.quick_ratio() ** 2


def _region(lines: Sequence[str], start: int, wanted: Sequence[str], score: float) -> Region:
    has = lines[start : start + _window(len(wanted))]
    steps = SequenceMatcher(None, list(map(_key, has)), list(map(_key, wanted))).get_opcodes()
    # What comes before the first line that was meant and after the last is none of the place.
    first = steps[0][2] if steps[0][0] == "delete" else 0
    last = len(has)
    if steps[-1][0] == "delete":
        last = steps[-1][1]
    elif steps[-1][0] == "replace":
        last = min(len(has), steps[-1][1] + steps[-1][4] - steps[-1][3])
    found = tuple(has[first:last])
    return Region(start + first + 1, found, score, is_same=found == tuple(wanted))
