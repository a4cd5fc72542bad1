"""This process's variables, as the programs may have them that it starts."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from tools.home_tools import exported


class OwnVariables(Mapping[str, str]):
    """The environment as it is now, without the names of `hidden`, and without what is there from the home's `.env`
    only because a file of the user's asked for it.
    """

    def __init__(self, hidden: frozenset[str] = frozenset()) -> None:
        self._hidden = hidden

    def __getitem__(self, name: str) -> str:
        if name in self._hidden or name in exported():
            raise KeyError(name)
        return os.environ[name]

    def __iter__(self) -> Iterator[str]:
        hidden = self._hidden | exported()
        return (name for name in os.environ.copy() if name not in hidden)

    def __len__(self) -> int:
        return sum(1 for _ in self)
