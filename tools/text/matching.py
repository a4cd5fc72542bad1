"""Finds text in a file, the region most like it, and how lines differ; compact diffs."""

from __future__ import annotations

import difflib
import re
import unicodedata
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
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


# How two lines differ that a reader would take for the same: white space, quotes, escapes, look-alikes.

_MAX_SHOWN = 300
_LOOKALIKES = str.maketrans(
    {
        "‘": "'", "’": "'", "‚": "'", "′": "'", "“": '"', "”": '"', "„": '"', "″": '"',
        "–": "-", "—": "-", "−": "-", "‐": "-", "‑": "-", "…": "...",
        "\u00a0": " ", "\u202f": " ", "\u200b": "", "\ufeff": "",
    }
)  # fmt: skip
_QUOTES = str.maketrans({"'": '"', "`": '"'})
_ESCAPES = (("\\n", "\n"), ("\\t", "\t"), ('\\"', '"'), ("\\'", "'"), ("\\\\", "\\"))


def normalised(line: str) -> str:
    """The line without what `describe_difference` has a name for, so that such lines compare equal."""
    if not line.isascii():
        line = unicodedata.normalize("NFKC", line.translate(_LOOKALIKES))
    return " ".join(line.translate(_QUOTES).split()).casefold()


def describe_difference(wrote: str, has: str) -> str:
    """How two different lines differ, for whoever sees the file's line too.

    Returns:
        «you wrote '…'» for other text, and «you wrote '…', the file has '…' (why)» for what is hardly to be seen.
    """
    reasons = _reasons(wrote, has)
    yours, theirs = map(repr, around_change(wrote, has, _MAX_SHOWN))
    if not reasons and len(has) <= _MAX_SHOWN:
        return f"you wrote {yours}"
    why = f" ({', '.join(reasons)})" if reasons else ""
    return f"you wrote {yours}, the file has {theirs}{why}"


def _reasons(wrote: str, has: str) -> list[str]:
    """What differs, where that has a name; blanks matter only where the rest is the same but for that."""
    reasons = _space_reasons(wrote, has)
    yours, theirs = wrote.strip(), has.strip()
    if yours == theirs:
        return reasons
    for name, same in (
        ("spaces within the line", lambda text: " ".join(text.split())),
        ("kind of quotes", lambda text: text.translate(_QUOTES)),
        ("upper and lower case", str.casefold),
        ("look-alike characters", lambda text: unicodedata.normalize("NFKC", text.translate(_LOOKALIKES))),
        ("escapes", _unescaped),
    ):
        if same(yours) == same(theirs):
            return [*reasons, name]
    return ["several small differences"] if normalised(wrote) == normalised(has) else []


def _space_reasons(wrote: str, has: str) -> list[str]:
    reasons: list[str] = []
    yours, theirs = _indent(wrote), _indent(has)
    if yours != theirs:
        reasons.append(f"indented with {_named(theirs)}, not {_named(yours)}")
    if wrote.endswith("\r") != has.endswith("\r"):
        reasons.append("Windows line ending" if has.endswith("\r") else "no Windows line ending")
    elif _tail(wrote) != _tail(has):
        reasons.append("white space at the end")
    return reasons


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _tail(line: str) -> str:
    return line[len(line.rstrip()) :]


def _named(space: str) -> str:
    counts = ((space.count("\t"), "tab"), (space.count(" "), "space"))
    named = [f"{count} {word}{'s' if count > 1 else ''}" for count, word in counts if count]
    return " and ".join(named) or "nothing"


def _unescaped(text: str) -> str:
    for escaped, plain in _ESCAPES:
        text = text.replace(escaped, plain)
    return text


# Finds a piece of text in a file, and where it is not there, what comes closest and how that differs.

_NAME = re.compile(r"\w+")
_MIN_PIECE = 3
_MAX_PROBES = 64
_FEW_HITS = 200
_MAX_HITS = 1000
_CANDIDATES = 8
_MIN_SCORE = 0.5
_MAX_COMPARED_CHARS = 300
_GRAM = 8
_MAX_PIECE = 600

Probe = tuple[str, int]
"""A piece to look for, and the line (0-based) of what is looked for that it is in."""


@dataclass(frozen=True, slots=True)
class Region:
    """Lines of a file that resemble what was looked for.

    Attributes:
        first: number of its first line (1-based).
        score: 1 when only white space, quotes or letter case differ; less with each other difference.
        differences: «line 12: you wrote …, the file has … (why)».
    """

    first: int
    lines: tuple[str, ...]
    score: float
    differences: tuple[str, ...]


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

    Pieces of the needle vote for where it would begin; only the few best places are compared line by line, so that a
    long file costs little.
    """
    wanted = needle.strip("\n").split("\n")
    lines = text.split("\n")
    if not "".join(wanted).strip():
        return []
    wanted_keys = [normalised(line) for line in wanted]
    scored = sorted(
        ((_score(lines, start, wanted_keys), start) for start in _candidates(text, lines, wanted)),
        key=lambda pair: (-pair[0], pair[1]),
    )
    regions: list[Region] = []
    for score, start in scored:
        apart = all(abs(start + 1 - region.first) >= len(wanted) for region in regions)
        if score >= _MIN_SCORE and apart and len(regions) < limit:
            regions.append(_region(lines, start, wanted, score))
    return regions


def _candidates(text: str, lines: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """The first lines (0-based) of the places that share the most, and the rarest, pieces with `wanted`."""
    starts = line_starts(lines)
    probes = _probes(wanted)
    # What is frequent says little and costs much: it is asked only where nothing else is there.
    votes, frequent = _votes(text, starts, probes, _FEW_HITS)
    if not votes:
        votes, _ = _votes(text, starts, frequent, _MAX_HITS)
    # A line too many or too few moves later words' votes by one: neighbours lend half their weight.
    weights = {start: votes[start] + (votes.get(start - 1, 0) + votes.get(start + 1, 0)) / 2 for start in votes}
    return sorted(weights, key=lambda start: (-weights[start], start))[:_CANDIDATES]


def _votes(
    text: str, starts: Sequence[int], probes: Sequence[Probe], most: int
) -> tuple[dict[int, float], list[Probe]]:
    """The weight of each line (0-based) as the first of the place, and the pieces that are too frequent to say."""
    votes: defaultdict[int, float] = defaultdict(float)
    frequent: list[Probe] = []
    for piece, index in probes:
        hits = _hits(text, piece, most)
        if len(hits) > most:
            frequent.append((piece, index))
            continue
        for position in hits:
            votes[max(0, bisect_right(starts, position) - 1 - index)] += 1 / len(hits)
    return dict(votes), frequent


def _probes(wanted: Sequence[str]) -> list[Probe]:
    """Pieces to look for: those that say most, over all lines."""
    by_line = [_pieces(line.strip()) for line in wanted]
    probes: list[Probe] = []
    for rank in range(max(map(len, by_line))):
        probes += [(pieces[rank], index) for index, pieces in enumerate(by_line) if rank < len(pieces)]
        if len(probes) >= _MAX_PROBES:
            break
    return probes[:_MAX_PROBES]


def _pieces(line: str) -> list[str]:
    """The line, its halves (a slip in one leaves the other), its names and the halves of these."""
    names = sorted(set(_NAME.findall(line)), key=lambda name: (-len(name), name))
    pieces = [line, *_halves(line)]
    pieces += names
    pieces += [half for name in names if len(name) >= _MIN_PIECE * 2 for half in _halves(name)]
    return [piece for piece in dict.fromkeys(pieces) if len(piece) >= _MIN_PIECE]


def _halves(piece: str) -> tuple[str, str]:
    middle = len(piece) // 2
    return piece[:middle], piece[middle:]


def _hits(text: str, piece: str, most: int) -> list[int]:
    """Where `piece` is; no more than one place over `most`."""
    hits: list[int] = []
    position = text.find(piece)
    while position >= 0 and len(hits) <= most:
        hits.append(position)
        position = text.find(piece, position + 1)
    return hits


def _score(lines: Sequence[str], start: int, wanted: Sequence[str]) -> float:
    """The mean likeness of the lines from `start` on to `wanted` (both normalised), weighted by their length."""
    has = [normalised(line) for line in lines[start : start + _window(len(wanted))]]
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
    steps = _steps(has, wanted)
    # What comes before the first line that was meant and after the last is none of the place.
    first = steps[0][2] if steps[0][0] == "delete" else 0
    last = len(has)
    if steps[-1][0] == "delete":
        last = steps[-1][1]
    elif steps[-1][0] == "replace":
        last = min(len(has), steps[-1][1] + steps[-1][4] - steps[-1][3])
    has, start = has[first:last], start + first
    return Region(start + 1, tuple(has), score, tuple(_differences(has, start, wanted)))


def _steps(has: Sequence[str], wanted: Sequence[str]) -> Sequence[tuple[str, int, int, int, int]]:
    matcher = SequenceMatcher(None, [normalised(line) for line in has], [normalised(line) for line in wanted])
    return matcher.get_opcodes()


def _differences(has: Sequence[str], start: int, wanted: Sequence[str]) -> Iterator[str]:
    for tag, has_from, has_to, wanted_from, wanted_to in _steps(has, wanted):
        yours, theirs = wanted[wanted_from:wanted_to], has[has_from:has_to]
        paired = min(len(yours), len(theirs)) if tag in {"equal", "replace"} else 0
        for index in range(paired):
            if yours[index] != theirs[index]:
                yield f"line {start + has_from + index + 1}: {describe_difference(yours[index], theirs[index])}"
        if left_out := len(theirs) - paired:
            first = start + has_from + paired + 1
            yield f"you left out {f'line {first}' if left_out == 1 else f'lines {first}–{first + left_out - 1}'}"
        for line in yours[paired:]:
            yield f"you wrote {clipped(line)!r}, which the file does not have before line {start + has_to + 1}"


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a long line that resembles what was looked for.

    Attributes:
        line: the line's number (1-based).
        first, last: its columns (1-based, inclusive).
        text: what is there.
    """

    line: int
    first: int
    last: int
    text: str


def closest_piece(text: str, needle: str) -> Piece | None:
    """The part of a line of more than 300 characters that most resembles `needle`, None where there is none."""
    wanted = needle.strip()[:_MAX_PIECE]
    if len(wanted) < _GRAM or all(len(line) <= _MAX_COMPARED_CHARS for line in text.split("\n")):
        return None
    start = _likely_start(text, wanted)
    if start is None:
        return None
    begin = max(text.rfind("\n", 0, start) + 1, start - _GRAM)
    end = min(start + len(wanted) + 2 * _GRAM, len(text))
    blocks = [
        block
        for block in SequenceMatcher(None, text[begin:end], wanted, autojunk=False).get_matching_blocks()
        if block.size
    ]
    if sum(block.size for block in blocks) < _MIN_SCORE * len(wanted):
        return None
    first, last = begin + blocks[0].a, begin + blocks[-1].a + blocks[-1].size
    line_start, line_end = text.rfind("\n", 0, first) + 1, text.find("\n", first)
    last = last if line_end < 0 else min(last, line_end)
    return Piece(line_number(text, first), first - line_start + 1, last - line_start, text[first:last])


def _likely_start(text: str, wanted: str) -> int | None:
    """Where most pieces of `wanted` say that it begins; blanks and slips move these places a little."""
    votes: defaultdict[int, float] = defaultdict(float)
    pieces = {offset: wanted[offset : offset + _GRAM] for offset in range(0, len(wanted) - _GRAM + 1, _GRAM // 2)}
    pieces |= {found.start(): found[0] for found in _NAME.finditer(wanted) if len(found[0]) >= _MIN_PIECE}
    for offset, piece in pieces.items():
        hits = _hits(text, piece, _FEW_HITS)
        if len(hits) <= _FEW_HITS:
            for hit in hits:
                votes[max(0, hit - offset)] += 1 / len(hits)
    if not votes:
        return None
    near: defaultdict[int, float] = defaultdict(float)
    for start, weight in votes.items():
        for bucket in (start // _GRAM, start // _GRAM + 1):
            near[bucket] += weight
    best = max(near, key=lambda bucket: (near[bucket], -bucket))
    return max((start for start in votes if start // _GRAM in {best, best - 1}), key=lambda start: votes[start])
