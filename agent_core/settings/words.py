"""What is wrong with a setting, in words for whoever wrote it. Never a key, and nothing that may hold one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from agent_core.settings.mcp import hides_values
from agent_core.settings.model import SHARED_PARTS

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

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
