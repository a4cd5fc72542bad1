"""Why a server could not be reached, in words for the person."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from dataclasses import dataclass, field

from agent_core.mcp.errors import McpFailure
from agent_core.mcp.specs import ServerSpec

_TAIL_LINES = 8
_TAIL_CHARS = 1_000
_MOST_NOISE = 5
CLOSED = "It closed the connection."
_ENDS = frozenset({CLOSED, "Connection closed"})  # ours, and the SDK's


@dataclass(slots=True)
class Heard:
    """What was noticed of a connection beside its messages.

    Attributes:
        status, content_type: of the last HTTP answer that was an error or no message; 0 and '' without one.
        noise: lines that a process wrote among its messages.
        last_words: the end of its standard error.
        ended: how its process ended, '' while it has not.
    """

    status: int = 0
    content_type: str = ""
    noise: list[str] = field(default_factory=list)
    last_words: str = ""
    ended: str = ""

    def add_noise(self, line: str) -> None:
        """Keep a line that is no message, if it is one of the first."""
        if line.strip() and len(self.noise) < _MOST_NOISE:
            self.noise.append(line.strip())


def in_words(problem: BaseException, spec: ServerSpec, heard: Heard) -> str:
    """What happened and what to do: a sentence or two, without secrets."""
    text = _process(problem, heard) if spec.transport == "stdio" else _network(problem, spec, heard)
    return spec.hide(text)


def causes(problem: BaseException) -> Iterator[BaseException]:
    """The problem, what is in it when it is a group, and what it came from."""
    seen: set[int] = set()
    waiting = [problem]
    while waiting:
        found = waiting.pop(0)
        if id(found) in seen:
            continue
        seen.add(id(found))
        yield found
        if isinstance(found, BaseExceptionGroup):
            waiting.extend(found.exceptions)
        waiting.extend(cause for cause in (found.__cause__, found.__context__) if cause is not None)


def _process(problem: BaseException, heard: Heard) -> str:
    parts = [] if heard.ended and _is_end(problem) else [_reason(problem)]
    if heard.ended:
        parts.append(f"Its process {heard.ended}.")
    if heard.last_words:
        parts.append(f"It wrote: {_tail(heard.last_words)}")
    elif heard.noise:
        parts.append(f"It wrote what is no MCP message: {_tail(' / '.join(heard.noise))}")
    return " ".join(parts)


def _network(problem: BaseException, spec: ServerSpec, heard: Heard) -> str:
    place = spec.place()
    for cause in causes(problem):
        if isinstance(cause, McpFailure):
            return str(cause)
        if isinstance(cause, ssl.SSLError) or "SSL" in str(cause):
            return f"The connection to {place} is not trusted ({cause}). Check its certificate and the clock."
    kinds = {type(cause).__name__ for cause in causes(problem)}
    if kinds & {"ConnectError", "ConnectTimeout", "ConnectionRefusedError", "gaierror"}:
        return f"{place} could not be reached ({_innermost(problem)}). Check the address, and that the server runs."
    if heard.status:
        return _answer(place, heard.status)
    if heard.content_type:
        return f"{place} is no MCP server: it answered with {heard.content_type}. Check the address and the kind."
    if kinds & {"InvalidURL", "UnsupportedProtocol", "LocalProtocolError"}:
        return f"{place} cannot be asked ({_innermost(problem)}). Check the address and the headers."
    return f"The connection to {place} failed: {_reason(problem)}"


def _answer(place: str, status: int) -> str:
    if status in {401, 403}:
        return (
            f"{place} needs a sign-in (HTTP {status}). Give it a valid Authorization header in the editor's settings."
        )
    if status in {404, 405, 406, 410}:
        return f"{place} is no MCP server of this kind (HTTP {status}). Check the address, and http or sse."
    return f"{place} answered with HTTP {status}. Try again later, or ask whoever runs it."


def _reason(problem: BaseException) -> str:
    for cause in causes(problem):
        if isinstance(cause, McpFailure):
            return str(cause)
    if any(isinstance(cause, TimeoutError) for cause in causes(problem)):
        return "It did not answer in time."
    if _is_end(problem):
        return CLOSED
    return f"{_innermost(problem)}."


def _is_end(problem: BaseException) -> bool:
    return any(str(cause) in _ENDS for cause in causes(problem))


def _innermost(problem: BaseException) -> str:
    found = [cause for cause in causes(problem) if not isinstance(cause, BaseExceptionGroup)]
    last = next((cause for cause in reversed(found) if str(cause)), problem)
    return (str(last).splitlines() or [""])[0].rstrip(".")[:_TAIL_CHARS] or type(last).__name__


def _tail(text: str) -> str:
    return "\n".join(text.splitlines()[-_TAIL_LINES:])[-_TAIL_CHARS:]
