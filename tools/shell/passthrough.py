"""Which variables commands get though they look like secrets: those that the user has named."""

from __future__ import annotations

from fnmatch import fnmatchcase

from tools.light_dataclass import dataclass

_SIGNS = frozenset("*?[")
_OWN_PREFIX = "HERMES_"


@dataclass(frozen=True, slots=True)
class Passthrough:
    """The names of the setting `terminal.env_passthrough`. Letter case counts, as it does for variables.

    Attributes:
        names: names of variables, or patterns in which `*` is any text, `?` one character and `[…]` one of several.
        guarded: keys of this program's own, as is every HERMES_… name: no pattern means them.
    """

    names: tuple[str, ...] = ()
    guarded: frozenset[str] = frozenset()

    @property
    def exact(self) -> frozenset[str]:
        """The names that are written out."""
        return frozenset(name for name in self.names if _SIGNS.isdisjoint(name))

    def has(self, name: str) -> bool:
        """Whether commands get the variable `name` in any case."""
        if name in self.exact:
            return True
        if name in self.guarded or name.upper().startswith(_OWN_PREFIX):
            return False
        return any(fnmatchcase(name, pattern) for pattern in self.names)
