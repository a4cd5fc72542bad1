"""What a scenario is, and the table of all of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tests.support.editor_profiles import PROFILES
from tests.support.scenarios.stage import Stage

Play = Callable[[Stage], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Scenario:
    """One thing to be seen on the wire.

    Attributes:
        name: also its golden file's.
        about: a sentence for whoever reads that file.
        whole: what is the same in most scenarios (the greeting, options, commands) is written out.
        profiles: the editors that it is played with.
    """

    name: str
    about: str
    play: Play
    whole: bool = False
    profiles: tuple[str, ...] = tuple(PROFILES)


class Scenarios:
    """A table that functions put themselves into; their names and docstrings are the scenarios'."""

    def __init__(self) -> None:
        self.all: list[Scenario] = []

    def __call__(self, play: Play) -> Play:
        return self._add(play, whole=False)

    def whole(self, play: Play) -> Play:
        """As a call, for a scenario whose transcript leaves nothing out."""
        return self._add(play, whole=True)

    def only(self, *profiles: str) -> Callable[[Play], Play]:
        """As a call, for what other editors would show nothing of."""
        return lambda play: self._add(play, whole=False, profiles=profiles)

    def whole_for(self, *profiles: str) -> Callable[[Play], Play]:
        """As `whole`, for a long transcript in which other editors would show nothing else."""
        return lambda play: self._add(play, whole=True, profiles=profiles)

    def _add(self, play: Play, *, whole: bool, profiles: tuple[str, ...] = tuple(PROFILES)) -> Play:
        name = str(getattr(play, "__name__", play))
        self.all.append(Scenario(name, " ".join((play.__doc__ or "").split()), play, whole, profiles))
        return play
