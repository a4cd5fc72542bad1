"""What is wrong with settings, in words for whoever wrote them: bad values, misspelt keys, other programs' keys."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard, get_args

from pydantic import BaseModel, ValidationError

from agent_core.settings.hooks import HooksPart
from agent_core.settings.mcp import hides_values
from agent_core.settings.model import OLD_NAMES, SHARED_PARTS, ServerSettings, Settings
from agent_core.settings.sections import SettingsPart
from tools.light_dataclass import dataclass

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


# The words never tell a key, nor anything that may hold one.

_MAX_SHOWN = 80
_SECRET_PARTS = ("key", "header")
_EXPECTED = {
    "approvals.mode": "it must be auto (also manual, smart), all or off",
    "approvals.timeout": "it must be a number of seconds greater than 0 (at most 30 days)",
    "agent.reasoning_effort": "it must be none, minimal, low, medium, high or xhigh",
    "model_type": "it must hold `key: value` lines",
    "model_attributes_type": "it must hold `key: value` lines",
    "dict_type": "it must hold `key: value` lines",
    "tuple_type": "it must be a list",
}
"""What is expected, in the words of the settings file: by key, else by pydantic's error type."""


def describe(problem: ValidationError, path: Path) -> str:
    """All that is wrong in the file at `path`, with what to do."""
    parts = "; ".join(told(found) for found in problem.errors(include_url=False))
    return f"{path} has a setting that cannot be used: {parts}. Correct it or remove the line."


def told(found: ErrorDetails) -> str:
    """One wrong value: its key, the value if it can be shown, what is expected."""
    steps = found["loc"]
    key = ".".join(str(step) for step in steps)
    what = _EXPECTED.get(key) or _EXPECTED.get(found["type"]) or found["msg"].removeprefix("Value error, ")
    return f"{key} = {_shown(steps, found['input'])}: {what}"


def _shown(steps: Sequence[int | str], value: object) -> str:
    if hides_values(tuple(steps)) or any(part in str(step).lower() for step in steps for part in _SECRET_PARTS):
        return "(not shown)"
    # A list or a mapping in a wrong place may hold a key; so may a text where a server's entry should be.
    misplaced = steps[0] in SHARED_PARTS - {"credential_pool_strategies"} and len(steps) <= len(("part", "entry"))
    if isinstance(value, list | dict) or misplaced:
        return f"a {type(value).__name__}"
    if isinstance(value, str) and "://" in value and "@" in value:
        return "(not shown: it may hold a password)"
    shown = repr(value)
    return shown if len(shown) <= _MAX_SHOWN else f"{shown[:_MAX_SHOWN]}…"


# Keys of `config.yaml` that this program does not read: misspelt ones, and other programs'.

_LIKELY = 0.8
_PERHAPS = 0.6
# Of a model server's entry: upstream's keys that are like one of ours.
_ELSEWHERE = frozenset({"models"})
# Of one part: nobody misspells more, and each takes half a millisecond of every start.
_MOST_COMPARED = 200


@dataclass(frozen=True, slots=True)
class UnknownKey:
    """A key that is ignored.

    Attributes:
        path: where it stands.
        near: the known name that is most like it; '' if none is.
        misspelt: it is so like it that it is hardly another word.
    """

    path: tuple[Any, ...]
    near: str = ""
    misspelt: bool = False

    @property
    def text(self) -> str:
        """What is said of it."""
        hint = f"; did you mean {self.near}?" if self.near else ""
        return f"{'.'.join(map(str, self.path))} is not a setting of this program and is ignored{hint}"


def unknown_keys(raw: Mapping[Any, Any]) -> Iterator[UnknownKey]:
    """The unknown keys of settings as they were read, and of model servers' entries those that look misspelt."""
    yield from _unknown_in(raw, Settings, ())


def _unknown_in(
    values: Mapping[Any, Any], part: type[BaseModel], path: tuple[Any, ...], *, shared: bool = False
) -> Iterator[UnknownKey]:
    known = {*part.model_fields, *(field.alias for field in part.model_fields.values() if field.alias)}
    understood: Collection[str] = getattr(part, "understood", ())
    # Upstream has more keys in parts that we share with it: there only what looks misspelt is told.
    is_ours = issubclass(part, SettingsPart) and not shared
    compared = 0
    for key, value in values.items():
        inner = part.model_fields[key].annotation if key in part.model_fields else None
        if inner is not None:
            if isinstance(value, Mapping) and _is_part(inner):
                yield from _unknown_in(value, inner, (*path, key))
            elif (entry := _entry_type(inner)) is not None:
                for at, each in _entries(value):
                    yield from _unknown_in(each, entry, (*path, key, at), shared=True)
        elif shared and key in _ELSEWHERE:
            continue
        elif key not in known and key not in understood and (path or key not in OLD_NAMES):
            cutoff = _PERHAPS if is_ours else _LIKELY
            near = difflib.get_close_matches(str(key), known, n=1, cutoff=cutoff) if compared < _MOST_COMPARED else []
            compared += 1
            if near or is_ours:
                yield _told((*path, key), near[0] if near else "")


def _entry_type(annotation: object) -> type[ServerSettings] | None:
    """What the entries of a list, or by name, are; None where they are no model servers."""
    return next((each for each in get_args(annotation) if _is_server(each)), None)


def _is_server(annotation: object) -> TypeGuard[type[ServerSettings]]:
    return isinstance(annotation, type) and issubclass(annotation, ServerSettings)


def _entries(values: object) -> Iterator[tuple[Any, Mapping[Any, Any]]]:
    if isinstance(values, list):
        values = dict(enumerate(values))
    if isinstance(values, Mapping):
        yield from ((at, each) for at, each in values.items() if isinstance(each, Mapping))


def _told(path: tuple[Any, ...], near: str) -> UnknownKey:
    likeness = difflib.SequenceMatcher(None, str(path[-1]), near).ratio() if near else 0.0
    return UnknownKey(path, near, likeness >= _LIKELY)


def _is_part(annotation: object) -> TypeGuard[type[BaseModel]]:
    # Of hooks it is told elsewhere what nobody knows.
    return isinstance(annotation, type) and issubclass(annotation, BaseModel) and annotation is not HooksPart
