"""A sign-in: an access token with what renews it, and what can go wrong when it is renewed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from agent_core.errors import ProviderError
from tools.light_dataclass import dataclass

LEEWAY = 60.0
"""Seconds before its end at which a token is renewed."""

# What a calendar can show.
_LAST_MOMENT = 4e9


class RefreshFailed(ProviderError):
    """The token could not be renewed now; it may work later, or with other settings."""


class RefreshRefused(ProviderError):
    """The sign-in is over: the server takes this refresh token no more.

    Attributes:
        said: the server's reason.
    """

    def __init__(self, message: str, said: str) -> None:
        super().__init__(message)
        self.said = said


@dataclass(frozen=True, slots=True)
class OAuthToken:
    """A sign-in at a provider.

    Attributes:
        refresh_token: None where the token cannot be renewed.
        expires_at: seconds since 1970; None where the server did not say.
        token_url: where it is renewed.
        extra: what else the server sent with it.
        dead_reason: why the server refused to renew it; '' while it lives.
        dead_at: when it did.
    """

    access_token: str = field(repr=False)
    refresh_token: str | None = field(default=None, repr=False)
    expires_at: float | None = None
    token_url: str = ""
    client_id: str = ""
    client_secret: str | None = field(default=None, repr=False)
    scope: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)
    dead_reason: str = ""
    dead_at: float | None = None

    @property
    def dead(self) -> bool:
        """True when only a new sign-in helps."""
        return self.dead_at is not None

    def expires_soon(self, now: float) -> bool:
        """True when it has ended or is about to."""
        return self.expires_at is not None and self.expires_at - now <= LEEWAY

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no text may show."""
        return tuple(secret for secret in (self.access_token, self.refresh_token, self.client_secret) if secret)


RefreshHook = Callable[[OAuthToken], OAuthToken]
"""A new token for an old one; where it has no refresh token the old one's is kept.

Raises RefreshRefused, RefreshFailed.
"""


def token_from(entry: object) -> OAuthToken | None:
    """The token in a JSON value; None where there is none."""
    if not isinstance(entry, dict) or not _text(entry, "access_token"):
        return None
    extra, dead = entry.get("extra"), entry.get("dead")
    return OAuthToken(
        access_token=_text(entry, "access_token"),
        refresh_token=_text(entry, "refresh_token") or None,
        expires_at=seconds_in(entry.get("expires_at")),
        token_url=_text(entry, "token_url"),
        client_id=_text(entry, "client_id"),
        client_secret=_text(entry, "client_secret") or None,
        scope=_text(entry, "scope"),
        extra=extra if isinstance(extra, dict) else {},
        dead_reason=_text(dead, "reason") if isinstance(dead, dict) else "",
        dead_at=min(max(seconds_in(dead.get("at")) or 0.0, 0.0), _LAST_MOMENT) if isinstance(dead, dict) else None,
    )


def token_entry(token: OAuthToken, previous: object = None) -> dict[str, Any]:
    """The JSON value of a token, with the fields of `previous` that this version does not know."""
    return {
        **(previous if isinstance(previous, dict) else {}),
        "access_token": token.access_token,
        "refresh_token": token.refresh_token,
        "expires_at": token.expires_at,
        "token_url": token.token_url,
        "client_id": token.client_id,
        "client_secret": token.client_secret,
        "scope": token.scope,
        "extra": dict(token.extra),
        "dead": {"reason": token.dead_reason, "at": token.dead_at} if token.dead else None,
    }


def seconds_in(value: object) -> float | None:
    """A number of seconds, also where it is written as text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _text(entry: Mapping[str, Any], name: str) -> str:
    value = entry.get(name)
    return value if isinstance(value, str) else ""
