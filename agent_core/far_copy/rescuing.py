"""Copies of processes that were killed: before their places are removed, what was not brought back is saved."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from agent_core.background.news import News
from agent_core.far_copy.copy import FarCopy
from agent_core.far_copy.patches import kept_news
from agent_core.far_copy.place import Place, PlaceGone
from agent_core.far_copy.state import State, Store, states_in
from agent_core.interrupt import CancelToken
from tools.environments.backends import Begin
from tools.light_dataclass import dataclass

log = logging.getLogger(__name__)

_MOST_SAVED = 5_000
_SECONDS, _LOOK_SECONDS = 30.0, 0.1
_WHY = "its agent's process died"


@dataclass(frozen=True, slots=True)
class RescueOfCopies:
    """Implements `tools.environments.backends.Rescue`.

    Attributes:
        directory: where the states of copies are.
        tell: stores news for a session.
        patience: seconds that a process which has a copy is waited for.
    """

    directory: Path
    tell: Callable[[str, News], None]
    patience: float = 20.0

    def is_wanted(self, where: str) -> bool:
        """Whether there may be something to save on a machine of that name."""
        return any(self._left(where))

    def save(self, where: str, begin: Begin) -> None:
        """Keep what was not brought back as patches. Blocks for half a minute at most; never raises."""
        token = CancelToken()
        timer = threading.Timer(_SECONDS, token.cancel)
        timer.daemon = True
        timer.start()
        try:
            for store, state in self._left(where):
                self._save_one(store, state, begin, token)
        except Exception:
            log.exception("what a killed process has left on %s is not saved", where)
        finally:
            timer.cancel()

    def _save_one(self, store: Store, state: State, begin: Begin, token: CancelToken) -> None:
        place = Place(Path(state.root), state.id, state.where, begin)
        try:
            place.check(token)
        except PlaceGone:
            return  # it is another one's
        if not self._held(store, token):
            return
        try:
            if not store.load().is_whole:
                return  # another process has saved it meanwhile
            copy = FarCopy(Path(state.top), lambda _: place, store, lambda _: False)
            changes, words = copy.changes(token, _MOST_SAVED) if state.both else ((), ())
            if (news := kept_news(copy, changes, words, _WHY)) is not None:
                self.tell(state.session, news)
            store.forget()
        finally:
            store.let_go()

    def _held(self, store: Store, token: CancelToken) -> bool:
        """Whether it is ours to save: who has it may be saving it as well, and is waited for."""
        until = time.monotonic() + self.patience
        while not (is_held := store.hold()) and time.monotonic() < until:
            token.wait_for(lambda: False, _LOOK_SECONDS)
        return is_held

    def _left(self, where: str) -> Iterator[tuple[Store, State]]:
        for store in states_in(self.directory):
            state = store.load()
            if state.is_whole and state.where == where:
                yield store, state
