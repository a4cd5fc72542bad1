"""Several keys of one provider: which one is used now, and which ones rest."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from agent_core.providers.credentials.cooldowns import remaining, rest_after
from agent_core.providers.credentials.credential import NO_KEY, Credential, credential_for, set_fingerprint
from agent_core.providers.credentials.records import ProviderRecord
from agent_core.providers.credentials.state import PoolState
from agent_core.providers.credentials.strategies import STRATEGIES
from agent_core.providers.error_patterns import Reason

if TYPE_CHECKING:
    from agent_core.settings.model import PoolStrategy

log = logging.getLogger(__name__)


class CredentialPool:
    """The keys of one provider. Safe for threads; pools over one state know of each other's failures.

    A request is made in this order: `take`; where that gives None, the next model is asked instead of waiting; where
    there is no next model, `take(even_cooling=True)`, since the user may have topped the account up meanwhile. Then
    `used`, and after the answer `served` or `failed`.

    Args:
        keys: in the user's order; repeated and empty ones count once and not at all. Without keys the pool always
            gives `NO_KEY`.
        clock: seconds since 1970.
    """

    def __init__(
        self,
        provider: str,
        keys: Sequence[str],
        strategy: PoolStrategy,
        state: PoolState,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.provider = provider
        self._all = tuple(credential_for(key) for key in dict.fromkeys(keys) if key)
        self._ids = frozenset(credential.id for credential in self._all)
        self._key_set = set_fingerprint(self._all)
        self._strategy = strategy
        self._state = state
        self._clock = clock

    def __len__(self) -> int:
        return len(self._all)

    def take(self, *, even_cooling: bool = False, without: Collection[str] = ()) -> Credential | None:
        """The key to use now, by the strategy; None while all rest.

        Args:
            even_cooling: while all rest, the one whose rest ends first.
            without: keys (their ids) to pass over, as long as another one is usable.
        """
        if not self._all:
            return NO_KEY
        in_turn = self._strategy == "round_robin" and len(self._all) > 1
        chosen = self._next_in_turn(without) if in_turn else self._chosen(self._record(), without)
        if chosen is None and even_cooling:
            record = self._record()
            return min(self._all, key=lambda credential: self._remaining(record, credential))
        return chosen

    def others(self, than: Credential) -> bool:
        """True when another key can be used now."""
        return any(credential.id != than.id for credential in self._usable(self._record()))

    def untried(self, tried: Collection[str]) -> bool:
        """True when a key that is not among `tried` can be used now."""
        return any(credential.id not in tried for credential in self._usable(self._record()))

    def used(self, credential: Credential) -> None:
        """A request is made with the key."""
        if self._strategy != "least_used" or len(self._all) < 2 or credential.id not in self._ids:  # noqa: PLR2004
            return

        def count(record: ProviderRecord) -> ProviderRecord:
            key = record.key(credential.id)
            return record.with_key(credential.id, replace(key, uses=key.uses + 1, touched=self._clock()))

        self._state.update(self.provider, count)

    def served(self, credential: Credential) -> None:
        """A request with the key was answered: if it rested, it no longer does."""
        if not self._remaining(self._record(), credential):
            return

        def wake(record: ProviderRecord) -> ProviderRecord:
            key = replace(record.key(credential.id), until=0.0, failed_at=0.0, reason="", touched=self._clock())
            return record.with_key(credential.id, key)

        self._state.update(self.provider, wake)

    def failed(self, credential: Credential, reason: Reason, retry_after: float | None = None) -> None:
        """A request with the key failed: it rests for as long as the reason asks for, if at all.

        Args:
            retry_after: seconds until the provider serves the key again, where it said so.
        """
        seconds = rest_after(reason, retry_after)
        if not seconds or credential.id not in self._ids:
            return

        def rest(record: ProviderRecord) -> ProviderRecord:
            now = self._clock()
            if self._remaining(record, credential) >= seconds:  # a longer limit was met meanwhile
                return record
            key = replace(
                record.key(credential.id),
                until=now + seconds,
                failed_at=now,
                reason=reason,
                key_set=self._key_set,
                touched=now,
            )
            return record.with_key(credential.id, key)

        self._state.update(self.provider, rest)
        log.info("%s: key %s rests for %.0f s (%s)", self.provider, credential.id, seconds, reason)

    def soonest(self) -> float | None:
        """Seconds until the first key can be used again; None when one can be used now."""
        if not self._all:
            return None
        record = self._record()
        return min(self._remaining(record, credential) for credential in self._all) or None

    def _record(self) -> ProviderRecord:
        return self._state.read(self.provider)

    def _remaining(self, record: ProviderRecord, credential: Credential) -> float:
        return remaining(record.key(credential.id), self._clock(), self._key_set)

    def _usable(self, record: ProviderRecord) -> list[Credential]:
        return [credential for credential in self._all if not self._remaining(record, credential)]

    def _chosen(self, record: ProviderRecord, without: Collection[str] = ()) -> Credential | None:
        usable = self._usable(record)
        usable = [credential for credential in usable if credential.id not in without] or usable
        return STRATEGIES[self._strategy](self._all, usable, record) if usable else None

    def _next_in_turn(self, without: Collection[str] = ()) -> Credential | None:
        chosen: Credential | None = None

        def advance(record: ProviderRecord) -> ProviderRecord:
            nonlocal chosen
            chosen = self._chosen(record, without)
            if chosen is None:
                return record
            key = replace(record.key(chosen.id), touched=self._clock())
            return replace(record.with_key(chosen.id, key), last=chosen.id)

        self._state.update(self.provider, advance)
        return chosen
