"""The session that was opened last is made ready for its first prompt: in part by its load, then once all is loaded.

A load reads, repairs and counts the messages when everything is shown and its answer is what is left to do: a prompt
that is sent at once then begins with them.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Executor

from acp_adapter.session import SessionState
from agent_core.errors import HermesError, public_text
from agent_core.factory import AgentFactory
from agent_core.rehearsing import Rehearsed, recall

log = logging.getLogger(__name__)

_END_SECONDS = 2.0


class Rehearsals:
    """Of one connection; lives on the loop. One session at a time has something made ready: it takes memory.

    Args:
        executor: whose threads do it.
        is_prompted: whether a prompt runs.
        is_live: whether a session was not closed meanwhile.
    """

    def __init__(
        self,
        factory: AgentFactory,
        executor: Executor,
        is_prompted: Callable[[], bool],
        is_live: Callable[[SessionState], bool],
    ) -> None:
        self._factory = factory
        self._executor = executor
        self._is_prompted = is_prompted
        self._is_live = is_live
        self._working = threading.Lock()
        self._is_loaded = self._is_over = False
        self._next: SessionState | None = None
        self._last: SessionState | None = None

    def all_loaded(self) -> None:
        """From now on nothing else is to be loaded that a prompt needs."""
        self._is_loaded = True
        self._begin()

    def recall(self, session: SessionState) -> Rehearsed | None:
        """What can be made ready before its model is there; None for nothing. Blocks, on any thread."""
        return self._tried(session, lambda: recall(self._factory.sessions.store, session.id))

    def of(self, session: SessionState, recalled: Rehearsed | None = None) -> None:
        """A session was opened: a prompt in it may follow.

        Args:
            recalled: what is ready of it already.
        """
        self._next = None if session.is_new else session
        if recalled is not None:
            self._hold(session)
            session.rehearsed = recalled
        if self._is_loaded:
            self._begin()

    def end(self) -> None:
        """Begin nothing more, and wait for what is under way: nobody may read the store once it is closed."""
        self._is_over = True
        if self._working.acquire(timeout=_END_SECONDS):
            self._working.release()

    def _begin(self) -> None:
        session, self._next = self._next, None
        if session is None or session.services is not None or self._is_prompted():
            return
        self._hold(session)
        asyncio.get_running_loop().run_in_executor(self._executor, self._made, session).add_done_callback(
            lambda done: None if done.cancelled() else self._hand_over(session, done.result())
        )

    def _hold(self, session: SessionState) -> None:
        if self._last is not None and self._last is not session:
            self._last.rehearsed = None
        self._last = session

    def _made(self, session: SessionState) -> Rehearsed | None:
        with self._working:
            return None if self._is_over else self._rehearsed(session)

    def _rehearsed(self, session: SessionState) -> Rehearsed | None:
        recalled = session.rehearsed or self.recall(session)
        if recalled is None:
            return None
        return self._tried(session, lambda: self._factory.rehearse(recalled, session.choices, session.stored_model))

    @staticmethod
    def _tried(session: SessionState, make: Callable[[], Rehearsed | None]) -> Rehearsed | None:
        try:
            return make()
        except HermesError as problem:  # the first prompt meets it again, and tells it
            log.info("session %s is not made ready: %s", session.id, public_text(problem))
        except Exception:
            log.exception("session %s is not made ready", session.id)
        return None

    def _hand_over(self, session: SessionState, made: Rehearsed | None) -> None:
        # A prompt that came meanwhile has its worker look for it, or has begun without.
        if made is not None and not session.tickets and session.services is None and self._is_live(session):
            session.rehearsed = made
