"""The models that can be chosen, from the settings and from what servers said before: a new session asks nobody."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agent_core.providers.credentials.shared_file import SharedFile, SharedFileError
from agent_core.providers.knowledge.configured import ConfiguredProvider, configured_providers, offline_is_chosen
from agent_core.providers.knowledge.kept_lists import KeptList, list_entry, lists_from
from agent_core.providers.knowledge.offered import MOST_MODELS, OfferedModel, OfferedModels, offered_models
from agent_core.providers.knowledge.present import only_offline
from agent_core.providers.resolution.addresses import is_local
from agent_core.providers.resolution.catalog import SERVICES

if TYPE_CHECKING:
    from agent_core.config import Configuration
    from agent_core.home import Home

log = logging.getLogger(__name__)

FILE_NAME = "model-lists.json"
GOOD_FOR = 24 * 3600.0
"""Seconds after which a server is asked again."""
LOCAL_GOOD_FOR = 5 * 60.0
"""The same for one on this machine or in its network: asking costs nothing, and its models come and go."""
FAILED_GOOD_FOR = 3600.0
"""The same for a server that did not answer as it should."""
_FORGOTTEN_AFTER = 30 * 24 * 3600.0
_LOCK_TIMEOUT = 2.0
_TOKENS_FILE = "oauth_tokens.json"

_Kept = Mapping[str, KeptList]


class ModelLists:
    """The models of every provider that is set up. Safe for threads; processes of one home share the file."""

    def __init__(self, home: Home, clock: Callable[[], float] = time.time) -> None:
        self._file = SharedFile(home.root / FILE_NAME, durable=False)
        self._home = home
        self._clock = clock
        self._lock = threading.Lock()
        # What was made of what, so that nothing is made twice: sessions ask for it again and again.
        self._stored: tuple[Mapping[str, Any], _Kept] = ({}, {})
        self._unsaved: _Kept = {}
        self._kept_from: tuple[_Kept, _Kept, _Kept] = ({}, {}, {})
        self._made: tuple[Configuration, _Kept, frozenset[str], OfferedModels] | None = None

    def offered(self, config: Configuration) -> OfferedModels:
        """What can be chosen, the chosen provider's models first; nobody is asked, and nothing raises."""
        kept, accounts = self._kept(), self._accounts()
        made = self._made
        if made is not None and made[0] is config and made[1] is kept and made[2] == accounts:
            return made[3]
        lists = {key: each.models for key, each in kept.items() if each.models is not None}
        offered = offered_models(self.providers(config), lists, offline=offline_is_chosen(config))
        self._made = config, kept, accounts, offered
        return offered

    def providers(self, config: Configuration) -> tuple[ConfiguredProvider, ...]:
        """The providers that can be asked; none where the process was started offline."""
        return () if only_offline(config) else configured_providers(config, self._accounts())

    def due(self, config: Configuration) -> tuple[ConfiguredProvider, ...]:
        """The providers that have a list which is missing here, or old."""
        kept, now = self._kept(), self._clock()
        return tuple(
            provider
            for provider in self.providers(config)
            if provider.base_url and provider.service.listing != "none" and _is_old(provider, kept, now)
        )

    def learned(self, told: Mapping[str, Sequence[OfferedModel] | None]) -> None:
        """Keep what servers have said, by `ConfiguredProvider.list_key`; None where one gave no list.

        What cannot be written is kept in memory, and the log has a line about it.
        """
        kept, now = self._kept(), self._clock()
        fresh = {key: _renewed(kept.get(key), models, now) for key, models in told.items()}
        with self._lock:
            unsaved = self._unsaved = {**self._unsaved, **fresh}
        try:
            with self._file.locked(_LOCK_TIMEOUT) as draft:
                lists = {**lists_from(draft.content), **unsaved}
                young = {key: each for key, each in lists.items() if now - each.asked_at < _FORGOTTEN_AFTER}
                draft.content["lists"] = {key: list_entry(each) for key, each in young.items()}
                draft.save()
        except SharedFileError as problem:
            log.warning("the lists of models are kept by this process alone: %s", problem)
            return
        with self._lock:
            self._unsaved = {key: each for key, each in self._unsaved.items() if unsaved.get(key) is not each}

    def _kept(self) -> _Kept:
        """Every list; the same object as long as nothing has changed."""
        try:
            content = self._file.read()
        except SharedFileError as problem:
            log.warning("the lists of models cannot be read: %s", problem)
            content = {}
        with self._lock:
            if content is not self._stored[0] and content != self._stored[0]:
                self._stored = content, lists_from(content)
            stored, unsaved = self._stored[1], self._unsaved
            if self._kept_from[0] is not stored or self._kept_from[1] is not unsaved:
                self._kept_from = stored, unsaved, {**stored, **unsaved}
            return self._kept_from[2]

    def _accounts(self) -> frozenset[str]:
        """The services that a person has signed in to."""
        if not (self._home.root / _TOKENS_FILE).exists():
            return frozenset()
        from agent_core.providers.credentials.token_store import TokenStore  # noqa: PLC0415 - for those who signed in

        tokens = TokenStore(self._home.root / _TOKENS_FILE)
        try:
            names = (service.name for service in SERVICES.values() if service.access == "sign-in")
            return frozenset(name for name in names if tokens.get(name) is not None)
        except SharedFileError as problem:
            log.info("who has signed in cannot be read: %s", problem)
            return frozenset()


def _renewed(before: KeptList | None, models: Sequence[OfferedModel] | None, now: float) -> KeptList:
    if models is not None:
        return KeptList(now, tuple(models[:MOST_MODELS]))
    # A server that is down today has the models that it had.
    return KeptList(now, None if before is None else before.models, failed=True)


def _is_old(provider: ConfiguredProvider, kept: _Kept, now: float) -> bool:
    found = kept.get(provider.list_key)
    if found is None or found.asked_at > now:  # the clock was put back
        return True
    good_for = LOCAL_GOOD_FOR if is_local(provider.base_url) else FAILED_GOOD_FOR if found.failed else GOOD_FOR
    return now - found.asked_at >= good_for
