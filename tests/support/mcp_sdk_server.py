"""An MCP server made with the official SDK: over stdio, or http and sse at once on a loopback port.

With `network` it prints the port that it listens on; a number behind that is the port that it shall be. With files
behind that (a certificate, its key, a CA) it speaks TLS, to who has a certificate of that CA. Requests without
`Authorization: Bearer open` get 401.
"""

from __future__ import annotations

import socket
import ssl
import sys

import uvicorn
from mcp.server.mcpserver import Context, Image, MCPServer
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

server = MCPServer("sdk", log_level="ERROR")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
def picture() -> Image:
    """A picture."""
    return Image(data=b"\x89PNG" * 300, format="png")


@server.tool()
async def steps(count: int, ctx: Context) -> str:
    """Tells its progress."""
    for step in range(count):
        await ctx.report_progress(step + 1, count, f"step {step + 1}")
    return "done"


@server.tool()
def refuses() -> str:
    """Fails."""
    raise ValueError("not today")


class NeedsKey:
    """Lets in who has the key."""

    def __init__(self, inner: ASGIApp) -> None:
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and Request(scope).headers.get("authorization") != "Bearer open":
            await PlainTextResponse("who are you?", 401)(scope, receive, send)
            return
        await self._inner(scope, receive, send)


async def _page(request: Request) -> Response:
    return PlainTextResponse("<html>a page</html>", media_type="text/html")


def main() -> None:
    if sys.argv[1:] == ["stdio"]:
        server.run("stdio")
        return
    http = server.streamable_http_app()
    app = Starlette(
        routes=[
            Route("/page", _page, methods=["GET", "POST"]),
            Mount("/events", NeedsKey(server.sse_app())),
            Mount("/", NeedsKey(http)),
        ],
        lifespan=lambda _: http.router.lifespan_context(http),
    )
    port = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    listener = socket.create_server(("127.0.0.1", port))
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    chain, key, ca = (*sys.argv[3:6], None, None, None)[:3]
    trust = {"ssl_certfile": chain, "ssl_keyfile": key, "ssl_ca_certs": ca, "ssl_cert_reqs": ssl.CERT_REQUIRED}
    config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1, **(trust if chain else {}))
    uvicorn.Server(config).run([listener])


if __name__ == "__main__":
    main()
