"""Signs in at MCP servers with the SDK's own OAuth client; what it learns is kept in the store of sign-ins."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from agent_core.mcp.specs import McpHopeless, ServerSpec
from agent_core.providers.shared_file import SharedFile, SharedFileError
from agent_core.providers.token_store import FILE_NAME, LOCK_TIMEOUT
from tools.light_dataclass import dataclass

if TYPE_CHECKING:
    from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
    from mcp.client.auth.oauth2 import OAuthContext
    from mcp.shared.auth import OAuthClientInformationFull, OAuthToken


# Where they are kept: in the store of sign-ins, by the server's address.

_PART = "mcp"
_SECRETS = ("access_token", "refresh_token", "id_token", "client_secret")


class ServerTokens:
    """The sign-ins of a home (`oauth_tokens.json`, for its owner alone). Safe for threads and processes."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._file = SharedFile(home / FILE_NAME, durable=True)

    def lock_file(self, url: str) -> Path:
        """What is locked while the sign-in at a server is renewed, for longer than the store itself could be."""
        digest = hashlib.sha256(place_of(url).encode()).hexdigest()[:16]
        return self._home / "cache" / f"mcp-sign-in-{digest}"

    def get(self, url: str) -> Mapping[str, Any]:
        """What is kept for a server: `tokens`, `client`, `expires_at`, `place`; empty where nothing is.

        Raises:
            SharedFileError: the store cannot be read.
        """
        found = _part(self._file.read()).get(place_of(url))
        return found if isinstance(found, Mapping) else {}

    def keep(self, url: str, **values: Any) -> None:
        """Change what is kept for a server.

        Raises:
            SharedFileError: it could not be stored.
        """
        place = place_of(url)
        with self._file.locked(LOCK_TIMEOUT) as draft:
            part = _part(draft.content)
            known = part.get(place)
            draft.content[_PART] = {**part, place: {**(known if isinstance(known, Mapping) else {}), **values}}
            draft.save()

    def forget(self, url: str) -> bool:
        """Delete what is kept for a server; whether there was something.

        Raises:
            SharedFileError: it could not be deleted.
        """
        place = place_of(url)
        with self._file.locked(LOCK_TIMEOUT) as draft:
            part = _part(draft.content)
            if place not in part:
                return False
            draft.content[_PART] = {key: value for key, value in part.items() if key != place}
            draft.save()
            return True

    def mark(self, url: str) -> str:
        """Tells one sign-in at a server from the next; '' where there is none, or it cannot be read."""
        try:
            found = self.get(url).get("tokens")
        except SharedFileError:
            return ""
        return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest() if found else ""

    def has(self, url: str) -> bool:
        """Whether somebody has signed in at a server.

        Raises:
            SharedFileError: the store cannot be read.
        """
        return bool(self.get(url).get("tokens"))

    def secrets(self) -> frozenset[str]:
        """Every secret that is kept.

        Raises:
            SharedFileError: the store cannot be read.
        """
        return frozenset(_secrets(_part(self._file.read())))


def place_of(url: str) -> str:
    """A server's address without what does not tell it from others, and without what may be secret."""
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{(parts.hostname or '').lower()}{port}{parts.path.rstrip('/')}"


def _part(content: Mapping[str, Any]) -> Mapping[str, Any]:
    found = content.get(_PART)
    return found if isinstance(found, Mapping) else {}


def _secrets(value: Any) -> Iterator[str]:
    if not isinstance(value, Mapping):
        return
    for key, part in value.items():
        if isinstance(part, Mapping):
            yield from _secrets(part)
        elif key in _SECRETS and isinstance(part, str) and part:
            yield part


# The signing in, with the SDK's own OAuth client.

_EARLY = 30.0  # seconds before its end a token counts as over
_NO_PORT = 1


@dataclass(frozen=True, slots=True)
class Browser:
    """How a person signs in.

    Attributes:
        port: of this machine, where they come back to.
        show: tells them where to go.
        back: waits until they are back.
    """

    port: int
    show: Callable[[str], Awaitable[None]]
    back: Callable[[], Awaitable[AuthorizationCodeResult]]


def signs_in(spec: ServerSpec) -> bool:
    """Whether a sign-in may be used with the server: one that has its own header has no need of it."""
    return spec.transport != "stdio" and all(name.lower() != "authorization" for name, _ in spec.headers)


def stored_auth(spec: ServerSpec, tokens: ServerTokens) -> OAuthClientProvider | None:
    """Authorizes requests with the sign-in that is stored, and renews it; None where there is none. It may block."""
    try:
        if not (signs_in(spec) and tokens.has(spec.url)):
            return None
    except SharedFileError as problem:
        raise McpHopeless(str(problem)) from problem

    async def nobody_is_here(_: str) -> None:
        raise McpHopeless(how_to_sign_in(spec, "is over"))

    async def never() -> AuthorizationCodeResult:
        raise McpHopeless(how_to_sign_in(spec, "is over"))

    return _provider(spec, _Kept(tokens, spec), Browser(_NO_PORT, nobody_is_here, never))


def browser_auth(spec: ServerSpec, tokens: ServerTokens, browser: Browser) -> OAuthClientProvider:
    """Authorizes requests with a sign-in that a person makes now."""
    return _provider(spec, _Kept(tokens, spec, fresh=True, port=browser.port), browser)


def how_to_sign_in(spec: ServerSpec, state: str) -> str:
    """One sentence for whoever has to sign in."""
    place = place_of(spec.url)
    return f"The sign-in at {place} {state}. Run `hermes-acp mcp login {place}` in a terminal."


def _provider(spec: ServerSpec, kept: _Kept, browser: Browser) -> OAuthClientProvider:
    from mcp.shared.auth import OAuthClientMetadata  # noqa: PLC0415 - loaded with the SDK
    from pydantic import AnyUrl  # noqa: PLC0415

    from agent_core.mcp.http import SharedSignIn  # noqa: PLC0415

    about = OAuthClientMetadata(
        client_name="hermes-acp",
        redirect_uris=[AnyUrl(redirect_uri(browser.port))],
        scope=spec.oauth.scope or None,
    )
    provider = SharedSignIn(spec.url, about, kept, browser.show, browser.back)
    provider.lock_file = kept.lock_file
    kept.context = provider.context
    return provider


def redirect_uri(port: int) -> str:
    """Where a sign-in comes back to."""
    return f"http://127.0.0.1:{port}/callback"


class _Kept:
    """What the SDK's client keeps of one server. Implements its `TokenStorage`.

    Args:
        fresh: nothing that is stored counts but a client that comes back to `port`.
    """

    def __init__(self, tokens: ServerTokens, spec: ServerSpec, *, fresh: bool = False, port: int = _NO_PORT) -> None:
        self._tokens = tokens
        self._spec = spec
        self._fresh = fresh
        self._port = port
        # Nobody else has the sign-in that is made now.
        self.lock_file = None if fresh else tokens.lock_file(spec.url)
        self.context: OAuthContext | None = None

    async def get_tokens(self) -> OAuthToken | None:
        """The tokens that are stored."""
        from mcp.shared.auth import OAuthToken  # noqa: PLC0415

        from agent_core.mcp.http import restore_place  # noqa: PLC0415

        kept = await self._read()
        if self._fresh or not kept.get("tokens"):
            return None
        # The SDK takes a stored token for good until the server refuses it, and then signs in anew.
        ends = kept.get("expires_at")
        if self.context is not None:
            restore_place(self.context, kept.get("place") or {})
            self.context.token_expiry_time = ends - _EARLY if isinstance(ends, int | float) else None
        return OAuthToken.model_validate(kept["tokens"])

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Store tokens."""
        from agent_core.mcp.http import place_facts  # noqa: PLC0415

        ends = time.time() + tokens.expires_in if tokens.expires_in else None
        place = {} if self.context is None else {"place": place_facts(self.context)}
        await self._keep(tokens=tokens.model_dump(mode="json", exclude_none=True), expires_at=ends, **place)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """The client that was registered, or that the settings name."""
        from mcp.shared.auth import OAuthClientInformationFull  # noqa: PLC0415

        own = self._spec.oauth
        if own.id:
            method = "client_secret_post" if own.secret else "none"
            return OAuthClientInformationFull.model_validate(
                {"client_id": own.id, "client_secret": own.secret or None, "token_endpoint_auth_method": method}
            )
        found = (await self._read()).get("client")
        if not found or (self._fresh and redirect_uri(self._port) not in found.get("redirect_uris", ())):
            return None
        return OAuthClientInformationFull.model_validate(found)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Store the client that was registered."""
        await self._keep(client=client_info.model_dump(mode="json", exclude_none=True))

    async def _read(self) -> Any:
        return await asyncio.to_thread(self._tokens.get, self._spec.url)

    async def _keep(self, **values: Any) -> None:
        await asyncio.to_thread(self._tokens.keep, self._spec.url, **values)
