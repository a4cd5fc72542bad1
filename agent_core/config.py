"""The user's settings: one model, read from `config.yaml`, `.env`, the environment and the command line."""

from __future__ import annotations

import difflib
import os
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError

from agent_core.errors import SettingsError
from agent_core.home import Home
from agent_core.settings import Settings, SettingsPart


@dataclass(frozen=True, slots=True)
class Overrides:
    """The command line's choice of a model; None where it says nothing."""

    model: str | None = None
    provider: str | None = None
    base_url: str | None = None


@dataclass(frozen=True, slots=True)
class Configuration:
    """The settings with where they came from.

    Attributes:
        environ: the process's environment over the home's `.env`; for our own use, never for children.
        warnings: what was ignored, for the log and `doctor`.
    """

    settings: Settings
    home: Home
    environ: Mapping[str, str]
    overrides: Overrides = field(default_factory=Overrides)
    warnings: tuple[str, ...] = ()


def load(home: Home, overrides: Overrides | None = None, environ: Mapping[str, str] | None = None) -> Configuration:
    """Read the settings.

    Raises:
        SettingsError: a file cannot be read, or a value in it is wrong; key, value and file are named.
    """
    raw = _read_yaml(home.config_file)
    try:
        settings = Settings.model_validate(raw)
    except ValidationError as problem:
        raise SettingsError(_describe(problem, home.config_file)) from problem
    warnings = tuple(f"{home.config_file}: {text}" for text in _unknown(raw))
    process = os.environ if environ is None else environ
    return Configuration(settings, home, {**_read_env(home.env_file), **process}, overrides or Overrides(), warnings)


class ConfigSource:
    """The settings as they are now: read at first use and again after `config.yaml` or `.env` changed."""

    def __init__(self, home: Home, overrides: Overrides | None = None) -> None:
        self.home = home
        self._overrides = overrides
        self._lock = threading.Lock()
        self._loaded: Configuration | None = None
        self._stamp: tuple[object, ...] = ()

    def load(self) -> Configuration:
        """The current settings.

        Raises:
            SettingsError: as `load` does.
        """
        with self._lock:
            stamp = (_stamp(self.home.config_file), _stamp(self.home.env_file))
            if self._loaded is None or stamp != self._stamp:
                self._loaded = load(self.home, self._overrides)
                self._stamp = stamp
            return self._loaded


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError) as problem:
        raise SettingsError(f"{path} could not be read: {problem}. Make it readable, or move it away.") from problem
    try:
        value = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe
    except yaml.YAMLError as problem:
        where = _one_line(problem).replace('"<unicode string>"', path.name)
        raise SettingsError(f"{path} is not valid YAML: {where}. Mend that line.") from problem
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise SettingsError(f"{path} must hold settings as `key: value` lines; it holds a {type(value).__name__}.")
    return value


def _read_env(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    from dotenv import dotenv_values  # noqa: PLC0415 - only for those who have the file

    try:
        return {key: value for key, value in dotenv_values(path, interpolate=False).items() if value is not None}
    except (OSError, UnicodeDecodeError) as problem:
        raise SettingsError(f"{path} could not be read: {problem}. Make it readable, or move it away.") from problem


_MAX_SHOWN = 80
_EXPECTED = {
    "approvals.mode": "it must be ask (also manual, smart) or off",
    "approvals.timeout": "it must be a number of seconds greater than 0 (at most 30 days)",
    "model_type": "it must hold `key: value` lines",
    "model_attributes_type": "it must hold `key: value` lines",
    "tuple_type": "it must be a list",
}
"""What is expected, in the words of the settings file: by key, else by pydantic's error type."""


def _describe(problem: ValidationError, path: Path) -> str:
    parts = []
    for found in problem.errors(include_url=False):
        key = ".".join(str(step) for step in found["loc"])
        what = _EXPECTED.get(key) or _EXPECTED.get(found["type"]) or found["msg"]
        parts.append(f"{key} = {_shown(key, found['input'])}: {what}")
    return f"{path} has a setting that cannot be used: {'; '.join(parts)}. Correct it or remove the line."


def _shown(key: str, value: object) -> str:
    if "key" in key.rpartition(".")[2]:
        return "(not shown)"
    # A list or a mapping in a wrong place may hold a key.
    if isinstance(value, list | dict):
        return f"a {type(value).__name__}"
    if isinstance(value, str) and "://" in value and "@" in value:
        return "(not shown: it may hold a password)"
    shown = repr(value)
    return shown if len(shown) <= _MAX_SHOWN else f"{shown[:_MAX_SHOWN]}…"


def _unknown(raw: Mapping[str, Any]) -> Iterator[str]:
    for key, value in raw.items():
        part = Settings.model_fields.get(key)
        if part is None:
            yield _unknown_key(key, Settings)
        elif (
            isinstance(value, Mapping)
            and isinstance(part.annotation, type)
            and issubclass(part.annotation, SettingsPart)
        ):
            yield from (
                f"{key}.{_unknown_key(name, part.annotation)}"
                for name in value
                if name not in part.annotation.model_fields
            )


def _unknown_key(key: object, part: type[BaseModel]) -> str:
    near = difflib.get_close_matches(str(key), part.model_fields, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"{key} is not a setting of this program and is ignored{hint}"


def _one_line(problem: Exception) -> str:
    return " ".join(str(problem).split())
