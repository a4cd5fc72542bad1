"""All that is wrong in the files of a home's settings, each with its place: for whoever looks, not for a start."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from agent_core.home import Home
from agent_core.own_files import read_text, why_unreadable
from agent_core.settings.model import SHARED_PARTS, Settings
from agent_core.settings.validation import told, unknown_keys
from tools.light_dataclass import dataclass

# Where in the text of a config.yaml a setting stands, by line and column.

SettingPath = Sequence[object]


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

    def key(self, path: SettingPath) -> Place | None:
        """The key at `path`, or the last one on the way that is there."""
        return _place(self._walk(path)[0])

    def value(self, path: SettingPath) -> Place | None:
        """The value at `path`; where none is there, the last key on the way that is."""
        key, value, is_whole = self._walk(path)
        return _place(value if is_whole else key)

    def twice(self) -> Iterator[tuple[tuple[str, ...], Place]]:
        """Keys that stand in their mapping before: the last one counts, silently."""
        yield from _twice(self._root, (), set())

    def _walk(self, path: SettingPath) -> tuple[yaml.Node | None, yaml.Node | None, bool]:
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


@dataclass(frozen=True, slots=True)
class SettingsProblem:
    """Something that is wrong.

    Attributes:
        line, column: from 1; 0 where there is no place.
        stops: no session begins with it; else it is left out or ignored.
        path: of the key.
        meant: of a key that seems misspelt: the known name that is like it.
    """

    file: Path
    text: str
    line: int = 0
    column: int = 0
    stops: bool = False
    path: tuple[Any, ...] = ()
    meant: str = ""

    @property
    def where(self) -> str:
        """The place as editors and terminals understand it."""
        return f"{self.file}:{self.line}:{self.column}" if self.line else str(self.file)


def problems_of(home: Home) -> tuple[SettingsProblem, ...]:
    """What is wrong in config.yaml and .env; looking changes nothing."""
    return (*_of_config(home.config_file), *_of_env(home.env_file))


def _of_config(file: Path) -> Iterator[SettingsProblem]:
    text, problem = _text_of(file)
    if problem is not None:
        yield problem
        return
    try:
        layout = Layout(text)
        raw = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as wrong:  # ValueError: a date that there is not
        yield _no_yaml(file, wrong)
        return
    if raw is None:
        return
    if not isinstance(raw, dict):
        yield SettingsProblem(file, f"it must hold `key: value` lines, not a {type(raw).__name__}", 1, 1, stops=True)
        return
    yield from _wrong_values(file, raw, layout)
    for key in unknown_keys(raw):
        yield _at(file, key.text, layout.key(key.path), path=key.path, meant=key.near if key.misspelt else "")
    for path, place in layout.twice():
        yield _at(file, f"{'.'.join(path)} stands there twice: only this one counts", place, path=path)


def _wrong_values(file: Path, raw: Mapping[Any, Any], layout: Layout) -> Iterator[SettingsProblem]:
    try:
        settings = Settings.model_validate(raw)
    except ValidationError as wrong:
        for error in wrong.errors(include_url=False):
            path = _as_written(error["loc"], raw)
            stops = not path or error["loc"][0] not in SHARED_PARTS
            text = told(error) if stops else f"{told(error)}; it is left out"
            yield _at(file, text, layout.value(path), path=path, stops=stops)
        return
    for text in settings.hooks.left_out:
        yield _at(file, f"hooks: {text}; it is left out", layout.key(("hooks",)), path=("hooks",))


def _as_written(path: tuple[Any, ...], raw: Mapping[Any, Any]) -> tuple[Any, ...]:
    """The path before short forms and old names were put in place."""
    if path[:1] == ("fallback_providers",) and "fallback_providers" not in raw:
        # One alone needs no list there.
        return ("fallback_model", *(path[1:] if isinstance(raw.get("fallback_model"), list) else path[2:]))
    return path


def _no_yaml(file: Path, wrong: Exception) -> SettingsProblem:
    mark = getattr(wrong, "problem_mark", None) or getattr(wrong, "context_mark", None)
    said = getattr(wrong, "problem", None) or " ".join(str(wrong).split())
    line, column = (mark.line + 1, mark.column + 1) if mark is not None else (0, 0)
    return SettingsProblem(file, f"it is not valid YAML: {said}", line, column, stops=True)


def _of_env(file: Path) -> Iterator[SettingsProblem]:
    text, problem = _text_of(file)
    if problem is not None:
        # What is no file is passed over.
        yield problem if file.is_file() else replace(problem, stops=False)
    if not text:
        return

    from dotenv.parser import parse_stream  # noqa: PLC0415 - the same

    for binding in parse_stream(io.StringIO(text.removeprefix("\ufeff"))):
        # What stands there may be a key: it is not shown.
        if binding.error or (binding.key is not None and binding.value is None):
            line = binding.original.line + _blank_lines(binding.original.string)
            yield SettingsProblem(file, "the line is not NAME=value and is ignored", line, 1)


def _blank_lines(text: str) -> int:
    return text[: len(text) - len(text.lstrip())].count("\n")


def _text_of(file: Path) -> tuple[str, SettingsProblem | None]:
    try:
        return read_text(file), None
    except (FileNotFoundError, NotADirectoryError):
        return "", None
    except OSError as problem:
        return "", SettingsProblem(file, f"it could not be read: {why_unreadable(problem)}", stops=True)
    except UnicodeDecodeError as problem:
        line = problem.object[: problem.start].count(b"\n") + 1
        column = problem.start - problem.object.rfind(b"\n", 0, problem.start)
        return "", SettingsProblem(file, "it is not UTF-8", line, column, stops=True)


def _at(file: Path, text: str, place: Place | None, **more: Any) -> SettingsProblem:
    line, column = (place.line, place.column) if place is not None else (0, 0)
    return SettingsProblem(file, text, line, column, **more)
