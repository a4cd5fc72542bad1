"""One rule of the user's settings, as `run: git push*` or `read: secrets/**`."""

from __future__ import annotations

from typing import Literal

from tools.light_dataclass import dataclass

RuleKind = Literal["run", "read", "write", "delete", "host", "mcp", "search", "tool"]

GLOB_SIGNS = frozenset("*?")


@dataclass(frozen=True, slots=True)
class PermissionRule:
    """What a rule is about; whether it allows or denies is where it stands.

    Attributes:
        pattern: `*` is any text (in a path: within a name, `**` over several), `?` one character.
        source: the setting and the file that it is from, for the person.
        is_exact: of a command: only this very text.
    """

    kind: RuleKind
    pattern: str
    source: str = ""
    is_exact: bool = False

    @property
    def shown(self) -> str:
        """As a person writes it: `run: git push*`."""
        return f"{self.kind}: {self.pattern}"

    @property
    def has_globs(self) -> bool:
        """Whether it may mean things that it does not name."""
        return not self.is_exact and not GLOB_SIGNS.isdisjoint(self.pattern)


@dataclass(frozen=True, slots=True)
class Hit:
    """A denying rule that an action comes under.

    Attributes:
        is_sure: False where the command cannot be read so far that one could know, or what a server does is not seen.
    """

    rule: PermissionRule
    is_sure: bool = True
