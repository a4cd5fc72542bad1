"""All that is wrong in the files of a home's settings, each with its place: for whoever looks, not for a start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from agent_core.home import Home
from agent_core.own_files import read_text, why_unreadable
from agent_core.settings.model import SHARED_PARTS, Settings
from agent_core.settings.places import Layout, Place
from agent_core.settings.unknown import unknown_keys
from agent_core.settings.words import told
from tools.light_dataclass import dataclass


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
    import io  # noqa: PLC0415 - for this look only

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
