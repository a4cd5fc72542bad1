"""What the client can do, read once from `initialize` into a frozen object. What is not offered is not used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ClientCapabilities:
    """The client's offers, as far as this agent uses them.

    Attributes:
        terminal_output: shows live output sent in `_meta` (terminal_info, terminal_output, terminal_exit).
    """

    terminal_output: bool = False


def read_capabilities(raw: object) -> ClientCapabilities:
    """The capabilities in `initialize`'s `clientCapabilities`; whatever is malformed counts as not offered."""
    caps = raw if isinstance(raw, Mapping) else {}
    return ClientCapabilities(terminal_output=_mapping(caps, "_meta").get("terminal_output") is True)


def _mapping(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    part = value.get(key)
    return part if isinstance(part, Mapping) else {}
