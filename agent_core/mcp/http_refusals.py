"""What a server of the network means by the HTTP status with which it refuses a request.

The SDK gives the caller what the body says, or words of its own, and keeps the status to itself.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from agent_core.mcp.errors import McpFailure, McpHopeless, McpServerFault, McpSessionEnded
from agent_core.mcp.failures import UNAUTHORIZED, http_answer
from agent_core.mcp.specs import ServerSpec

if TYPE_CHECKING:
    import httpx2

_SESSION = "mcp-session-id"
_MOST_COMING = 1_000
_BAD_REQUEST, _FORBIDDEN, _NOT_FOUND, _TOO_MANY, _SERVER_ERROR = 400, 403, 404, 429, 500
# What the SDK says where the body says nothing.
_STAND_INS = frozenset({"Server returned an error response", "Session terminated", "Not Found"})
# Servers made after the examples of the TypeScript SDK refuse a session that they do not know with 400.
_NOT_KNOWN = r"\b(?:no|not|unknown|invalid|missing|expired|terminated)\b"
_NO_SESSION = re.compile(rf"{_NOT_KNOWN}.*\bsession\b|\bsession\b.*{_NOT_KNOWN}", re.IGNORECASE)


class HttpRefusals:
    """The answers of a connection that are on their way: which are refusals, and of which requests."""

    def __init__(self, spec: ServerSpec) -> None:
        self._spec = spec
        self._coming: dict[Any, httpx2.Response] = {}

    def note(self, response: httpx2.Response) -> None:
        """A request has its answer; one that was refused may be sent again, with another sign-in."""
        try:
            request = json.loads(response.request.content).get("id")
        except (ValueError, AttributeError):  # it is no message: that of a sign-in
            return
        if request is not None:
            self._coming[request] = response
            if len(self._coming) > _MOST_COMING:  # nobody waits any more for the oldest
                del self._coming[next(iter(self._coming))]

    def explained(self, item: Any) -> Any:
        """What a transport of the SDK passes on, with what the status means in its error's `data`."""
        from mcp_types import JSONRPCError, JSONRPCResponse  # noqa: PLC0415 - loaded with the SDK

        message = getattr(item, "message", None)
        if not isinstance(message, JSONRPCError | JSONRPCResponse):
            return item
        if message.id not in self._coming and len(whole := [*filter(self._is_whole, self._coming)]) == 1:
            message.id = whole[0]  # it names none, or another, and is the answer all the same
        response = self._coming.pop(message.id, None)
        if response is None or response.status_code < _BAD_REQUEST or not isinstance(message, JSONRPCError):
            return item
        words = "" if message.error.message in _STAND_INS else message.error.message
        message.error.data = self.meaning(response, words) or message.error.data
        return item

    def _is_whole(self, request: Any) -> bool:
        """Whether its answer is one message, and no stream of them, in which the SDK sees to the ids."""
        return str(self._coming[request].headers.get("content-type", "")).startswith("application/json")

    def meaning(self, response: httpx2.Response, words: str = "") -> McpFailure | None:
        """What a refusal means; None for one that the server explains with an error of the protocol.

        Args:
            words: the server's own.
        """
        status, has_session = response.status_code, _SESSION in response.request.headers
        if has_session and (status == _NOT_FOUND or (status == _BAD_REQUEST and _is_of_session(response, words))):
            return McpSessionEnded(f"It does not know the session any more (HTTP {status}), as after a restart.")
        if status == UNAUTHORIZED:
            return McpHopeless(http_answer(self._spec.place(), status))
        if status in {_FORBIDDEN, _TOO_MANY} or status >= _SERVER_ERROR:
            return McpServerFault(_what(status, response.headers.get("retry-after", "")), words)
        return None if words else McpServerFault(f"It answered with HTTP {status}, and did not say why.")


def _is_of_session(response: httpx2.Response, words: str) -> bool:
    """Whether the session is refused, and not what was asked in it: then the request's id was not looked at."""
    if not _NO_SESSION.search(words):
        return False
    try:
        told, asked = json.loads(response.content), json.loads(response.request.content)
    except (ValueError, RuntimeError):  # it is no JSON, or was not read
        return True
    return not isinstance(told, dict) or told.get("id") != asked.get("id")


def _what(status: int, wait: str) -> str:
    if status == _FORBIDDEN:
        return "It does not allow this (HTTP 403). Check what the account or the key that is used may do."
    again = f"Try again in {wait} s." if wait.isascii() and wait.isdecimal() else "Try again later."
    if status == _TOO_MANY:
        return f"It takes no more requests now (HTTP 429). {again}"
    return f"It failed (HTTP {status}): the error is the server's. {again}"
