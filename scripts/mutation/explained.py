"""Survivors that need no test, each with why: `explained.toml` beside this file.

An explanation names mutants by the pattern of their names and by what stands in the line that was changed, since
their numbers change with the function.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

PLACE = Path(__file__).with_name("explained.toml")


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why some mutants need not be noticed.

    Attributes:
        mutants: patterns of their names.
        line: found in a line that the mutant has in another's place, or leaves out where it has none; any line
            where it is empty.
    """

    why: str
    mutants: tuple[str, ...]
    line: re.Pattern[str]

    def fits(self, name: str, diff: str) -> bool:
        """Whether the mutant `name`, which changes what `diff` says, is meant."""
        if not any(fnmatch(name, pattern) for pattern in self.mutants):
            return False
        added, removed = (re.findall(rf"^{sign}(?!{sign}{sign})(.*)", diff, re.MULTILINE) for sign in ("\\+", "-"))
        return any(self.line.search(line) for line in added or removed)


def explanations(text: str) -> tuple[Explanation, ...]:
    """What a file like `explained.toml` says."""
    return tuple(
        Explanation(each["why"], tuple(each["mutants"]), re.compile(each.get("line", "")))
        for each in tomllib.loads(text).get("explained", ())
    )


def explanation_of(known: Sequence[Explanation], name: str, diff: str) -> Explanation | None:
    """The first that means this mutant."""
    return next((each for each in known if each.fits(name, diff)), None)
