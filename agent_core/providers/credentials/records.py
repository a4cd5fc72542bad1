"""What is remembered of a provider's keys, also as JSON. Never a key: fingerprints, times, counts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, field, replace
from typing import Any, Self

from tools.light_dataclass import dataclass

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

    def updated_by(self, other: ProviderRecord | None) -> ProviderRecord:
        """Both records as one: of each key the newer."""
        if other is None:
            return self
        newer = {name: key for name, key in other.keys.items() if key.touched >= self.key(name).touched}
        return ProviderRecord(other.last or self.last, {**self.keys, **newer})


def provider_from(entry: object) -> ProviderRecord:
    """The record in a JSON value; what cannot be understood counts as not there."""
    if not isinstance(entry, dict):
        return ProviderRecord()
    last, keys = entry.get("last"), entry.get("keys")
    return ProviderRecord(
        last if isinstance(last, str) else "",
        {name: _key_from(value) for name, value in keys.items()} if isinstance(keys, dict) else {},
    )


def provider_entry(record: ProviderRecord, previous: object) -> dict[str, Any]:
    """The JSON value of a record, with the fields of `previous` that this version does not know."""
    before = previous if isinstance(previous, dict) else {}
    keys = before.get("keys")
    known = keys if isinstance(keys, dict) else {}
    return {
        **before,
        "last": record.last,
        "keys": {name: {**_fields(known.get(name)), **asdict(key)} for name, key in record.keys.items()},
    }


def without_stale(providers: Mapping[str, Any], now: float) -> dict[str, Any]:
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
        uses=int(_number(fields.get("uses"))),
        until=_number(fields.get("until")),
        failed_at=_number(fields.get("failed_at")),
        reason=str(fields.get("reason") or ""),
        key_set=str(fields.get("key_set") or ""),
        touched=_number(fields.get("touched")),
    )


def _fields(entry: object) -> dict[str, Any]:
    return entry if isinstance(entry, dict) else {}


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    try:
        number = float(value)
    except OverflowError:
        return 0.0
    return number if math.isfinite(number) and number > 0 else 0.0
