"""What a check has found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

State = Literal["ok", "warn", "fail"]
"""Nothing has to be done; it works, but less well; something does not work."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One line on the screen, one entry in the JSON.

    Attributes:
        check: what was looked at, in a word or two.
        text: what is there, or what is wrong.
        fix: what to do; '' where nothing is, or the text says it.
        mends: `--fix` does something about it.
        facts: the same for programs.
    """

    check: str
    state: State
    text: str
    fix: str = ""
    mends: bool = False
    facts: Mapping[str, object] = field(default_factory=dict)


def well(check: str, text: str, **facts: object) -> Finding:
    """Nothing has to be done."""
    return Finding(check, "ok", text, facts=facts)


def warning(check: str, text: str, fix: str = "", *, mends: bool = False, **facts: object) -> Finding:
    """It works, but less well than it could."""
    return Finding(check, "warn", text, fix, mends, facts)


def failing(check: str, text: str, fix: str = "", *, mends: bool = False, **facts: object) -> Finding:
    """Something does not work."""
    return Finding(check, "fail", text, fix, mends, facts)
