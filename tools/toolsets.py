"""Named groups of tools, and the definitions that a model is told of a selection of them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools.registry import ToolEntry, discover, registry
from tools.toolbox import Toolbox

TOOLSETS: dict[str, tuple[str, ...]] = {
    "hermes-acp": ("files", "terminal", "planning", "recall"),
}
"""Composite toolsets: the toolsets that each includes. A name that is not here is a toolset of its own."""

_discovery = threading.Lock()
_discovered = False


def load_builtin_tools() -> None:
    """Import the tool files of this package, once."""
    global _discovered  # noqa: PLW0603 - discovery fills the process-wide registry exactly once
    with _discovery:
        if not _discovered:
            discover("tools", Path(__file__).parent)
            _discovered = True


def select(enabled: Sequence[str], disabled: Sequence[str] = (), toolbox: Toolbox | None = None) -> list[ToolEntry]:
    """The available tools of the `enabled` toolsets without those of the `disabled` ones, by name.

    The tools that a session's `toolbox` has beside the registry's follow, unless their toolset is disabled.
    """
    load_builtin_tools()
    without = set(_expand(disabled))
    wanted = set(_expand(enabled)) - without
    own = [entry for entry in registry.entries() if entry.toolset in wanted and entry.available()]
    extra = toolbox.extra() if toolbox is not None else ()
    return [*own, *(entry for entry in extra if entry.toolset not in without and entry.available())]


def get_tool_definitions(
    enabled: Sequence[str], disabled: Sequence[str] = (), toolbox: Toolbox | None = None
) -> list[dict[str, Any]]:
    """What the model is told of these toolsets, in an order that keeps the request's prefix the same."""
    return [entry.definition() for entry in select(enabled, disabled, toolbox)]


def _expand(names: Sequence[str]) -> list[str]:
    return [part for name in names for part in TOOLSETS.get(name, (name,))]
