"""The usual way to renew a token: RFC 6749 section 6, a form posted to the token endpoint."""

from __future__ import annotations

import contextlib
import ipaddress
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import SplitResult, urlsplit

from agent_core.errors import ProviderConnectionError
from agent_core.providers.credentials.tokens import OAuthToken, RefreshFailed, RefreshRefused, seconds_in
from agent_core.providers.transport_errors import readable

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
    import httpx2  # noqa: PLC0415 - loads the HTTP library

    from agent_core.providers.transport import make_client  # noqa: PLC0415 - the same

    try:
        with (
            make_client({"Accept": "application/json"}) as client,
            _deadline(timeout),
            client.stream("POST", url, data=form, timeout=timeout) as response,
        ):
            body = b""
            for chunk in response.iter_bytes():
                body += chunk
                if len(body) > _LONGEST_ANSWER:
                    break
            return response.status_code, body
    except (httpx2.HTTPError, httpx2.InvalidURL, ProviderConnectionError) as problem:
        said = readable(str(problem) or type(problem).__name__, None)
        raise RefreshFailed(
            f"The sign-in could not be renewed: {where} could not be reached or gave no answer in {timeout:g} s "
            f"({said}). Send the prompt again; check the connection and HTTPS_PROXY."
        ) from problem


@contextlib.contextmanager
def _deadline(seconds: float) -> Iterator[None]:
    """End this thread's HTTP request when it takes longer: the client's own time-outs begin anew with each byte."""
    from agent_core.providers.transport import Abort  # noqa: PLC0415 - loads the HTTP library

    abort = Abort()
    timer = threading.Timer(seconds, abort.abort)
    timer.daemon = True
    timer.start()
    try:
        with abort.watching():
            yield
    finally:
        timer.cancel()


def _renewed(token: OAuthToken, answer: dict[str, Any], where: str, now: float) -> OAuthToken:
    access, renewal = answer.get("access_token"), answer.get("refresh_token")
    if not isinstance(access, str) or not _VISIBLE.fullmatch(access):
        raise RefreshFailed(
            f"The sign-in could not be renewed: {where} answered without a token. Send the prompt again; if it stays "
            "so, sign in again."
        )
    lifetime = seconds_in(answer.get("expires_in"))
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
