"""A server's list of models as the home's file has it. What cannot be understood there counts as never asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from agent_core.providers.knowledge.offered import OfferedModel


class KeptList(NamedTuple):  # the cheapest to define: this is loaded before the first session
    """A server's list.

    Attributes:
        asked_at: seconds since the epoch.
        models: None if the server never gave a list.
        failed: the last time that it was asked it gave none.
    """

    asked_at: float
    models: tuple[OfferedModel, ...] | None
    failed: bool = False


def list_entry(kept: KeptList) -> dict[str, Any]:
    """The list as JSON has it."""
    models = None
    if kept.models is not None:
        models = {each.name: [each.context_length, each.input_price, each.output_price] for each in kept.models}
    return {"asked_at": kept.asked_at, "failed": kept.failed, "models": models}


def lists_from(content: Mapping[str, Any]) -> dict[str, KeptList]:
    """The lists in the file's content, by their keys."""
    lists = content.get("lists")
    if not isinstance(lists, dict):
        return {}
    found = {key: _list_from(entry) for key, entry in lists.items() if isinstance(entry, dict)}
    return {key: each for key, each in found.items() if each is not None}


def _list_from(entry: Mapping[str, Any]) -> KeptList | None:
    asked_at, models = entry.get("asked_at"), entry.get("models")
    if not isinstance(asked_at, int | float) or not isinstance(models, dict | None):
        return None
    known = None if models is None else tuple(_model(name, facts) for name, facts in models.items())
    return KeptList(float(asked_at), known, entry.get("failed") is True)


def _model(name: str, facts: object) -> OfferedModel:
    match facts:
        case [int() | None as window, int() | float() | None as given, int() | float() | None as taken]:
            return OfferedModel(name, window, given, taken)
    return OfferedModel(name)
