"""An MCP server made with the official SDK that wants a sign-in, with the SDK's own authorization server in it.

Whoever asks is signed in at once. The tool `who` tells how often tokens were renewed; `GET /revoke` makes all tokens
worthless, `GET /forget` the access tokens, `GET /break` has the next renewal fail. Tokens are not made where one
would guess, and a refresh token that is used twice ends all.
"""

from __future__ import annotations

import secrets
import time
from typing import Any

from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.routes import build_metadata
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

_REGISTERS = ClientRegistrationOptions(enabled=True)


class Store:
    """Keeps everything in memory, and agrees to everything."""

    def __init__(self, seconds: int) -> None:
        self.seconds = seconds
        self.renewed = 0
        self.is_broken = False
        self.used: set[str] = set()
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.refreshes: dict[str, RefreshToken] = {}
        self.tokens: dict[str, AccessToken] = {}

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        code = AuthorizationCode(
            code=secrets.token_urlsafe(24),
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self._made(client.client_id)

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> RefreshToken | None:
        if refresh_token in self.used:
            self.revoke_all()
        return self.refreshes.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        del self.refreshes[refresh_token.token]
        self.used.add(refresh_token.token)
        self.renewed += 1
        return self._made(client.client_id)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.tokens.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.tokens.pop(token.token, None)

    def revoke_all(self) -> None:
        self.tokens.clear()
        self.refreshes.clear()

    def _made(self, client: str) -> OAuthToken:
        access, refresh = f"access-{secrets.token_urlsafe(24)}", f"refresh-{secrets.token_urlsafe(24)}"
        self.tokens[access] = AccessToken(
            token=access, client_id=client, scopes=[], expires_at=int(time.time()) + self.seconds
        )
        self.refreshes[refresh] = RefreshToken(token=refresh, client_id=client, scopes=[])
        return OAuthToken(access_token=access, refresh_token=refresh, expires_in=self.seconds, token_type="Bearer")


class Elsewhere:
    """The server's app with the place of its tokens moved from where one would guess."""

    def __init__(self, app: Any, origin: str, store: Store) -> None:
        self._app = app
        self._origin = origin
        self._store = store

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        app, path = self._app, scope.get("path")
        if path == "/token":
            app = PlainTextResponse("no", status_code=404)
        elif path == "/elsewhere/token":
            scope = {**scope, "path": "/token", "raw_path": b"/token"}
            if self._store.is_broken:
                app, self._store.is_broken = PlainTextResponse("no", status_code=503), False
        elif path == "/.well-known/oauth-authorization-server":
            found = build_metadata(AnyHttpUrl(self._origin), None, _REGISTERS, RevocationOptions())
            found.token_endpoint = AnyHttpUrl(f"{self._origin}/elsewhere/token")
            app = JSONResponse(found.model_dump(mode="json", exclude_none=True))
        await app(scope, receive, send)


def oauth_app(origin: str, seconds: int) -> Elsewhere:
    """The server at `origin`, with tokens that are good for so many seconds."""
    store = Store(seconds)
    server = MCPServer(
        "oauth",
        log_level="ERROR",
        auth_server_provider=store,
        auth=AuthSettings(
            issuer_url=AnyHttpUrl(origin),
            resource_server_url=AnyHttpUrl(f"{origin}/mcp"),
            validate_token_resource=False,
            client_registration_options=_REGISTERS,
        ),
    )

    @server.tool()
    def who() -> str:
        """Tells how often tokens were renewed."""
        return f"renewed {store.renewed} times"

    @server.custom_route("/revoke", methods=["GET"])
    async def revoke(request: Request) -> Response:
        store.revoke_all()
        return PlainTextResponse("revoked")

    @server.custom_route("/forget", methods=["GET"])
    async def forget(request: Request) -> Response:
        store.tokens.clear()
        return PlainTextResponse("forgotten")

    @server.custom_route("/break", methods=["GET"])
    async def fail(request: Request) -> Response:
        store.is_broken = True
        return PlainTextResponse("broken")

    return Elsewhere(server.streamable_http_app(), origin, store)
