"""How long a key rests after a failure, and when a provider says that its limit is lifted. Times are seconds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, datetime

from agent_core.providers.credentials.records import KeyRecord
from agent_core.providers.error_patterns import Reason

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
# Numbers below are seconds from now, numbers above are milliseconds since 1970; between them are seconds since 1970.
_FIRST_EPOCH = 1e9
_FIRST_MILLISECONDS = 1e11
_TOO_LARGE = 1e14


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


def reset_time(value: object, now: float) -> float | None:
    """When a limit is lifted, in seconds since 1970; None where `value` does not tell.

    Args:
        value: seconds from now, seconds or milliseconds since 1970 (as a number or as text), or ISO-8601 text; a time
            without a zone is UTC.
    """
    if isinstance(value, str):
        text = value.strip()
        try:
            value = float(text)
        except ValueError:
            return _iso_time(text)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not 0 <= value < _TOO_LARGE:  # also false for a NaN
        return None
    if value < _FIRST_EPOCH:
        return now + value
    return value / 1000 if value >= _FIRST_MILLISECONDS else float(value)


def _iso_time(text: str) -> float | None:
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
