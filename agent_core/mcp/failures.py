"""Why a server could not be reached, in words for the person."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from dataclasses import field

from agent_core.mcp.errors import McpFailure, McpHopeless, McpServerFault
from agent_core.mcp.specs import ServerSpec
from tools.light_dataclass import dataclass
from tools.text.terminal_output import plain_text
from tools.untrusted.invisible import without_controls

_TAIL_LINES = 8
_TAIL_CHARS = 1_000
_SAID_CHARS = 300
_MOST_NOISE = 5
CLOSED = "It closed the connection."
_ENDS = frozenset({CLOSED, "Connection closed"})  # ours, and the SDK's
UNAUTHORIZED = 401
_SIGN_IN = frozenset({UNAUTHORIZED, 403})
_NO_SERVER = frozenset({400, 404, 405, 406, 410})
_NO_USE = frozenset({"InvalidURL", "UnsupportedProtocol", "LocalProtocolError"})
_REFUSAL = "MCPError"  # by its name: this is loaded without the SDK


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
    text = _process(problem, spec, heard) if spec.transport == "stdio" else _network(problem, spec, heard)
    return spec.hide(text)


def is_lasting(problem: BaseException, spec: ServerSpec, heard: Heard, *, was_there: bool) -> bool:
    """Whether it would be the same the next time.

    Args:
        was_there: it was connected before; then only a sign-in is missing for long.
    """
    if any(isinstance(cause, McpHopeless) for cause in causes(problem)):
        return True
    if spec.transport == "stdio":
        return False
    found = tuple(causes(problem))
    if heard.status in _SIGN_IN or {type(cause).__name__ for cause in found} & _NO_USE:
        return True
    # What cannot be written as a header or a message today cannot be tomorrow.
    if any(isinstance(cause, UnicodeEncodeError) for cause in found):
        return True
    # An answer that means nothing; but what is wrong with a certificate is a ValueError, too.
    is_odd = any(isinstance(cause, ValueError | TypeError) for cause in found)
    is_odd = is_odd and not any(isinstance(cause, OSError) for cause in found)
    return not was_there and (heard.status in _NO_SERVER or bool(heard.content_type) or is_odd)


def quoted(words: str, most: int = _SAID_CHARS) -> str:
    """A server's own words, on one line and with a full stop, so that nobody takes them for ours.

    What is secret in them has to be hidden before: of what is cut, a part would not be found any more.

    Args:
        most: characters that are shown of them.
    """
    line = " ".join(without_controls(plain_text(words)).split())
    return _in_quotes(line if len(line) <= most else f"{line[:most].rstrip()}…")


def ended(text: str) -> str:
    """`text` with a full stop, where it has no end of its own."""
    text = text.strip()
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


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
        # What we know of an answer travels within the SDK's error.
        if isinstance(known := getattr(found, "data", None), McpFailure):
            waiting.append(known)
        waiting.extend(cause for cause in (found.__cause__, found.__context__) if cause is not None)


def _process(problem: BaseException, spec: ServerSpec, heard: Heard) -> str:
    parts = [] if heard.ended and _is_end(problem) else [_reason(problem, spec)]
    if heard.ended:
        parts.append(f"Its process {heard.ended}.")
    if heard.last_words:
        parts.append(f"It wrote: {_tail(spec.hide(heard.last_words))}")
    elif heard.noise:
        noise = spec.hide(" / ".join(heard.noise))
        parts.append(f"It wrote what is no MCP message: {quoted(noise, _TAIL_CHARS)}")
    return " ".join(parts)


def _network(problem: BaseException, spec: ServerSpec, heard: Heard) -> str:
    place = spec.place()
    for cause in causes(problem):
        # The SDK closes the connection where a sign-in is refused, and keeps the reason to itself. What a status
        # means for a call is worded otherwise for the server.
        is_told_below = isinstance(cause, McpServerFault) or (str(cause) == CLOSED and heard.status in _SIGN_IN)
        if isinstance(cause, McpFailure) and not is_told_below:
            return str(cause)
        if isinstance(cause, ssl.SSLError) or "SSL" in str(cause):
            why = _short(cause, spec)
            return f"The connection to {place} is not trusted ({why}). Check its certificate and the clock."
    kinds = {type(cause).__name__ for cause in causes(problem)}
    if kinds & {"ConnectError", "ConnectTimeout", "ConnectionRefusedError", "gaierror"}:
        return f"{place} could not be reached ({_short(problem, spec)}). Check the address, and that the server runs."
    if heard.status:
        return http_answer(place, heard.status)
    if heard.content_type:
        return f"{place} is no MCP server: it answered with {heard.content_type}. Check the address and the kind."
    if kinds & _NO_USE:
        return f"{place} cannot be asked ({_short(problem, spec)}). Check the address and the headers."
    return f"The connection to {place} failed. {_reason(problem, spec)}"


def http_answer(place: str, status: int) -> str:
    """What it means that a server refuses to be connected to."""
    if status in _SIGN_IN:
        is_missing = status == UNAUTHORIZED
        what = f"needs a sign-in (HTTP {status})" if is_missing else f"does not let this sign-in in (HTTP {status})"
        return (
            f"{place} {what}. Run `hermes-acp mcp login {place}` in a terminal, or give it a valid Authorization "
            "header in the settings."
        )
    if status in {404, 405, 406, 410}:
        return f"{place} is no MCP server of this kind (HTTP {status}). Check the address, and http or sse."
    return f"{place} answered with HTTP {status}. Try again later, or ask whoever runs it."


def _reason(problem: BaseException, spec: ServerSpec) -> str:
    for cause in causes(problem):
        if isinstance(cause, McpFailure):
            return str(cause)
    if any(isinstance(cause, TimeoutError) for cause in causes(problem)):
        return "It did not answer in time."
    if _is_end(problem):
        return CLOSED
    if refused := next((cause for cause in causes(problem) if type(cause).__name__ == _REFUSAL), None):
        return f"It refused the connection. The server said: {quoted(spec.hide(str(refused)))}"
    return f"What went wrong: {quoted(spec.hide(_innermost(problem)))}"


def _is_end(problem: BaseException) -> bool:
    return any(str(cause) in _ENDS for cause in causes(problem))


def _innermost(problem: BaseException) -> str:
    found = [cause for cause in causes(problem) if not isinstance(cause, BaseExceptionGroup)]
    last = next((cause for cause in reversed(found) if str(cause)), problem)
    return (str(last).splitlines() or [""])[0].rstrip(".") or type(last).__name__


def _short(problem: BaseException, spec: ServerSpec) -> str:
    return spec.hide(_innermost(problem))[:_SAID_CHARS]


def _tail(text: str) -> str:
    """The last lines of what a process wrote, in quotes."""
    lines = [line.rstrip() for line in plain_text(text).splitlines() if line.strip()]
    shown = "\n".join(lines[-_TAIL_LINES:])
    return _in_quotes(shown if len(shown) <= _TAIL_CHARS else f"…{shown[-_TAIL_CHARS:]}")


def _in_quotes(words: str) -> str:
    # Quotes of its own must not end ours.
    return f"«{words.replace('«', '‹').replace('»', '›')}»."
