"""Renews the tokens of sign-ins (OAuth 2.0, RFC 6749 section 6)."""

from __future__ import annotations

import ipaddress
import json
import logging
import re
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeVar
from urllib.parse import SplitResult, urlsplit

import httpx2

from agent_core.errors import ProviderConnectionError, TurnInterrupted
from agent_core.providers.shared_file import SharedFileError, number_in
from agent_core.providers.token_store import (
    OAuthToken,
    RefreshFailed,
    RefreshHook,
    RefreshRefused,
    TokenStore,
    keep_or_remember,
)
from agent_core.providers.transport import deadline, make_client
from agent_core.providers.transport_errors import read_at_most, readable

# Work that must be finished once it has begun, though whoever waits for it may leave.

_POLL = 0.05
Result = TypeVar("Result")
Cancelled = Callable[[], bool]


def outlasting(work: Callable[[Cancelled], Result], cancelled: Cancelled) -> Result:
    """The outcome of `work`, which runs on a thread of its own.

    At the cancel the caller is let go at once. The work goes on: it is told by its argument that nobody waits, and
    ends early only where nothing can be lost.

    Raises:
        TurnInterrupted: it was cancelled. What `work` raises.
    """
    abandoned = threading.Event()
    outcome: Future[Result] = Future()

    def run() -> None:
        try:
            outcome.set_result(work(abandoned.is_set))
        except BaseException as problem:  # noqa: BLE001 - it is the caller's
            outcome.set_exception(problem)

    threading.Thread(target=run, name="outlasting", daemon=True).start()
    while not wait([outcome], _POLL).done:
        if cancelled():
            abandoned.set()
            raise TurnInterrupted
    return outcome.result()


# The usual way to renew a token: RFC 6749 section 6, a form posted to the token endpoint.

TIMEOUT = 15.0
_LONGEST_ANSWER = 1 << 20
_OK = 200
# Section 5.2, and the names that servers with refresh tokens for one use have for the same.
_REFUSALS = frozenset(
    {"invalid_grant", "refresh_token_expired", "refresh_token_reused", "refresh_token_invalidated"},
)
_REFUSAL_STATUSES = frozenset({400, 401})
_STANDARD = frozenset({"access_token", "refresh_token", "expires_in", "scope", "token_type"})
_VISIBLE = re.compile(r"[\x21-\x7e]+")


def refresh_grant(token: OAuthToken, clock: Callable[[], float] = time.time, timeout: float = TIMEOUT) -> OAuthToken:
    """A new token from the token endpoint. Implements `RefreshHook`.

    Raises:
        RefreshRefused: the sign-in is over.
        RefreshFailed: the endpoint could not be asked or gave no token.
    """
    url = _endpoint(token.token_url)
    form = {"grant_type": "refresh_token", "refresh_token": token.refresh_token or "", "client_id": token.client_id}
    if token.client_secret:
        form["client_secret"] = token.client_secret
    where = f"{url.scheme}://{url.netloc}{url.path}"
    status, body = _post(token.token_url, where, {name: value for name, value in form.items() if value}, timeout)
    answer = _object(body)
    if status == _OK:
        return _renewed(token, answer or {}, where, clock())
    raise _refusal(token, status, answer, where)


def _endpoint(address: str) -> SplitResult:
    try:
        url = urlsplit(address)
        host = url.hostname or ""
    except ValueError:
        url, host = urlsplit(""), ""
    if not host or "@" in url.netloc or not (url.scheme == "https" or (url.scheme == "http" and _is_loopback(host))):
        raise RefreshFailed(
            "The sign-in could not be renewed: its token_url is not an https address, and a token is sent to no "
            "other. Sign in again."
        )
    return url


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _post(url: str, where: str, form: dict[str, str], timeout: float) -> tuple[int, bytes]:
    try:
        with (
            make_client({"Accept": "application/json"}) as client,
            deadline(timeout),
            client.stream("POST", url, data=form, timeout=timeout) as response,
        ):
            return response.status_code, read_at_most(response, _LONGEST_ANSWER)
    except (httpx2.HTTPError, httpx2.InvalidURL, ProviderConnectionError) as problem:
        said = readable(str(problem) or type(problem).__name__, None)
        raise RefreshFailed(
            f"The sign-in could not be renewed: {where} could not be reached or gave no answer in {timeout:g} s "
            f"({said}). Send the prompt again; check the connection and HTTPS_PROXY."
        ) from problem


def _renewed(token: OAuthToken, answer: dict[str, Any], where: str, now: float) -> OAuthToken:
    access, renewal = answer.get("access_token"), answer.get("refresh_token")
    if not isinstance(access, str) or not _VISIBLE.fullmatch(access):
        raise RefreshFailed(
            f"The sign-in could not be renewed: {where} answered without a token. Send the prompt again; if it stays "
            "so, sign in again."
        )
    lifetime = number_in(answer.get("expires_in"))
    scope = answer.get("scope")
    return replace(
        token,
        access_token=access,
        refresh_token=renewal if isinstance(renewal, str) and renewal else token.refresh_token,
        expires_at=now + lifetime if lifetime is not None and lifetime > 0 else None,
        scope=scope if isinstance(scope, str) else token.scope,
        extra={**token.extra, **{name: value for name, value in answer.items() if name not in _STANDARD}},
    )


def _refusal(
    token: OAuthToken, status: int, answer: dict[str, Any] | None, where: str
) -> RefreshFailed | RefreshRefused:
    error: Any = (answer or {}).get("error")
    details = error if isinstance(error, dict) else (answer or {})
    codes = [error, *(details.get(name) for name in ("code", "type"))]
    code = next((value for value in codes if isinstance(value, str)), "")
    said = str(details.get("error_description") or details.get("message") or code)
    for secret in token.secrets:
        said = readable(said, secret)
    quoted = f": «{said}»" if said else ""
    if status in _REFUSAL_STATUSES and _REFUSALS.intersection(value for value in codes if isinstance(value, str)):
        return RefreshRefused(f"{where} refused to renew the sign-in{quoted}. Sign in again.", said or code)
    step = "Send the prompt again later." if status >= 500 or status == 429 else "Sign in again."  # noqa: PLR2004
    return RefreshFailed(f"The sign-in could not be renewed: {where} answered {status}{quoted}. {step}")


def _object(body: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


# Renewing a sign-in, once for all processes that share it, and the token that a request is made with.

log = logging.getLogger(__name__)

# After an early renewal failed, the token that still serves is used this long before it is tried again.
_NEXT_EARLY_RENEWAL = 30.0


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
    """The bearer token of a provider's requests, of a sign-in in the store. Each session has its own, over one store.

    Attributes:
        problem: why the last call gave None, for the user; '' where it did not.
    """

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
        """The token to use now; one that is about to end is renewed first.

        Raises:
            TurnInterrupted: it was cancelled.
        """
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
        """Another token than `after`, which the server refused; None where there is none.

        Raises:
            TurnInterrupted: it was cancelled.
        """
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
