"""Which of a program's variables hold secrets, by their names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_SECRET = re.compile(
    r"(?i)(?:^|_)(?:(?:api|access|secret|private|signing|encryption|account|auth|master)?_?key|secret|token|pass(?:word|wd|phrase)?"
    r"|pwd|credentials?|pat)(?:_\d{1,2})?$"
)
_SHORTEST = 8


def secret_values(variables: Mapping[str, str]) -> Iterator[str]:
    """The values of variables whose names say that they are secret; not those of paths and plain words."""
    for name, value in variables.items():
        if len(value) < _SHORTEST or not _SECRET.search(name):
            continue
        if not value.startswith(("/", "~", "./", "$")) and not value.isdecimal():
            yield value
