"""Several keys for one provider: which one is used, which rests, and what is kept of them."""

from __future__ import annotations

import hashlib
import logging
import math
import random
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from agent_core.providers.error_patterns import Reason
from agent_core.providers.shared_file import SharedFile, SharedFileError, number_in
from tools.light_dataclass import dataclass

if TYPE_CHECKING:
    from agent_core.settings.model import PoolStrategy


# A key with a name that may be shown: its fingerprint.

_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Credential:
    """A key of a provider.

    Attributes:
        key: None where the server wants none.
        id: the key's fingerprint, for files and logs; it does not give the key away.
    """

    key: str | None = field(repr=False)
    id: str


NO_KEY = Credential(None, "none")
"""What a server without keys is asked with."""


def credential_for(key: str) -> Credential:
    """The credential of a key."""
    return Credential(key, fingerprint(key))


def fingerprint(text: str) -> str:
    """The first 12 hexadecimal digits of the text's SHA-256."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_SHOWN]


def set_fingerprint(credentials: Iterable[Credential]) -> str:
    """The fingerprint of a set of keys, whatever their order."""
    return fingerprint(" ".join(sorted(credential.id for credential in credentials)))


# What is remembered of a provider's keys, also as JSON. Never a key: fingerprints, times, counts.

KEPT = 7 * 24 * 3600.0
"""Seconds after which a key that nobody used is forgotten."""


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """One key. Times are seconds since 1970, 0 for never.

    Attributes:
        uses: requests made with it.
        until: it rests until then.
        failed_at: when it was found that it must rest.
        reason: why it rests.
        key_set: the fingerprint of the pool in which it failed.
        touched: the last change of this record.
    """

    uses: int = 0
    until: float = 0.0
    failed_at: float = 0.0
    reason: str = ""
    key_set: str = ""
    touched: float = 0.0

    def is_stale(self, now: float) -> bool:
        """True when neither a rest nor a use of the last week is in it."""
        return self.until <= now and abs(now - self.touched) > KEPT


@dataclass(frozen=True, slots=True)
class ProviderRecord:
    """A provider's keys by fingerprint, and the one that was taken last."""

    last: str = ""
    keys: Mapping[str, KeyRecord] = field(default_factory=dict)

    def key(self, key_id: str) -> KeyRecord:
        """The record of a key, an empty one if it has none."""
        return self.keys.get(key_id) or KeyRecord()

    def with_key(self, key_id: str, record: KeyRecord) -> Self:
        """The same with another record of one key."""
        return replace(self, keys={**self.keys, key_id: record})

    def updated_by(self, other: ProviderRecord) -> ProviderRecord:
        """Both records as one: of each key the newer."""
        newer = {name: key for name, key in other.keys.items() if key.touched >= self.key(name).touched}
        return ProviderRecord(other.last or self.last, {**self.keys, **newer})


def _record(content: Mapping[str, Any], provider: str) -> ProviderRecord:
    """A provider's record in the content of a file; what cannot be understood counts as not there."""
    providers = content.get("providers")
    entry = providers.get(provider) if isinstance(providers, dict) else None
    if not isinstance(entry, dict):
        return ProviderRecord()
    last, keys = entry.get("last"), entry.get("keys")
    return ProviderRecord(
        last if isinstance(last, str) else "",
        {name: _key_from(value) for name, value in keys.items()} if isinstance(keys, dict) else {},
    )


def _provider_entry(record: ProviderRecord, previous: object) -> dict[str, Any]:
    """The JSON value of a record, with the fields of `previous` that this version does not know."""
    before = previous if isinstance(previous, dict) else {}
    keys = before.get("keys")
    known = keys if isinstance(keys, dict) else {}
    return {
        **before,
        "last": record.last,
        "keys": {name: {**_fields(known.get(name)), **asdict(key)} for name, key in record.keys.items()},
    }


def _without_stale(providers: Mapping[str, Any], now: float) -> dict[str, Any]:
    """The providers' JSON values without keys that are stale, and without providers that have no other."""
    kept = {}
    for name, entry in providers.items():
        keys = entry.get("keys") if isinstance(entry, dict) else None
        if not isinstance(keys, dict):
            kept[name] = entry
        elif alive := {key: value for key, value in keys.items() if not _key_from(value).is_stale(now)}:
            kept[name] = {**entry, "keys": alive}
    return kept


def _key_from(entry: object) -> KeyRecord:
    fields = _fields(entry)
    return KeyRecord(
        uses=int(_time_in(fields.get("uses"))),
        until=_time_in(fields.get("until")),
        failed_at=_time_in(fields.get("failed_at")),
        reason=str(fields.get("reason") or ""),
        key_set=str(fields.get("key_set") or ""),
        touched=_time_in(fields.get("touched")),
    )


def _fields(entry: object) -> dict[str, Any]:
    return entry if isinstance(entry, dict) else {}


def _time_in(value: object) -> float:
    return max(0.0, number_in(value) or 0.0)


# Which of several usable keys is taken.

Choose = Callable[[Sequence[Credential], Sequence[Credential], ProviderRecord], Credential]
"""Of all keys in their order, and of those that are usable (at least one, in the same order), the one to take."""


def fill_first(_all: Sequence[Credential], usable: Sequence[Credential], _record: ProviderRecord) -> Credential:
    """The first key, as long as it serves: its server keeps the conversation's beginning."""
    return usable[0]


def round_robin(every: Sequence[Credential], usable: Sequence[Credential], record: ProviderRecord) -> Credential:
    """The next usable key after the one that was taken last, whoever took it."""
    ids = [credential.id for credential in every]
    start = ids.index(record.last) + 1 if record.last in ids else 0
    ring = [*every[start:], *every[:start]]
    return next(credential for credential in ring if credential in usable)


def any_of(_all: Sequence[Credential], usable: Sequence[Credential], _record: ProviderRecord) -> Credential:
    """Any usable key."""
    return random.choice(usable)  # noqa: S311 - spreads the load, guards nothing


def least_used(_all: Sequence[Credential], usable: Sequence[Credential], record: ProviderRecord) -> Credential:
    """The usable key with the fewest requests; the earlier one of equals."""
    return min(usable, key=lambda credential: record.key(credential.id).uses)


STRATEGIES: Mapping[PoolStrategy, Choose] = {
    "fill_first": fill_first,
    "round_robin": round_robin,
    "random": any_of,
    "least_used": least_used,
}


# How long a key rests after a failure. Times are seconds.

LONGEST = 31 * 24 * 3600.0
"""No rest is longer, whatever a provider says: monthly limits are the longest there are."""

_REST: Mapping[Reason, float] = {
    "auth": 5 * 60.0,
    "auth_permanent": 24 * 3600.0,
    "rate_limit": 3600.0,
    "billing": 3600.0,
}
_TOLD_BY_PROVIDER: frozenset[Reason] = frozenset({"rate_limit", "billing"})
_ABOUT_THE_KEY: frozenset[str] = frozenset({"auth", "auth_permanent"})
# A failure noted this far in the future was noted while the clock was wrong.
_CLOCK_TOLERANCE = 60.0


def rest_after(reason: Reason, retry_after: float | None) -> float | None:
    """Seconds that a key rests after a failure; None where the failure is not the key's.

    Args:
        retry_after: what the provider said, in seconds; it counts for limits and billing.
    """
    usual = _REST.get(reason)
    if usual is None or reason not in _TOLD_BY_PROVIDER or retry_after is None or not math.isfinite(retry_after):
        return usual
    return min(max(retry_after, 0.0), LONGEST)


def remaining(record: KeyRecord, now: float, key_set: str) -> float:
    """Seconds that a key still rests, 0 when it can be used.

    Args:
        key_set: the fingerprint of the pool's keys. A refused key rests only in the set it was refused in: whoever
            changed the keys has done something about it.
    """
    if record.reason in _ABOUT_THE_KEY and record.key_set != key_set:
        return 0.0
    if record.failed_at > now + _CLOCK_TOLERANCE:
        return 0.0
    return max(0.0, min(record.until, record.failed_at + LONGEST) - now)


# Where pools remember which keys rest: one file for all processes.

log = logging.getLogger(__name__)

FILE_NAME = "credential_state.json"
_LOCK_TIMEOUT = 2.0
# A lock that is stuck or a disk that is full must not cost every request the time-out.
_LEFT_ALONE = 60.0

Change = Callable[[ProviderRecord], ProviderRecord]
"""A record from a record, without side effects: it may be called again on a newer record."""


class PoolState:
    """What the pools of a provider share, in all processes that use the file at `path`. Safe for threads.

    What cannot be written (no lock in time, a full disk, a home that may not be written) is remembered in memory and
    goes into the file with the next change that can; the log has one line about it.

    Args:
        path: None: for this process alone.
        clock: seconds since 1970.
        timer: seconds that only go forward.
        lock_timeout: seconds to wait for another process.
    """

    def __init__(
        self,
        path: Path | None = None,
        clock: Callable[[], float] = time.time,
        timer: Callable[[], float] = time.monotonic,
        lock_timeout: float = _LOCK_TIMEOUT,
    ) -> None:
        self._file = None if path is None else SharedFile(path, durable=False)
        self._clock = clock
        self._timer = timer
        self._lock_timeout = lock_timeout
        self._lock = threading.Lock()
        self._unsaved: Mapping[str, ProviderRecord] = {}
        self._again_at: float | None = None
        self._logged = False

    def read(self, provider: str) -> ProviderRecord:
        """The provider's record now."""
        unsaved = self._unsaved.get(provider)
        if self._file is None:
            return unsaved or ProviderRecord()
        try:
            stored = _record(self._file.read(), provider)
            return stored if unsaved is None else stored.updated_by(unsaved)
        except SharedFileError as problem:
            self._log(problem)
            return unsaved or ProviderRecord()

    def update(self, provider: str, change: Change) -> ProviderRecord:
        """Change the provider's record, at one go; the new record."""
        with self._lock:
            if self._file is not None and (self._again_at is None or self._timer() >= self._again_at):
                try:
                    record = self._write(self._file, provider, change)
                except SharedFileError as problem:
                    self._again_at = self._timer() + _LEFT_ALONE
                    self._log(problem)
                else:
                    self._unsaved, self._again_at = {}, None
                    return record
            record = change(self.read(provider))
            self._unsaved = {**self._unsaved, provider: record}
            return record

    def _write(self, file: SharedFile, provider: str, change: Change) -> ProviderRecord:
        with file.locked(self._lock_timeout) as draft:
            providers = _fields(draft.content.get("providers"))
            records = {name: _record(draft.content, name).updated_by(self._unsaved[name]) for name in self._unsaved}
            before = records.get(provider) or _record(draft.content, provider)
            records[provider] = change(before)
            if records[provider] == before and not self._unsaved:
                return before
            entries = {name: _provider_entry(record, providers.get(name)) for name, record in records.items()}
            draft.content["providers"] = _without_stale({**providers, **entries}, self._clock())
            draft.save()
            return records[provider]

    def _log(self, problem: SharedFileError) -> None:
        if not self._logged:
            self._logged = True
            log.warning("Which keys rest is remembered by this process alone: %s", problem)


# Several keys of one provider: which one is used now, and which ones rest.


class CredentialPool:
    """The keys of one provider. Safe for threads; pools over one state know of each other's failures.

    A request is made in this order: `take`; where that gives None, the next model is asked instead of waiting; where
    there is no next model, `take(even_cooling=True)`, since the user may have topped the account up meanwhile. After
    a failure `failed`, and after the answer of a key that may have rested `served`.

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
        """The key to use now, by the strategy, for one request more; None while all rest.

        Args:
            even_cooling: while all rest, the one whose rest ends first.
            without: keys (their ids) to pass over, as long as another one is usable.
        """
        if not self._all:
            return NO_KEY
        in_turn = self._strategy == "round_robin" and len(self._all) > 1
        chosen = self._next_in_turn(without) if in_turn else self._chosen(self._state.read(self.provider), without)
        if chosen is None and even_cooling:
            record = self._state.read(self.provider)
            chosen = min(self._all, key=lambda credential: self._remaining(record, credential))
        if chosen is not None and self._strategy == "least_used" and len(self._all) > 1:
            self._count(chosen)
        return chosen

    def others(self, than: Credential) -> bool:
        """True when another key can be used now."""
        return any(credential.id != than.id for credential in self._usable(self._state.read(self.provider)))

    def untried(self, tried: Collection[str]) -> bool:
        """True when a key that is not among `tried` can be used now."""
        return any(credential.id not in tried for credential in self._usable(self._state.read(self.provider)))

    def _count(self, credential: Credential) -> None:
        def count(record: ProviderRecord) -> ProviderRecord:
            key = record.key(credential.id)
            return record.with_key(credential.id, replace(key, uses=key.uses + 1, touched=self._clock()))

        self._state.update(self.provider, count)

    def served(self, credential: Credential) -> None:
        """A request with the key was answered: if it rested, it no longer does."""
        if not self._remaining(self._state.read(self.provider), credential):
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
        record = self._state.read(self.provider)
        return min(self._remaining(record, credential) for credential in self._all) or None

    def _remaining(self, record: ProviderRecord, credential: Credential) -> float:
        return remaining(record.key(credential.id), self._clock(), self._key_set)

    def _usable(self, record: ProviderRecord) -> Sequence[Credential]:
        if not record.keys:
            return self._all
        return [credential for credential in self._all if not self._remaining(record, credential)]

    def _chosen(self, record: ProviderRecord, without: Collection[str] = ()) -> Credential | None:
        usable = self._usable(record)
        if without:
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
