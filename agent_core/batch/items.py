"""The prompts of a batch: a line of JSON each."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from agent_core.errors import RequestError
from tools.light_dataclass import dataclass

_OWN = ("id", "prompt", "cwd", "model")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class BatchError(RequestError):
    """A batch cannot be begun; the text says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Item:
    """One prompt.

    Attributes:
        id: names it in the batch; letters, digits, `.`, `_` and `-`.
        cwd: the directory it works in, absolute; None: an empty one of its own.
        model: provider:model; '' is the settings' choice.
        more: whatever else stood in its line; it comes back with the result.
    """

    id: str
    prompt: str
    cwd: Path | None = None
    model: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """Tells apart what is asked: another prompt, directory or model under the same id is another item."""
        asked = json.dumps([self.prompt, str(self.cwd or ""), self.model])
        return hashlib.sha256(asked.encode("utf-8", "replace")).hexdigest()[:16]


def read_items(lines: Iterable[str], name: str, default_cwd: Path | None = None) -> list[Item]:
    """The items of a JSONL file; empty lines are passed over.

    A line is an object with `prompt` and, where wanted, `id` (its number otherwise), `cwd` and `model`; or just a
    text, which is the prompt.

    Args:
        name: of the file, for errors.
        default_cwd: where items work that do not say it; relative directories start there, or where we are.

    Raises:
        BatchError: a line is no item, or two have one id. Nothing was begun.
    """
    items: dict[str, Item] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        item = _item(line, number, f"{name}, line {number}", default_cwd)
        if item.id in items:
            raise BatchError(f"{name}, line {number}: the id {item.id!r} is taken by an earlier line. Rename one.")
        items[item.id] = item
    if not items:
        raise BatchError(f'{name} has no prompts. Write one a line, as {{"id": "a", "prompt": "…"}}.')
    return list(items.values())


def _item(line: str, number: int, where: str, default_cwd: Path | None) -> Item:
    try:
        value = json.loads(line)
    except ValueError as problem:
        raise BatchError(f"{where}: not JSON ({problem}). Each line is one JSON object.") from problem
    if isinstance(value, str):
        value = {"prompt": value}
    if not isinstance(value, dict):
        raise BatchError(f"{where}: an object or a text is wanted, not {type(value).__name__}.")
    prompt = _text(value, "prompt", where)
    if not prompt.strip():
        raise BatchError(f'{where}: it has no "prompt".')
    name = str(value.get("id", number))
    if not _ID.fullmatch(name):
        raise BatchError(f"{where}: the id {name!r} must be 1 to 100 letters, digits, '.', '_' or '-'.")
    more = {key: each for key, each in value.items() if key not in _OWN}
    return Item(name, prompt, _directory(_text(value, "cwd", where), where, default_cwd), _model(value, where), more)


def _text(value: Mapping[str, Any], key: str, where: str) -> str:
    found = value.get(key, "")
    if not isinstance(found, str):
        raise BatchError(f'{where}: "{key}" must be a text, not {type(found).__name__}.')
    return found


def _model(value: Mapping[str, Any], where: str) -> str:
    model = _text(value, "model", where)
    if model and ":" not in model:
        raise BatchError(f'{where}: "model" is written provider:model, not {model!r}.')
    return model


def _directory(given: str, where: str, default: Path | None) -> Path | None:
    if not given:
        return default
    path = ((default or Path.cwd()) / Path(given).expanduser()).resolve()
    if not path.is_dir():
        raise BatchError(f'{where}: there is no directory {str(path)!r} ("cwd").')
    return path
