"""What of a recording is on the page: a browser cannot show all of one that is hundreds of megabytes long."""

from __future__ import annotations

import math
from collections.abc import Sequence

from acp_adapter.recording.exchanges import Row
from tools.light_dataclass import dataclass

_MOST_ROWS = 20_000
_MOST_CHARACTERS = 20_000_000


@dataclass(frozen=True, slots=True)
class Span:
    """Seconds of a connection, the first and the last one included."""

    begin: float = -math.inf
    end: float = math.inf


@dataclass(frozen=True, slots=True)
class Part:
    """What is shown of one connection.

    Attributes:
        rows: of all there are, in their order.
        whole: how many of them, the last ones, are shown with what they hold.
        outside: how many rows are not in the seconds that were asked for.
        before: how many of those that are were left out, all before the first of `rows`.
    """

    rows: tuple[Row, ...]
    whole: int
    outside: int
    before: int

    @property
    def places(self) -> range:
        """Those of its lines in the connection."""
        return range(self.rows[0].first.place, self.rows[-1].first.place + 1) if self.rows else range(0)


def parts(connections: Sequence[Sequence[Row]], span: Span) -> list[Part]:
    """What is shown of each connection: the last rows of `span`, as many as a page can hold of all together."""
    rows_left, characters_left = _MOST_ROWS, _MOST_CHARACTERS
    found = []
    for rows in reversed(connections):
        inside = [row for row in rows if span.begin <= row.first.at <= span.end]
        shown = inside[max(0, len(inside) - rows_left) :]
        rows_left -= len(shown)
        whole = 0
        for row in reversed(shown):
            characters_left -= row.size
            if characters_left < 0:
                break
            whole += 1
        found.append(Part(tuple(shown), whole, len(rows) - len(inside), len(inside) - len(shown)))
    return found[::-1]
