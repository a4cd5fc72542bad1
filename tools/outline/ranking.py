"""Ranks definitions by who uses them, and writes the map."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import NamedTuple

from tools.light_dataclass import dataclass
from tools.outline.parsing import Outline

# Which files and definitions matter most: those that others refer to, that matter themselves. Files are nodes. A file
# that refers to a name is linked to the files that define it, the more strongly the fewer they are. Importance flows
# along the links (PageRank), from where the interest is: the focus, what the model has read, and a little from
# everywhere.

_DAMPING = 0.5
_ROUNDS = 25
_ENOUGH = 1e-5
_MAX_DEFINERS = 12  # a name that more files define says nothing about any of them
_TEST_WEIGHT = 0.1
_ENTRY_WEIGHT = 3.0
_OWN_SHARE = 0.2  # of a file's importance goes to its definitions, whether or not anyone refers to them
_FOCUSED_NAME = 30.0
_FOCUSED_FILE = 4.0
_ASKED = 1000.0  # whatever it is to others: it was asked for by its name
_PRIVATE = 0.3
_VALUE = 0.5
_SHORT = 8
_COMMON = 0.15
_FAILING = 0.25
_FOCUS_SHARE = 3.0  # of the focus, to all other interest together
_MEMBER = 0.5
_FAR_MEMBER = 0.01

_TEST = re.compile(
    r"(?:^|/)(?:tests?|testing|spec|specs|__tests__|examples?|benchmarks?|fixtures|vendor|third_party|node_modules|docs?)/"
    r"|(?:^|/)(?:test_[^/]*|conftest\.py|[^/]*(?:_test|\.test|\.spec|_spec|Tests?)\.\w+)$"
)
_BETWEEN_NAMES = re.compile(r"\.|::|#|->")
_PRIVATE_NAME = re.compile(r"#\w+")  # of JavaScript
_QUALIFIED = re.compile(r"[\w$]+(?:(?:\.|::|#|->)[\w$]+)+")
_FAILURE = re.compile(r"(?:Error|Exception)\b")
_ENTRIES = frozenset({"main", "__main__", "index", "app", "server", "cli", "lib", "mod", "entry"})


@dataclass(frozen=True, slots=True)
class Ranked:
    """A file, how much it matters, and how much each of its definitions does (in their order)."""

    path: PurePath
    outline: Outline
    score: float
    scores: tuple[float, ...]


class _Link(NamedTuple):  # there are many, and a frozen dataclass takes three times as long to make
    """A name that the file `source` refers to, and how strongly that links it to the file `target`."""

    source: int
    target: int
    name: str
    weight: float


def rank(
    outlines: Mapping[PurePath, Outline], focus: Sequence[str] = (), seen: Collection[PurePath] = ()
) -> list[Ranked]:
    """The files with their definitions, the most important first.

    Args:
        outlines: by path relative to the root of the map.
        focus: names of things, or paths and parts of paths, that matter.
        seen: files that the model has read.
    """
    paths = sorted(outlines)
    words = focus_words(focus, outlines)
    files = [outlines[path] for path in paths]
    tests = [bool(_TEST.search(path.as_posix())) for path in paths]
    in_focus = [_in_focus(path, outline, words) for path, outline in zip(paths, files, strict=True)]
    interest = [_interest(path, is_test, path in seen) for path, is_test in zip(paths, tests, strict=True)]
    share = _FOCUS_SHARE * sum(interest) / (sum(in_focus) or 1.0)
    start = [base + share * matched for base, matched in zip(interest, in_focus, strict=True)]
    links = _links(files)
    importance = _flow(links, start)
    by_name = _by_name(links, importance)
    asked = _asked(words, files)
    ranked = []
    for index, (path, outline) in enumerate(zip(paths, files, strict=True)):
        boost = _FOCUSED_FILE if in_focus[index] >= _FOCUSED_NAME else _TEST_WEIGHT if tests[index] else 1.0
        own = _OWN_SHARE * importance[index]
        scores = tuple(
            (own / math.sqrt(len(outline.definitions)) + by_name[index].get(definition.name, 0.0)) * boost * weight
            + (_ASKED if definition.name.lower() in asked else 0.0)
            for definition, weight in zip(outline.definitions, _weights(outline, words), strict=True)
        )
        ranked.append(Ranked(path, outline, importance[index] * boost, scores))
    return sorted(ranked, key=lambda each: (-each.score, each.path))


def focus_words(focus: Sequence[str], paths: Collection[PurePath]) -> list[str]:
    """What the focus names, in small letters: `Store._keep()` names two things, `store.py` is a file."""
    files = {name.lower() for path in paths for name in (path.as_posix(), path.name)}
    words: list[str] = []
    for given in focus:
        word = given.strip().lower().removeprefix("./").removesuffix("()")
        is_name = _QUALIFIED.fullmatch(word) and word not in files
        words += [*_BETWEEN_NAMES.split(word), *_PRIVATE_NAME.findall(word)] if is_name else [word]
    return [word for word in dict.fromkeys(words) if word]


def _asked(words: Sequence[str], files: Sequence[Outline]) -> set[str]:
    """The words that name definitions, private ones too; not those of names that are everywhere."""
    wanted = set(words)
    counts = Counter(
        name for outline in files for name in {each.name.lower() for each in outline.definitions} & wanted
    )
    return {name for name, count in counts.items() if count <= _MAX_DEFINERS}


def _links(files: Sequence[Outline]) -> list[_Link]:
    alone: dict[str, list[int]] = defaultdict(list)
    members: dict[str, list[int]] = defaultdict(list)
    for index, outline in enumerate(files):
        for name in {each.name for each in outline.definitions if not outline.is_member(each)}:
            alone[name].append(index)
        for name in {each.name for each in outline.definitions}:
            members[name].append(index)
    links: list[_Link] = []
    for source, outline in enumerate(files):
        links += (certain := list(_named(source, outline.references, alone, len(files))))
        near = {link.target for link in certain}
        # `thing.get()` is anybody's, but for those whose things the file uses.
        links += [
            _Link(source, target, name, weight * (_MEMBER if target in near else _FAR_MEMBER))
            for _, target, name, weight in _named(source, outline.members, members, len(files))
        ]
    return links


def _named(
    source: int, counts: Mapping[str, int], defined: Mapping[str, Sequence[int]], files: int
) -> Iterator[_Link]:
    for name, count in counts.items():
        targets = defined.get(name, ())
        if not targets or len(targets) > _MAX_DEFINERS or source in targets:
            continue
        weight = _distinct(name) * math.sqrt(count) * math.log(1 + files / len(targets)) / len(targets)
        for target in targets:
            yield _Link(source, target, name, weight)


def _distinct(name: str) -> float:
    """How surely a name means what the project defines: `format` and `items` are mostly somebody else's."""
    if name.startswith(("_", "#")):
        return _PRIVATE
    return _COMMON if len(name) <= _SHORT and name.islower() and "_" not in name else 1.0


def _flow(links: Sequence[_Link], start: Sequence[float]) -> list[float]:
    """PageRank by repetition: how much importance is in each file in the end. They add up to 1."""
    total = sum(start) or 1.0
    origin = [interest / total for interest in start]
    out = [0.0] * len(start)
    merged: dict[tuple[int, int], float] = defaultdict(float)
    for link in links:
        out[link.source] += link.weight
        merged[link.source, link.target] += link.weight
    edges = [(source, target, weight / out[source]) for (source, target), weight in merged.items()]
    importance = origin
    for _ in range(_ROUNDS):
        loose = sum(value for value, leaving in zip(importance, out, strict=True) if not leaving)
        following = [((1 - _DAMPING) + _DAMPING * loose) * share for share in origin]
        for source, target, share in edges:
            following[target] += _DAMPING * importance[source] * share
        moved = sum(abs(new - old) for new, old in zip(following, importance, strict=True))
        importance = following
        if moved < _ENOUGH:
            break
    return importance


def _by_name(links: Sequence[_Link], importance: Sequence[float]) -> list[dict[str, float]]:
    """For each file, what flows into it by each name that it defines."""
    out = [0.0] * len(importance)
    for link in links:
        out[link.source] += link.weight
    arriving: list[dict[str, float]] = [defaultdict(float) for _ in importance]
    for link in links:
        arriving[link.target][link.name] += importance[link.source] * link.weight / out[link.source]
    return arriving


def _interest(path: PurePath, is_test: bool, is_seen: bool) -> float:
    interest = _TEST_WEIGHT if is_test else 1.0
    if path.stem.lower() in _ENTRIES and not is_test:
        interest *= _ENTRY_WEIGHT
    if is_seen:
        interest += _ENTRY_WEIGHT
    return interest


def _in_focus(path: PurePath, outline: Outline, words: Sequence[str]) -> float:
    """How much of the focus is a file: much when it is named, or defines what is named, less when it is near."""
    if not words:
        return 0.0
    whole = path.as_posix().lower()
    names = {definition.name.lower() for definition in outline.definitions}
    used = {name.lower() for name in (*outline.references, *outline.members)}
    found = 0.0
    for word in words:
        folder = word.rstrip("/")
        if whole == word or path.name.lower() == word or path.stem.lower() == word or word in names:
            found += _FOCUSED_NAME
        elif (
            word in used
            or whole.startswith(f"{folder}/")
            or f"/{folder}/" in whole
            or any(word in name for name in names)
        ):
            found += _ENTRY_WEIGHT
        elif word in whole:
            found += 1.0
    return found


def _weights(outline: Outline, words: Sequence[str]) -> list[float]:
    """How much each definition says by itself."""
    members = Counter(definition.parent for definition in outline.definitions)
    weights: list[float] = []
    for index, definition in enumerate(outline.definitions):
        name = definition.name.lower()
        within = definition.parent >= 0 and outline.definitions[definition.parent].name.lower() in words
        if name in words or within:
            weights.append(_FOCUSED_NAME if name in words else _FOCUSED_FILE)
            continue
        weight = 1.0 if definition.kind != "value" else _VALUE
        if _FAILURE.search(definition.signature):
            weight = _FAILING  # whatever can fail refers to exceptions, and they say little
        if any(word in name for word in words):
            weight *= _ENTRY_WEIGHT
        if name.startswith(("_", "#")):
            weight *= _PRIVATE
        weights.append(weight * (1 + math.log1p(members[index])))
    return weights


# Writes a map for a model: the definitions that matter most, by file, within a number of tokens.

BYTES_A_TOKEN = 3.5
"""Of code, on the low side: it is rather too short than too long."""

_NEXT_OF_FILE = 0.9  # each further definition of a file has to matter more


@dataclass(slots=True)
class Telling:
    """The map's text.

    Attributes:
        text: a paragraph for each file, the most important first.
        files, definitions: how many are in it.
    """

    text: str = ""
    files: int = 0
    definitions: int = 0


def tell(ranked: Sequence[Ranked], max_tokens: int) -> Telling:
    """The definitions with the highest scores that fit into `max_tokens`."""
    room = max_tokens * BYTES_A_TOKEN
    chosen: dict[int, set[int]] = {}  # of each file's position, the indexes of definitions
    for position, index in _in_order(ranked):
        file = ranked[position]
        mine = chosen.get(position, set())
        new = [each for each in _with_parents(file, index) if each not in mine]
        cost = sum(_size(_line(file, each)) for each in new)
        if not mine:
            cost += _size(file.path.as_posix())
        if cost > room:
            if room < _size(file.path.as_posix()):
                break
            continue
        room -= cost
        chosen[position] = mine.union(new)
    parts = [_paragraph(ranked[position], sorted(chosen[position])) for position in sorted(chosen)]
    return Telling("\n".join(parts), len(parts), sum(map(len, chosen.values())))


def _in_order(ranked: Sequence[Ranked]) -> list[tuple[int, int]]:
    """Positions of files with indexes of their definitions, the best first."""
    scored: list[tuple[float, int, int]] = []
    for position, file in enumerate(ranked):
        best_first = sorted(range(len(file.scores)), key=lambda index: (-file.scores[index], index))
        factor = 1.0
        for index in best_first:
            scored.append((-file.scores[index] * factor, position, index))
            factor *= _NEXT_OF_FILE
    return [(position, index) for _, position, index in sorted(scored)]


def _with_parents(file: Ranked, index: int) -> list[int]:
    indexes = []
    while index >= 0:
        indexes.append(index)
        index = file.outline.definitions[index].parent
    return indexes


def _paragraph(file: Ranked, indexes: Sequence[int]) -> str:
    return "\n".join([file.path.as_posix(), *(_line(file, index) for index in indexes)])


def _line(file: Ranked, index: int) -> str:
    definition = file.outline.definitions[index]
    depth = len(_with_parents(file, index)) - 1
    return f"{definition.line}|{'  ' * depth}{definition.signature}"


def _size(line: str) -> int:
    return len(line.encode("utf-8", "replace")) + 1
