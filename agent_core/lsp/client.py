"""A conversation with one language server: our requests, its notices, and short answers to its requests."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from agent_core.mcp.stdio import Child

# What goes wrong:
# LspFailure        the server could not be started or understood, or is gone
# └── LspRefused    it answered one request with an error, and goes on


class LspFailure(Exception):
    """A language server cannot be used; `str(failure)` says why."""


class LspRefused(LspFailure):
    """A language server answered a request with an error; `code` is its number."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code


# Messages on a pipe: a header with the length, then JSON (base protocol, 3.17).

_LONGEST_HEADER = 4096
_NO_MESSAGE = "It wrote something else than messages to its output."
_LENGTH = re.compile(rb"^content-length:[ \t]*(\d{1,12})[ \t]*\r?$", re.IGNORECASE | re.MULTILINE)


async def read_message(reader: asyncio.StreamReader, longest: int) -> Mapping[str, Any] | None:
    """The next message, of at most `longest` bytes; None at the end.

    Raises:
        LspFailure: that is not the protocol, or the message is too long.
    """
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        if len(head) > _LONGEST_HEADER:
            raise LspFailure(_NO_MESSAGE)
        length = _LENGTH.search(head)
        if length is None:
            raise LspFailure("It sent a message without its length.")
        if (size := int(length[1])) > longest:
            raise LspFailure(f"It sent a message of more than {longest // 1024 // 1024} MB.")
        message = json.loads(await reader.readexactly(size))
    except asyncio.IncompleteReadError:
        return None
    except asyncio.LimitOverrunError as problem:
        raise LspFailure(_NO_MESSAGE) from problem
    except (ValueError, RecursionError) as problem:
        raise LspFailure("It sent a message that is no JSON.") from problem
    if not isinstance(message, dict):
        raise LspFailure("It sent a message that is no JSON object.")
    return message


def framed(message: Mapping[str, Any]) -> bytes:
    """A message as it is written to the pipe."""
    # Lone surrogates of a broken file cannot be UTF-8; as an escape they can be sent.
    body = json.dumps(message, separators=(",", ":")).encode("ascii")
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


# The conversation.

_LONGEST_MESSAGE = 32 * 1024 * 1024
_MOST_UNSENT = 500
_METHOD_NOT_FOUND = -32601
# What is asked only to let us know or to get a yes.
_AGREED = frozenset({"client/registerCapability", "client/unregisterCapability", "window/workDoneProgress/create"})

OnNotice = Callable[[str, Mapping[str, Any]], None]
Sections = Callable[[str], object]


class Peer:
    """Speaks to a running server; on the service loop only.

    Args:
        on_notice: gets method and parameters of each notice.
        section: the value of a section of the client's settings, None for none.
    """

    def __init__(self, child: Child, on_notice: OnNotice, section: Sections = lambda _: None) -> None:
        self._child = child
        self._on_notice = on_notice
        self._section = section
        self._unsent: asyncio.Queue[bytes] = asyncio.Queue(_MOST_UNSENT)
        self._asked: dict[int, asyncio.Future[Any]] = {}
        self._last_id = 0
        self._over: LspFailure | None = None

    async def run(self) -> None:
        """Read and write until the connection is over; whoever still waits for an answer then gets the reason.

        Raises:
            LspFailure: why it is over.
        """
        writing = asyncio.create_task(self._write())
        failure = LspFailure("It closed its output.")
        try:
            await self._read()
        except LspFailure as problem:
            failure = problem
        finally:
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)
            self._over = failure
            for answer in self._asked.values():
                if not answer.done():
                    answer.set_exception(failure)
            self._asked.clear()
        raise failure

    async def request(self, method: str, params: object = None) -> Any:
        """Ask; the result is what the server answers.

        Raises:
            LspRefused: it answered with an error. LspFailure: it is gone, or does not read.
        """
        self._last_id += 1
        number = self._last_id
        answer = self._asked[number] = asyncio.get_running_loop().create_future()
        try:
            self._send({"id": number, "method": method, "params": params})
            return await answer
        except asyncio.CancelledError:
            with contextlib.suppress(LspFailure):  # whoever cancels does not care
                self.notify("$/cancelRequest", {"id": number})
            raise
        finally:
            self._asked.pop(number, None)

    def notify(self, method: str, params: object = None) -> None:
        """Tell the server something.

        Raises:
            LspFailure: it does not read.
        """
        self._send({"method": method, "params": params})

    def _send(self, message: Mapping[str, Any]) -> None:
        if self._over is not None:
            raise self._over
        # `params` may be an array or an object, not null.
        told = {key: value for key, value in message.items() if key != "params" or value is not None}
        try:
            self._unsent.put_nowait(framed({"jsonrpc": "2.0", **told}))
        except asyncio.QueueFull:
            raise LspFailure("It does not read what it is sent.") from None

    async def _write(self) -> None:
        while True:
            data = await self._unsent.get()
            try:
                await self._child.write(data)
            except OSError:
                return  # the reader sees the end, and knows more of it

    async def _read(self) -> None:
        while (message := await read_message(self._child.output, _LONGEST_MESSAGE)) is not None:
            self._take(message)

    def _take(self, message: Mapping[str, Any]) -> None:
        method, number, params = message.get("method"), message.get("id"), message.get("params")
        given = params if isinstance(params, dict) else {}
        if not isinstance(method, str):
            self._take_answer(number, message)
        elif number is None:
            self._on_notice(method, given)
        else:
            self._send({"id": number, **self._answer(method, given)})

    def _take_answer(self, number: object, message: Mapping[str, Any]) -> None:
        answer = self._asked.get(number) if isinstance(number, int) else None
        if answer is None or answer.done():
            return
        error = message.get("error")
        if not isinstance(error, dict):
            answer.set_result(message.get("result"))
            return
        code = error.get("code")
        answer.set_exception(LspRefused(str(error.get("message", "")), code if isinstance(code, int) else 0))

    def _answer(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        if method == "workspace/configuration":
            items = params.get("items")
            asked = [item.get("section") if isinstance(item, dict) else None for item in items or ()]
            return {"result": [self._section(name) if isinstance(name, str) else None for name in asked]}
        if method in _AGREED:
            return {"result": None}
        if method == "workspace/applyEdit":
            return {"result": {"applied": False}}
        return {"error": {"code": _METHOD_NOT_FOUND, "message": "This client cannot do that."}}
