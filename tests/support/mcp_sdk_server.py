"""An MCP server made with the official SDK: a program over stdio, or an application with http and sse at once.

Requests of the application's clients without `Authorization: Bearer open` get 401.
"""

from __future__ import annotations

from mcp.server.mcpserver import Context, Image, MCPServer
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def picture() -> Image:
    """A picture."""
    return Image(data=b"\x89PNG" * 300, format="png")


async def steps(count: int, ctx: Context) -> str:
    """Tells its progress."""
    for step in range(count):
        await ctx.report_progress(step + 1, count, f"step {step + 1}")
    return "done"


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


def _server() -> MCPServer:
    server = MCPServer("sdk", log_level="ERROR")
    for tool in (add, picture, steps, refuses):
        server.add_tool(tool)
    return server


def network_app() -> Starlette:
    """The server on the network: `/mcp` is http, `/events/sse` is sse, `/page` is neither."""
    server = _server()
    http = server.streamable_http_app()
    return Starlette(
        routes=[
            Route("/page", _page, methods=["GET", "POST"]),
            Mount("/events", NeedsKey(server.sse_app())),
            Mount("/", NeedsKey(http)),
        ],
        lifespan=lambda _: http.router.lifespan_context(http),
    )


if __name__ == "__main__":
    _server().run("stdio")
