"""What is set about rules files."""

from __future__ import annotations

from dataclasses import replace
from typing import Self

from agent_core.prompt.context_files.names import DEFAULT_NAMES
from agent_core.providers.choice import is_small
from tools.light_dataclass import dataclass

_LEAST, _MOST = 20_000, 500_000
_SHARE = 0.06
_NARROW_SHARE, _SMALL_SHARE = 0.25, 0.125
_CHARS_A_TOKEN = 4


@dataclass(frozen=True, slots=True)
class ContextFileSettings:
    """What the user's settings say, narrowed by the project's.

    Attributes:
        max_chars: of one file; None: by the model's window.
        names: what is looked for in a directory, in this order.
    """

    enabled: bool = True
    max_chars: int | None = None
    names: tuple[str, ...] = DEFAULT_NAMES

    def narrowed(self, other: ContextNarrowing) -> Self:
        """The same with what a project wants less of."""
        limits = [limit for limit in (self.max_chars, other.max_chars) if limit is not None]
        return replace(
            self,
            enabled=self.enabled and other.enabled,
            max_chars=min(limits, default=None),
            names=self.names if other.names is None else tuple(name for name in self.names if name in other.names),
        )


@dataclass(frozen=True, slots=True)
class ContextNarrowing:
    """What a project wants less of; the defaults want nothing."""

    enabled: bool = True
    max_chars: int | None = None
    names: tuple[str, ...] | None = None


def chars_of_a_file(window: int | None, max_chars: int | None) -> int:
    """How many characters of one rules file the model is told.

    20,000, or 6 % of the window where that is more; never more than is set, than a quarter of a narrow window, or an
    eighth of a small one: all of them together have twice as much, and the conversation needs room too.

    Args:
        window: in tokens; None where it is not known.
        max_chars: what is set; None for nothing.
    """
    most = _LEAST
    if window is not None:
        chars = window * _CHARS_A_TOKEN
        share = _SMALL_SHARE if is_small(window) else _NARROW_SHARE
        most = min(max(_LEAST, int(chars * _SHARE)), int(chars * share), _MOST)
    return most if max_chars is None else min(most, max_chars)
