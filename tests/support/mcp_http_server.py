"""An MCP server over Streamable HTTP with sessions, without the SDK, that is restarted and refuses as a test says."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from agent_core.mcp.specs import ServerSpec
from tests.support.web_server import Exchange, WebServer

JSON = "application/json"


@dataclass(frozen=True)
class Refusal:
    """How a request is refused. In the body @ID@ stands for the request's id."""

    status: int
    body: bytes = b""
    content_type: str = "text/plain"
    headers: Mapping[str, str] = field(default_factory=dict)


def in_words(status: int, message: str, code: int = -32000, **headers: str) -> Refusal:
    """A refusal whose body is an error of the protocol."""
    body = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}
    return Refusal(status, json.dumps(body).encode(), JSON, headers)


class HttpMcpServer(WebServer):
    """Serves `/mcp`, with a connection for each request: an open one would hold up its end.

    Attributes:
        unknown: how a request of a session that it does not know is refused.
        refusing: methods to how they are refused until that is taken out.
        called: the sessions in which its tool was called, one for each call that was done.
        begun: how many sessions there were.
        held: a call is held, whose argument `hold` says so.
    """

    def __init__(self) -> None:
        super().__init__()
        self.pages["/mcp"] = self._take
        self.unknown = Refusal(404)
        self.refusing: dict[str, Refusal] = {}
        self.called: list[str] = []
        self.begun = 0
        self.held = threading.Event()
        self._sessions: set[str] = set()

    def spec(self, **options: Any) -> ServerSpec:
        return ServerSpec("api", "http", url=self.url("/mcp"), **options)

    def restart(self) -> None:
        """Forget all sessions."""
        self._sessions.clear()

    def _take(self, exchange: Exchange) -> None:
        if exchange.request.method == "GET":
            exchange.send(status=405, Connection="close")
            return
        message = json.loads(exchange.request.body)
        method, request = message.get("method"), message.get("id")
        session = exchange.request.headers.get("mcp-session-id", "")
        if refusal := self._refusal(method, session):
            body = refusal.body.replace(b"@ID@", json.dumps(request).encode())
            exchange.send(body, refusal.content_type, refusal.status, Connection="close", **refusal.headers)
        elif request is None:
            exchange.send(status=202, Connection="close")
        elif method == "initialize":
            self.begun += 1
            session = f"session-{self.begun}"
            self._sessions.add(session)
            version = message["params"]["protocolVersion"]
            info = {"name": "http", "version": "1"}
            result = {"protocolVersion": version, "capabilities": {"tools": {}, "prompts": {}}, "serverInfo": info}
            self._reply(exchange, request, result, Mcp_Session_Id=session)
        elif method == "tools/list":
            self._reply(exchange, request, {"tools": [{"name": "do", "inputSchema": {"type": "object"}}]})
        elif method == "prompts/list":
            self._reply(exchange, request, {"prompts": []})
        elif method == "tools/call":
            self.called.append(session)
            if message["params"]["arguments"].get("hold"):
                self.held.set()
                exchange.hold()
            self._reply(exchange, request, {"content": [{"type": "text", "text": f"done in {session}"}]})
        else:
            self._reply(exchange, request, {})

    def _refusal(self, method: str, session: str) -> Refusal | None:
        if method != "initialize" and session not in self._sessions:
            return self.unknown
        return self.refusing.get(method)

    def _reply(self, exchange: Exchange, request: object, result: object, **headers: str) -> None:
        body = json.dumps({"jsonrpc": "2.0", "id": request, "result": result}).encode()
        exchange.send(body, JSON, Connection="close", **headers)
