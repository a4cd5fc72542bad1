"""The tokens of sign-ins, and where they are kept."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from agent_core.errors import ProviderError
from agent_core.providers.shared_file import Draft, SharedFile, SharedFileError, number_in
from tools.light_dataclass import dataclass

# A sign-in: an access token with what renews it, and what can go wrong when it is renewed.

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
        expires_at=number_in(entry.get("expires_at")),
        token_url=_text(entry, "token_url"),
        client_id=_text(entry, "client_id"),
        client_secret=_text(entry, "client_secret") or None,
        scope=_text(entry, "scope"),
        extra=extra if isinstance(extra, dict) else {},
        dead_reason=_text(dead, "reason") if isinstance(dead, dict) else "",
        dead_at=min(max(number_in(dead.get("at")) or 0.0, 0.0), _LAST_MOMENT) if isinstance(dead, dict) else None,
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


def _text(entry: Mapping[str, Any], name: str) -> str:
    value = entry.get(name)
    return value if isinstance(value, str) else ""


# Where sign-ins are kept: one file for all processes of a home.

log = logging.getLogger(__name__)

FILE_NAME = "oauth_tokens.json"
LOCK_TIMEOUT = 30.0


@dataclass(frozen=True, slots=True)
class LockedToken:
    """A provider's token while nobody else can change it."""

    token: OAuthToken | None
    keep: Callable[[OAuthToken], None]
    """Stores a token in its place. Raises SharedFileError."""


class TokenStore:
    """The tokens in the file at `path`, by provider. Safe for threads and processes."""

    def __init__(self, path: Path) -> None:
        self._file = SharedFile(path, durable=True)
        # By provider: a renewed token that could not be stored, and the access token that it replaces.
        self._unsaved: dict[str, tuple[str, OAuthToken]] = {}

    def get(self, provider: str) -> OAuthToken | None:
        """The provider's token as it is stored now.

        Raises:
            SharedFileError: the store cannot be read.
        """
        return self._newest(provider, _tokens(self._file.read()).get(provider))

    def secrets(self) -> frozenset[str]:
        """Every secret of the sign-ins that are stored now, dead ones too.

        Raises:
            SharedFileError: the store cannot be read.
        """
        tokens = [token for entry in _tokens(self._file.read()).values() if (token := token_from(entry)) is not None]
        found = (secret for one in tokens for secret in (one.access_token, one.refresh_token, one.client_secret))
        return frozenset(secret for secret in found if secret)

    def put(self, provider: str, token: OAuthToken) -> None:
        """Store a new sign-in.

        Raises:
            SharedFileError: it could not be stored.
        """
        with self.locked(provider) as held:
            held.keep(token)

    def forget(self, provider: str) -> None:
        """Delete a provider's token.

        Raises:
            SharedFileError: it could not be deleted.
        """
        with self._file.locked(LOCK_TIMEOUT) as draft:
            tokens = _tokens(draft.content)
            if provider in tokens:
                draft.content["providers"] = {name: entry for name, entry in tokens.items() if name != provider}
                draft.save()
            self._unsaved.pop(provider, None)

    @contextlib.contextmanager
    def locked(self, provider: str, cancelled: Callable[[], bool] | None = None) -> Iterator[LockedToken]:
        """The provider's token, read again under the store's lock.

        Raises:
            SharedFileError: lock or file cannot be had.
            TurnInterrupted: it was cancelled while it waited for the lock.
        """
        with self._file.locked(LOCK_TIMEOUT, cancelled) as draft:
            token = self._newest(provider, _tokens(draft.content).get(provider))
            yield LockedToken(token, lambda new: self._keep(draft, provider, new))

    def remember(self, provider: str, replaced: OAuthToken, token: OAuthToken) -> None:
        """Use `token` in this process, until the store has another than `replaced`: it could not be stored."""
        stored = replaced.access_token
        earlier = self._unsaved.get(provider)
        if earlier is not None and earlier[1].access_token == stored:
            stored = earlier[0]
        self._unsaved[provider] = (stored, token)

    def _newest(self, provider: str, entry: object) -> OAuthToken | None:
        stored = token_from(entry)
        replaced, unsaved = self._unsaved.get(provider, ("", None))
        return unsaved if stored is not None and stored.access_token == replaced else stored

    def _keep(self, draft: Draft, provider: str, token: OAuthToken) -> None:
        tokens = _tokens(draft.content)
        draft.content["providers"] = {**tokens, provider: token_entry(token, tokens.get(provider))}
        draft.save()
        self._unsaved.pop(provider, None)


def keep_or_remember(store: TokenStore, provider: str, held: LockedToken, token: OAuthToken) -> None:
    """Store a renewed token; where that fails this process goes on with it, and the log says so."""
    try:
        held.keep(token)
    except SharedFileError as problem:
        log.warning("The renewed sign-in at %s is kept by this process alone: %s", provider, problem)
        if held.token is not None:
            store.remember(provider, held.token, token)


def _tokens(content: Mapping[str, Any]) -> Mapping[str, Any]:
    found = content.get("providers")
    return found if isinstance(found, dict) else {}
