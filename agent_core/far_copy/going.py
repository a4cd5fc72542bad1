"""What has changed here and is brought to a copy, and what cannot be, as it was changed there as well."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from pathlib import Path

from agent_core.far_copy.choosing import Chosen
from agent_core.far_copy.facts import NOTHING, Fact
from agent_core.far_copy.looking import Looked
from agent_core.far_copy.packing import is_file_here
from agent_core.far_copy.state import State
from tools.light_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Changed:
    """What is another here than when the two sides were last brought together.

    Attributes:
        files: what each is now; None where it is no file any more.
        links: where each leads now; None where it is no link any more.
    """

    files: Mapping[str, Fact | None]
    links: Mapping[str, str | None]

    def __bool__(self) -> bool:
        return bool(self.files or self.links)


@dataclass(slots=True)
class Going:
    """What of that is brought there.

    Attributes:
        files, links: as in `Changed`.
        same: files that are so there already.
        both: what was changed there as well.
    """

    files: dict[str, Fact | None] = field(default_factory=dict)
    links: dict[str, str | None] = field(default_factory=dict)
    same: dict[str, Fact | None] = field(default_factory=dict)
    both: list[tuple[str, Fact | str | None]] = field(default_factory=list)

    @property
    def written(self) -> Iterator[str]:
        """What is to be a file or a link there."""
        yield from (name for name, fact in self.files.items() if fact is not None)
        yield from (name for name, target in self.links.items() if target is not None)

    @property
    def removed(self) -> Iterator[str]:
        """What is to be gone there; also what becomes of another kind, which not every tar replaces."""
        yield from (name for name, fact in self.files.items() if fact is None)
        yield from self.links


def changed_here(top: Path, state: State, chosen: Chosen, now: Mapping[str, Fact]) -> Changed:
    """Compare the workspace `top`, whose files are `now`, with what it was."""
    files: dict[str, Fact | None] = {
        name: None
        for name, pair in state.files.items()
        if pair.here is not None and name not in now and not is_file_here(top / name)
    }
    files |= {name: fact for name, fact in now.items() if state.files.get(name, NOTHING).here != fact}
    links: dict[str, str | None] = {
        name: None for name in state.links if name not in chosen.links and not (top / name).is_symlink()
    }
    links |= {name: target for name, target in chosen.links.items() if state.links.get(name) != target}
    return Changed(files, links)


def going_there(changed: Changed, state: State, found: Looked) -> Going:
    """What of it is brought to a place that is as `found`: never over what was changed there."""
    going, free = Going(), set[str]()
    for name, fact in changed.files.items():
        pair, there = state.files.get(name, NOTHING), found.files.get(name)
        if there == fact and not (fact is None and found.has(name)):
            going.same[name] = fact
        elif not pair.apart and there == pair.there and (_is_free(name, found) or _is_our_link(name, state, found)):
            going.files[name] = fact
            free.add(name)
        else:
            going.both.append((name, fact))
    for name, target in changed.links.items():
        if name in free or _is_our_link(name, state, found) or (target is not None and not found.has(name)):
            going.links[name] = target
            free.add(name)
        elif target is not None:
            going.both.append((name, target))
    return _without_blocked(going, free, found)


def _is_free(name: str, found: Looked) -> bool:
    return name not in found.unknown and name not in found.odd


def _is_our_link(name: str, state: State, found: Looked) -> bool:
    return name in state.links and name in found.odd


def _without_blocked(going: Going, free: set[str], found: Looked) -> Going:
    """Without what has a directory in its place there, or a file in the place of one of its directories."""
    left = {name for name in (*found.files, *found.unknown, *found.odd) if name not in free}
    in_use = {above for name in left for above in _above(name)}
    for name in list(going.written):
        if name in in_use or any(above in left for above in _above(name)):
            going.both.append((name, going.files.pop(name, None) or going.links.pop(name, None)))
    return going


def _above(name: str) -> Iterable[str]:
    parts = name.split("/")
    return ("/".join(parts[:end]) for end in range(1, len(parts)))
