"""What needs the MCP SDK as it is loaded: renewal of shared sign-ins, and bodies that are read up to a limit."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import OAuthMetadata, ProtectedResourceMetadata
from pydantic import ValidationError

from agent_core.mcp.specs import McpFailure
from tools.locked_file import hold

if TYPE_CHECKING:
    from mcp.client.auth.oauth2 import OAuthContext


# Bodies of answers that a server may make as long as it likes: read up to a limit.


class BoundedBody(httpx2.AsyncByteStream):
    """Passes on what `inner` gives, at most `most` bytes of it.

    Args:
        on_failure: called when there is more; reading fails then.
    """

    def __init__(self, inner: httpx2.AsyncByteStream, most: int, on_failure: Callable[[], None]) -> None:
        self._inner = inner
        self._left = most
        self._on_failure = on_failure

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._inner:
            self._left -= len(part)
            if self._left < 0:
                self._on_failure()
                raise httpx2.ReadError("the answer is too long")
            yield part

    async def aclose(self) -> None:
        """Close it."""
        await self._inner.aclose()


# The SDK's OAuth client, for a sign-in that several sessions and processes share and that outlives them all.
# By itself it forgets with each process where the sign-in was made, and has tokens renewed at `/token` of the server;
# each session renews for itself, which is theft to a server whose refresh tokens are good for one use; and a token
# that is refused is given up, though it could be renewed.

log = logging.getLogger(__name__)

_LOCK_SECONDS = 30.0
_POLL = 0.02
_REFUSED = 401
_TOO_MANY = 429
_SERVER_ERROR = 500
_LONG_AGO = 1.0


def place_facts(context: OAuthContext) -> Mapping[str, Any]:
    """Where a sign-in was made, to be stored with its tokens: only there are they renewed."""
    found, resource = context.oauth_metadata, context.protected_resource_metadata
    return {
        "server": context.auth_server_url,
        "metadata": None if found is None else found.model_dump(mode="json", exclude_none=True),
        "resource": None if resource is None else resource.model_dump(mode="json", exclude_none=True),
    }


def restore_place(context: OAuthContext, facts: Mapping[str, Any]) -> None:
    """Have `context` know where its sign-in was made, as `place_facts` told it."""
    try:
        if (found := facts.get("metadata")) and context.oauth_metadata is None:
            context.oauth_metadata = OAuthMetadata.model_validate(found)
        if (resource := facts.get("resource")) and context.protected_resource_metadata is None:
            context.protected_resource_metadata = ProtectedResourceMetadata.model_validate(resource)
    except ValidationError:
        log.warning("it is not known where a sign-in was made: it is looked for again", exc_info=True)
    if context.auth_server_url is None and isinstance(server := facts.get("server"), str):
        context.auth_server_url = server


class SharedSignIn(OAuthClientProvider):
    """Renews a token once for all who share it, and before it gives one up that the server refuses.

    Attributes:
        lock_file: held by whoever renews; None where nobody shares the token.
    """

    lock_file: Path | None = None

    async def _auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        refused = ""
        while True:
            lock = await self._lock_to_renew(refused)
            flow = super()._auth_flow(request)
            try:
                wanted = await anext(flow)
                while True:
                    if wanted is request and lock is not None:
                        lock.close()
                    response = yield wanted
                    if wanted is request and response.status_code == _REFUSED and not refused and self._may_renew():
                        break
                    wanted = await flow.asend(response)
            except StopAsyncIteration:
                return
            finally:
                await flow.aclose()
                if lock is not None:
                    lock.close()
            refused = "" if self.context.current_tokens is None else self.context.current_tokens.access_token
            self.context.token_expiry_time = _LONG_AGO

    async def _handle_refresh_response(self, response: httpx2.Response) -> bool:
        """As the SDK's, but a server that has trouble has not said no.

        Raises:
            McpFailure: it may be tried again.
        """
        if response.status_code >= _SERVER_ERROR or response.status_code == _TOO_MANY:
            raise McpFailure(f"The sign-in could not be renewed now (status {response.status_code}).")
        return await super()._handle_refresh_response(response)

    def _may_renew(self) -> bool:
        return self.lock_file is not None and self.context.can_refresh_token()

    async def _lock_to_renew(self, refused: str) -> ExitStack | None:
        """Where a token is to be renewed: the lock to do so, with the tokens as they are stored under it.

        Args:
            refused: the access token that the server has refused, whatever is said of how long it is good.
        """
        if not self._initialized:
            await self._initialize()
        context = self.context
        if self.lock_file is None or context.is_token_valid() or not context.can_refresh_token():
            return None
        lock, deadline = ExitStack(), asyncio.get_running_loop().time() + _LOCK_SECONDS
        while True:
            try:
                lock.enter_context(hold(self.lock_file, self.lock_file, 0, McpFailure))
                break
            except McpFailure as problem:
                if asyncio.get_running_loop().time() > deadline:
                    log.warning("a sign-in is renewed without its lock: %s", problem)
                    return None
                await asyncio.sleep(_POLL)
        stored = await context.storage.get_tokens()
        if stored is not None:
            context.current_tokens = stored
            if stored.access_token == refused:
                context.token_expiry_time = _LONG_AGO
        return lock
