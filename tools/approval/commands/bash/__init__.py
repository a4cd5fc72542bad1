"""Reads shell text: a grammar finds the statements, and the rest is expanded as bash would."""

from __future__ import annotations

import re
from collections.abc import Iterator

UNKNOWN = "\ufffc"
"""Stands in a text for each part that only the shell can know."""

_CONTINUED = re.compile(r"\\\n\s*")


def lines_of_table(table: str) -> Iterator[str]:
    """The rows of a table that is written as a text: those that end in a backslash go on in the next line."""
    return filter(None, map(str.strip, _CONTINUED.sub("", table).split("\n")))
