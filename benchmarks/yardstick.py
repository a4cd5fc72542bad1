"""A fixed piece of work in pure Python: how fast the machine is while a run lasts.

Times that have no floor of their own are compared with it, so that a slow day is not taken for a slow program.
"""

from __future__ import annotations

import json
import re
import sqlite3

from benchmarks.in_turns import seconds

_WORD = re.compile(r"\w+")
_DOCUMENT = {"messages": [{"role": "user", "content": f"part {number} of it"} for number in range(500)]}


def milliseconds(times: int = 3) -> list[float]:
    """How long it takes, several times."""
    return [1000 * seconds(_work) for _ in range(times)]


def _work() -> None:
    text = json.dumps(_DOCUMENT)
    for _ in range(5):
        words = [found[0] for found in _WORD.finditer(json.dumps(json.loads(text)))]
    database = sqlite3.connect(":memory:")
    database.execute("CREATE TABLE words (word TEXT)")
    database.executemany("INSERT INTO words VALUES (?)", ((word,) for word in words))
    database.close()
