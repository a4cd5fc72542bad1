"""Where in the text of a config.yaml a setting stands, by line and column."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import yaml

from tools.light_dataclass import dataclass

Path = Sequence[object]


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a text. `line` and `column` count from 1, as editors show them; `start` and `end` from 0."""

    line: int
    column: int
    start: int
    end: int


class Layout:
    """The keys and values of a YAML text, by their path."""

    def __init__(self, text: str) -> None:
        """Read `text`.

        Raises:
            yaml.YAMLError: it is no YAML.
        """
        self._root = yaml.compose(text, Loader=yaml.SafeLoader)

    def key(self, path: Path) -> Place | None:
        """The key at `path`, or the last one on the way that is there."""
        return _place(self._walk(path)[0])

    def value(self, path: Path) -> Place | None:
        """The value at `path`; where none is there, the last key on the way that is."""
        key, value, is_whole = self._walk(path)
        return _place(value if is_whole else key)

    def twice(self) -> Iterator[tuple[tuple[str, ...], Place]]:
        """Keys that stand in their mapping before: the last one counts, silently."""
        yield from _twice(self._root, (), set())

    def _walk(self, path: Path) -> tuple[yaml.Node | None, yaml.Node | None, bool]:
        key: yaml.Node | None = None
        at = self._root
        for step in path:
            found = _step(at, step)
            if found is None:
                return key, at, False
            key, at = found[0] or key, found[1]
        return key, at, True


def _step(at: yaml.Node | None, step: object) -> tuple[yaml.Node | None, yaml.Node] | None:
    if isinstance(at, yaml.MappingNode):
        # The last of equal keys counts.
        return next((pair for pair in reversed(at.value) if pair[0].value == str(step)), None)
    if isinstance(at, yaml.SequenceNode) and isinstance(step, int) and 0 <= step < len(at.value):
        return None, at.value[step]
    return None


def _twice(at: yaml.Node | None, path: tuple[str, ...], seen: set[int]) -> Iterator[tuple[tuple[str, ...], Place]]:
    if at is None or id(at) in seen:  # an alias may lead round in circles
        return
    seen.add(id(at))
    if isinstance(at, yaml.SequenceNode):
        for number, item in enumerate(at.value):
            yield from _twice(item, (*path, str(number)), seen)
    if not isinstance(at, yaml.MappingNode):
        return
    names: set[str] = set()
    for key, value in at.value:
        name, place = str(key.value), _place(key)
        if isinstance(key, yaml.ScalarNode) and name in names and name != "<<" and place is not None:
            yield (*path, name), place
        names.add(name)
        yield from _twice(value, (*path, name), seen)


def _place(node: yaml.Node | None) -> Place | None:
    if node is None:
        return None
    mark = node.start_mark
    return Place(mark.line + 1, mark.column + 1, mark.index, node.end_mark.index)
