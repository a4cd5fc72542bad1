"""Loads, while the person types, what the first prompt needs, and then what its calls need."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TYPE_CHECKING

from tools.light_dataclass import complete_all, dataclass

if TYPE_CHECKING:
    from agent_core.factory import AgentFactory

log = logging.getLogger(__name__)

_LOOKS = 10


@dataclass(slots=True)
class Warming:
    """Of one process, once.

    Attributes:
        executor: whose threads load.
        is_prompted: whether a prompt runs.
        look_again: is called when the first prompt has all it needs, `on_loaded` when all is loaded, and then
            `and_then`, on the loop.
        pause: seconds until it is looked again whether a prompt that was sent at once is over; ten times at most.
    """

    factory: AgentFactory
    executor: Executor
    is_prompted: Callable[[], bool]
    on_loaded: Callable[[], None]
    look_again: Callable[[asyncio.AbstractEventLoop], None]
    and_then: Callable[[], None] = lambda: None
    pause: float = 0.1
    _begun: bool = False

    def begin(self, *, for_stored: bool = False) -> None:
        """Begin, if that was not done before. On the loop.

        Args:
            for_stored: the session that was opened is a stored one.
        """
        if not self._begun:
            self._begun = True
            self.executor.submit(self._for_the_prompt, asyncio.get_running_loop(), for_stored)

    def _for_the_prompt(self, loop: asyncio.AbstractEventLoop, for_stored: bool) -> None:
        try:
            self.factory.warm(for_stored=for_stored)
        except Exception:  # the first prompt meets it again, and tells it
            log.exception("what the first prompt needs could not be loaded")
        self.look_again(loop)
        _soon(loop, lambda: self._go_on(loop, _LOOKS))

    def _go_on(self, loop: asyncio.AbstractEventLoop, looks: int) -> None:
        """Whoever has prompted at once shares the interpreter with what is loaded: the prompt goes first."""
        if looks and self.is_prompted():
            loop.call_later(self.pause, self._go_on, loop, looks - 1)
            return
        with contextlib.suppress(RuntimeError):  # the process ends
            self.executor.submit(self._for_calls, loop)

    def _for_calls(self, loop: asyncio.AbstractEventLoop) -> None:
        try:
            self.factory.warm_calls()
            _load_sdk()
            # Under a prompt, what is needed completes itself.
            if not self.is_prompted():
                _rehearse_prompt()
                complete_all()
        except Exception:  # whoever needs it first meets it again
            log.exception("what the first calls need could not be loaded")
        self.on_loaded()
        _soon(loop, self.and_then)


def _load_sdk() -> None:
    import acp_adapter.sdk  # noqa: F401, PLC0415 - not before the first prompt, if that was sent at once


def _rehearse_prompt() -> None:
    from acp_adapter.sdk import rehearse_prompt  # noqa: PLC0415 - the same

    rehearse_prompt()


def _soon(loop: asyncio.AbstractEventLoop, function: Callable[[], None]) -> None:
    with contextlib.suppress(RuntimeError):  # the connection is over
        loop.call_soon_threadsafe(function)
