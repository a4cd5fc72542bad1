"""Renewing a sign-in, once for all processes that share it, and the token that a request is made with."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Protocol

from agent_core.providers.credentials.grant import refresh_grant
from agent_core.providers.credentials.outlasting import outlasting
from agent_core.providers.credentials.shared_file import SharedFileError
from agent_core.providers.credentials.token_store import TokenStore, keep_or_remember
from agent_core.providers.credentials.tokens import OAuthToken, RefreshFailed, RefreshHook, RefreshRefused

log = logging.getLogger(__name__)

Cancelled = Callable[[], bool]
# After an early renewal failed, the token that still serves is used this long before it is tried again.
_NEXT_EARLY_RENEWAL = 30.0


class BearerSource(Protocol):
    """The bearer token of a provider's requests.

    Attributes:
        problem: why the last call gave None, for the user; '' where it did not.
    """

    problem: str

    def current(self, cancelled: Cancelled | None = None) -> str | None:
        """The token to use now; one that is about to end is renewed first.

        Raises:
            TurnInterrupted: it was cancelled.
        """
        ...

    def refreshed(self, after: str, cancelled: Cancelled | None = None) -> str | None:
        """Another token than `after`, which the server refused; None where there is none.

        Raises:
            TurnInterrupted: it was cancelled.
        """
        ...


def refresh(
    store: TokenStore,
    provider: str,
    failed_access_token: str,
    hook: RefreshHook = refresh_grant,
    *,
    cancelled: Cancelled | None = None,
    clock: Callable[[], float] = time.time,
) -> OAuthToken | None:
    """The provider's token after `failed_access_token`, renewed under the store's lock.

    Where the store has another token by then (another process renewed it), that one is taken and nobody is asked:
    a refresh token may be good for one use. A cancel lets the caller go at once; a request that was sent is still
    waited for, elsewhere, and its token stored.

    Returns:
        None where only a new sign-in helps; `problem_of` has the words.

    Raises:
        RefreshFailed: it could not be renewed now. SharedFileError: the store cannot be used.
        TurnInterrupted: it was cancelled.
    """

    def renew(given_up: Cancelled | None) -> OAuthToken | None:
        with store.locked(provider, given_up) as held:
            token = held.token
            if token is None or token.dead:
                return None
            renewable = token.refresh_token is not None
            if token.access_token != failed_access_token and not (renewable and token.expires_soon(clock())):
                return token
            if not renewable or (given_up is not None and given_up()):
                return None
            try:
                renewed = hook(token)
            except RefreshRefused as refusal:
                dead = replace(token, dead_reason=refusal.said or str(refusal), dead_at=clock())
                keep_or_remember(store, provider, held, dead)
                return None
            fresh = replace(
                renewed, refresh_token=renewed.refresh_token or token.refresh_token, dead_reason="", dead_at=None
            )
            keep_or_remember(store, provider, held, fresh)
            return fresh

    return renew(None) if cancelled is None else outlasting(renew, cancelled)


def problem_of(token: OAuthToken | None, provider: str) -> str:
    """Why a token cannot be used or renewed, and what to do."""
    if token is None:
        return f"There is no sign-in at {provider}. Sign in, or set an API key for it."
    if token.dead_at is None:
        return f"The sign-in at {provider} is no longer accepted and cannot be renewed by itself. Sign in again."
    day = datetime.fromtimestamp(token.dead_at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"{provider} refused to renew the sign-in ({day}): «{token.dead_reason}». Sign in again."


class OAuthBearer:
    """Implements `BearerSource` for a sign-in in the store. Each session has its own, over one store."""

    def __init__(
        self,
        store: TokenStore,
        provider: str,
        hook: RefreshHook = refresh_grant,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.provider = provider
        self.problem = ""
        self._store = store
        self._hook = hook
        self._clock = clock
        self._not_before = 0.0

    def current(self, cancelled: Cancelled | None = None) -> str | None:
        """The token to use now."""
        self.problem = ""
        try:
            token = self._store.get(self.provider)
        except SharedFileError as problem:
            self.problem = str(problem)
            return None
        if token is None or token.dead:
            self.problem = problem_of(token, self.provider)
            return None
        now = self._clock()
        if token.refresh_token is None or not token.expires_soon(now) or now < self._not_before:
            return token.access_token
        try:
            return self._after(token.access_token, cancelled)
        except (RefreshFailed, SharedFileError) as problem:
            # It may still serve, and where it does not the server says so.
            log.warning("%s", problem)
            self._not_before = now + _NEXT_EARLY_RENEWAL
            return token.access_token

    def refreshed(self, after: str, cancelled: Cancelled | None = None) -> str | None:
        """Another token than `after`."""
        self.problem = ""
        try:
            token = self._after(after, cancelled)
        except (RefreshFailed, SharedFileError) as problem:
            self.problem = str(problem)
            return None
        if token == after:
            self.problem = f"{self.provider} renewed the sign-in with the token that it had refused. Sign in again."
            return None
        return token

    def _after(self, access_token: str, cancelled: Cancelled | None) -> str | None:
        renewed = refresh(
            self._store, self.provider, access_token, self._hook, cancelled=cancelled, clock=self._clock
        )
        if renewed is None:
            self.problem = problem_of(self._store.get(self.provider), self.provider)
            return None
        return renewed.access_token
