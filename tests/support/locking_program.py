"""Another program that holds the write lock of a database: `python locking_program.py DATABASE SEED`.

It locks and lets go at random until its stdin ends, `DATABASE -` locks it at once for as long as stdin is open. It
prints a line with each lock that it has got.
"""

from __future__ import annotations

import random
import select
import sqlite3
import sys

_PAUSES = (0.05, 0.2, 0.6)
_HOLDS = (0.05, 0.3, 0.45, 0.6, 1.2)


def main(database: str, seed: str) -> None:
    chance = random.Random(seed)
    connection = sqlite3.connect(database, isolation_level=None, timeout=10)
    while True:
        connection.execute("BEGIN IMMEDIATE")
        sys.stdout.write("locked\n")
        sys.stdout.flush()
        is_over = _ended(None if seed == "-" else chance.choice(_HOLDS) * chance.random() * 2)
        connection.execute("ROLLBACK")
        if is_over or _ended(chance.choice(_PAUSES)):
            return


def _ended(seconds: float | None) -> bool:
    """Whether stdin has ended within so many seconds."""
    return bool(select.select([sys.stdin], [], [], seconds)[0])


if __name__ == "__main__":
    main(*sys.argv[1:])
