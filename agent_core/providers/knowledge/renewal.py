"""Asking the servers for their models again, all at once and behind everything else."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING

from agent_core.errors import AuthRequired, SettingsError
from agent_core.providers.knowledge.offered import OfferedModel, as_offered
from agent_core.providers.resolution.resolve import resolve_named

if TYPE_CHECKING:
    from agent_core.config import Configuration
    from agent_core.providers.choice import ModelChoice
    from agent_core.providers.knowledge.configured import ConfiguredProvider
    from agent_core.providers.knowledge.listing import ModelListing
    from agent_core.providers.knowledge.model_lists import ModelLists

log = logging.getLogger(__name__)

_TOGETHER = 1.0
"""Seconds that the first answers wait for others: what changes is shown once, and a dead server delays nobody."""
_ANY = "any"

_Told = tuple[str, tuple[OfferedModel, ...] | None]


def _listed(choice: ModelChoice) -> ModelListing:
    from agent_core.providers.knowledge.listing import list_models  # noqa: PLC0415 - most starts ask nobody

    return list_models(choice)


class Renewal:
    """Renews the lists of one process. Safe for threads.

    Args:
        ask: how a server is asked; it never raises, and has an end.
    """

    def __init__(self, lists: ModelLists, ask: Callable[[ModelChoice], ModelListing] = _listed) -> None:
        self._lists = lists
        self._ask = ask
        self._running = threading.Lock()
        self._ended = threading.Event()

    def run(self, config: Configuration, changed: Callable[[], None]) -> None:
        """Ask every server whose list is missing or old; blocks, for a worker thread. One run at a time: a second
        does nothing.

        Args:
            changed: is called when there is something else to choose from than before, at most a few times.
        """
        if self._ended.is_set() or not self._running.acquire(blocking=False):
            return
        try:
            for told in self._answers(config, self._lists.due(config)):
                if self._ended.is_set():
                    return
                before = self._lists.offered(config)
                self._lists.learned(dict(told))
                if self._lists.offered(config) != before:
                    changed()
        finally:
            self._running.release()

    def close(self) -> None:
        """The process ends: what is still answered is not kept."""
        self._ended.set()

    def _answers(self, config: Configuration, due: Sequence[ConfiguredProvider]) -> Iterator[list[_Told]]:
        answers: SimpleQueue[_Told] = SimpleQueue()
        for provider in due:
            # Daemons: nobody waits for a server when the process ends.
            threading.Thread(
                target=self._put, args=(config, provider, answers), name=f"models of {provider.name}", daemon=True
            ).start()
        return _batches(answers, len(due))

    def _put(self, config: Configuration, provider: ConfiguredProvider, answers: SimpleQueue[_Told]) -> None:
        models = None
        try:
            models = self._asked(config, provider)
        finally:
            answers.put((provider.list_key, models))

    def _asked(self, config: Configuration, provider: ConfiguredProvider) -> tuple[OfferedModel, ...] | None:
        try:
            choice = resolve_named(config, provider.name, next(iter(provider.named), _ANY), source="models")
        except (AuthRequired, SettingsError) as problem:
            log.info("the models of %s are not asked for: %s", provider.name, problem)
            return None
        listing = self._ask(choice)
        if listing.source != "live":
            log.info("the models of %s are as known: %s", provider.name, listing.problem)
            return None
        return as_offered(listing.models)


def _batches(answers: SimpleQueue[_Told], count: int) -> Iterator[list[_Told]]:
    while count:
        batch = [answers.get()]
        deadline = time.monotonic() + _TOGETHER
        while len(batch) < count and (left := deadline - time.monotonic()) > 0:
            try:
                batch.append(answers.get(timeout=left))
            except Empty:
                break
        count -= len(batch)
        yield batch
