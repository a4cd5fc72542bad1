"""What to do about a failed request, and how long to wait before the next: a pure decision."""

from __future__ import annotations

import random
from dataclasses import field
from typing import Literal

from agent_core.providers.error_patterns import Reason
from agent_core.providers.errors import ClassifiedError
from tools.light_dataclass import dataclass

# How long to wait before the next attempt.


@dataclass(slots=True)
class Backoff:
    """Jittered exponential waits, decorrelated: sessions that failed together do not come back together.

    Attributes:
        base: the shortest wait, in seconds.
        cap: the longest.
    """

    base: float = 0.5
    cap: float = 30.0
    chance: random.Random = field(default_factory=random.SystemRandom)
    _last: float = 0.0

    def next(self) -> float:
        """Seconds to wait now: at random between `base` and three times the wait before."""
        self._last = min(self.cap, self.chance.uniform(self.base, max(self.base, self._last) * 3))
        return self._last

    def after(self, asked: float) -> float:
        """Seconds to wait where the server asked for `asked`: never less, and a little more for some."""
        return asked + self.chance.uniform(0, min(1.0, asked * 0.1))


# What to do, from what failed and which ways are still open.

LONGEST_WAIT = 300.0
_ONCE: frozenset[Reason] = frozenset({"unknown", "thinking_signature"})
# A limit is the account's: where another model may answer, nobody waits for the limit to pass.
_LEAVE_AT_ONCE: frozenset[Reason] = frozenset({"rate_limit", "billing"})


@dataclass(frozen=True, slots=True)
class Situation:
    """Which ways are open after a failure.

    Attributes:
        failures: failed attempts at this model with this key, this one included.
        attempts: how many there may be.
        can_leave_out_tools: tools that the server may refuse can be found.
        changes: what may be changed of the request, in this order, to find out what the server does not take.
    """

    failures: int
    attempts: int
    can_refresh: bool = False
    can_rotate: bool = False
    can_fall_back: bool = False
    can_compress: bool = False
    can_unseal: bool = False
    can_drop_images: bool = False
    can_leave_out_tools: bool = False
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class Wait:
    """Try the same again; `asked` is what the server asked us to wait, in seconds."""

    asked: float | None


@dataclass(frozen=True, slots=True)
class Refresh:
    """Get a new token with the refresh token, then try the same again."""


@dataclass(frozen=True, slots=True)
class Rotate:
    """Use the provider's next key."""


@dataclass(frozen=True, slots=True)
class FallBack:
    """Ask the next model."""


@dataclass(frozen=True, slots=True)
class Compress:
    """Show the model less of what was said before."""


@dataclass(frozen=True, slots=True)
class Unseal:
    """Leave out the sealed reasoning, which the server does not accept any more."""


@dataclass(frozen=True, slots=True)
class DropImages:
    """Leave out the images."""


@dataclass(frozen=True, slots=True)
class LeaveOutTools:
    """Find the tools whose schema the server refuses, and ask without them."""


Change = Literal["fields", "attachments", "history"]
"""What of a request may be what the server does not take."""


@dataclass(frozen=True, slots=True)
class Try:
    """Ask with this one thing changed; undone unless it helps."""

    change: Change


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Nothing is left to try."""


Step = Wait | Refresh | Rotate | FallBack | Compress | Unseal | DropImages | LeaveOutTools | Try | GiveUp


def decide(failure: ClassifiedError, now: Situation) -> Step:
    """The next step after a failure."""
    mending = _mend(failure, now)
    if mending is not None:
        return mending
    if failure.should_rotate_credential and now.can_rotate:
        return Rotate()
    leave = failure.should_fallback and now.can_fall_back
    if leave and failure.reason in _LEAVE_AT_ONCE:
        return FallBack()
    if (
        failure.retryable
        and now.failures < attempts_at(failure, now.attempts)
        and (failure.retry_after or 0) <= LONGEST_WAIT
    ):
        return Wait(failure.retry_after)
    return FallBack() if leave else GiveUp()


def attempts_at(failure: ClassifiedError, attempts: int) -> int:
    """How often a request that fails like this is made at most, of `attempts`."""
    return min(attempts, 2) if failure.reason in _ONCE else attempts


def _mend(failure: ClassifiedError, now: Situation) -> Step | None:
    """A change of the request or of the token that may take the cause away."""
    match failure.reason:
        case "auth" | "auth_permanent" | "provider_policy_blocked" if now.can_refresh and _refusal(failure):
            return Refresh()
        case "thinking_signature" if now.can_unseal:
            return Unseal()
        case "image_too_large" if now.can_drop_images:
            return DropImages()
        case "images_not_taken" if "attachments" in now.changes:
            return Try("attachments")
        case _ if failure.unexplained and now.changes:
            return Try(now.changes[0])
        case _ if now.can_leave_out_tools:
            return LeaveOutTools()
        case _ if failure.should_compress and (not failure.retryable or now.failures > 1):
            if now.can_compress:
                return Compress()
            return DropImages() if now.can_drop_images and failure.reason == "payload_too_large" else None
    return None


def _refusal(failure: ClassifiedError) -> bool:
    return failure.status_code in {401, 403}
