"""Values that do not belong where they are put: in any field of any message."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator
from typing import Any

Path = tuple[str | int, ...]


def nested(depth: int, *, objects: bool = False) -> Any:
    """An array (or object) in an array, so many times."""
    value: Any = []
    for _ in range(depth):
        value = {"a": value} if objects else [value]
    return value


ODD: tuple[Callable[[], Any], ...] = (
    lambda: None,
    lambda: True,
    lambda: 0,
    lambda: -1,
    lambda: 2**31,
    lambda: 2**63,
    lambda: 10**400,
    lambda: 1.5,
    lambda: -0.0,
    lambda: 1e308,
    lambda: float("nan"),
    lambda: float("-inf"),
    lambda: "",
    lambda: "\0",
    lambda: "\ud800",
    lambda: "\udfff tail",
    lambda: "line\nline\r\n\u2028",
    lambda: "../" * 40,
    lambda: "/" + "x" * 5_000,
    lambda: "x" * 70_000,
    lambda: "%s%n{0}{x.__class__}",
    list,
    lambda: [None],
    lambda: [[]] * 50,
    dict,
    lambda: {"type": "text"},
    lambda: {"type": "no such type"},
    lambda: {"sessionId": {"sessionId": []}},
    lambda: {"": "", "self": 1, "params": {}},
    lambda: list(range(2_000)),
    lambda: {str(key): key for key in range(500)},
    lambda: nested(40),
    lambda: nested(200, objects=True),
    lambda: nested(300),
)
"""Each makes one: no two messages share what is inside."""


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    """Where something stands inside `value`: every key and every index, from the outside in."""
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in steps:
        yield (*path, step)
        yield from places(inner, (*path, step))


def replaced(value: Any, path: Path, new: Any) -> Any:
    """A copy of `value` with `new` at this place; what is beside the path is shared."""
    return _changed(value, path, lambda holder, step: holder.__setitem__(step, new))


def removed(value: Any, path: Path) -> Any:
    """A copy of `value` without what stands at this place."""
    return _changed(value, path, lambda holder, step: holder.__delitem__(step))


def _changed(value: Any, path: Path, change: Callable[[Any, str | int], None]) -> Any:
    made = holder = copy.copy(value)
    for step in path[:-1]:
        inner = copy.copy(holder[step])
        holder[step] = inner
        holder = inner
    change(holder, path[-1])
    return made


def spoiled(chance: random.Random, value: dict[str, Any]) -> dict[str, Any]:
    """A copy of `value` with one to three things in it wrong, missing, or too many."""
    made: dict[str, Any] = value
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        everywhere = list(places(made))
        if not everywhere:
            return {"odd": chance.choice(ODD)()}
        path = chance.choice(everywhere)
        what = chance.random()
        if what < 0.7:
            made = replaced(made, path, chance.choice(ODD)())
        elif what < 0.85:
            made = removed(made, path)
        else:
            made = {**made, chance.choice(("extra", "_meta", "id", "method", "sessionId")): chance.choice(ODD)()}
    return made
