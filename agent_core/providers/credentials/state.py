"""Where pools remember which keys rest: one file for all processes, or memory."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from agent_core.providers.credentials.records import ProviderRecord, provider_entry, provider_from, without_stale
from agent_core.providers.credentials.shared_file import SharedFile, SharedFileError

log = logging.getLogger(__name__)

FILE_NAME = "credential_state.json"
_LOCK_TIMEOUT = 2.0
# A lock that is stuck or a disk that is full must not cost every request the time-out.
_LEFT_ALONE = 60.0

Change = Callable[[ProviderRecord], ProviderRecord]
"""A record from a record, without side effects: it may be called again on a newer record."""


class PoolState(Protocol):
    """What the pools of a provider share. Safe for threads; it never raises."""

    def read(self, provider: str) -> ProviderRecord:
        """The provider's record now."""
        ...

    def update(self, provider: str, change: Change) -> ProviderRecord:
        """Change the provider's record, at one go; the new record."""
        ...


class MemoryPoolState:
    """Implements `PoolState` for this process alone."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._records: dict[str, ProviderRecord] = {}

    def read(self, provider: str) -> ProviderRecord:
        """The provider's record now."""
        return self._records.get(provider) or ProviderRecord()

    def update(self, provider: str, change: Change) -> ProviderRecord:
        """Change the provider's record."""
        with self._lock:
            record = self._records[provider] = change(self.read(provider))
            return record


class FilePoolState:
    """Implements `PoolState` for all processes that use the file at `path`.

    What cannot be written (no lock in time, a full disk, a home that may not be written) is remembered in memory and
    goes into the file with the next change that can; the log has one line about it.

    Args:
        clock: seconds since 1970.
        timer: seconds that only go forward.
        lock_timeout: seconds to wait for another process.
    """

    def __init__(
        self,
        path: Path,
        clock: Callable[[], float] = time.time,
        timer: Callable[[], float] = time.monotonic,
        lock_timeout: float = _LOCK_TIMEOUT,
    ) -> None:
        self._file = SharedFile(path, durable=False)
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
        try:
            return _record(self._file.read(), provider).updated_by(unsaved)
        except SharedFileError as problem:
            self._log(problem)
            return unsaved or ProviderRecord()

    def update(self, provider: str, change: Change) -> ProviderRecord:
        """Change the provider's record."""
        with self._lock:
            if self._again_at is None or self._timer() >= self._again_at:
                try:
                    record = self._write(provider, change)
                except SharedFileError as problem:
                    self._again_at = self._timer() + _LEFT_ALONE
                    self._log(problem)
                else:
                    self._unsaved, self._again_at = {}, None
                    return record
            record = change(self.read(provider))
            self._unsaved = {**self._unsaved, provider: record}
            return record

    def _write(self, provider: str, change: Change) -> ProviderRecord:
        with self._file.locked(self._lock_timeout) as draft:
            providers = _providers(draft.content)
            records = {name: _record(draft.content, name).updated_by(self._unsaved[name]) for name in self._unsaved}
            before = records.get(provider) or _record(draft.content, provider)
            records[provider] = change(before)
            if records[provider] == before and not self._unsaved:
                return before
            entries = {name: provider_entry(record, providers.get(name)) for name, record in records.items()}
            draft.content["providers"] = without_stale({**providers, **entries}, self._clock())
            draft.save()
            return records[provider]

    def _log(self, problem: SharedFileError) -> None:
        if not self._logged:
            self._logged = True
            log.warning("Which keys rest is remembered by this process alone: %s", problem)


def pool_state(home: Path | None) -> PoolState:
    """The state in a home directory, or in memory where there is none."""
    return MemoryPoolState() if home is None else FilePoolState(home / FILE_NAME)


def _providers(content: Mapping[str, Any]) -> Mapping[str, Any]:
    found = content.get("providers")
    return found if isinstance(found, dict) else {}


def _record(content: Mapping[str, Any], provider: str) -> ProviderRecord:
    return provider_from(_providers(content).get(provider))
