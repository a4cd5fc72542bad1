"""The session's proxy: an HTTP proxy on a port of this machine, on a loop and a thread of its own."""

from __future__ import annotations

import asyncio
import base64
import hmac
import logging
import threading
from concurrent.futures import Future
from contextlib import suppress

from tools.environments.sandbox_network.connecting import ProxyDoor
from tools.environments.sandbox_network.passing import plain, tunnel
from tools.environments.sandbox_network.reaching import NotReached, Reaching, Wish
from tools.environments.sandbox_network.requests import BadRequest, Request, read_request
from tools.environments.sandbox_network.variables import USER
from tools.environments.sandbox_network.wire import CHUNK, ProgramProtocol, Wire, refuse

log = logging.getLogger(__name__)

NOT_ANNOUNCED = 0
"""The number of the command of a connection that shows the password, and was not announced by a supervisor."""

_START_SECONDS = 10.0
_HEAD_SECONDS = 60.0
_BACKLOG = 256
_MOST_CONNECTIONS = 512


class SandboxProxy:
    """Serves CONNECT and requests for http://…, for programs that were announced at the door or know the password."""

    def __init__(self, door: ProxyDoor, reaching: Reaching, password: str) -> None:
        self._door = door
        self._reaching = reaching
        self._login = base64.b64encode(f"{USER}:{password}".encode())
        self._started: Future[int] = Future()
        self._thread = threading.Thread(target=self._run, name="sandbox-proxy", daemon=True)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()
        self._work: set[asyncio.Task[None]] = set()

    def start(self) -> int:
        """Listen; the port.

        Raises:
            OSError: it cannot.
        """
        self._thread.start()
        return self._started.result(_START_SECONDS)

    def close(self) -> None:
        """Cut every connection, and listen no more."""
        if self._loop is not None:
            with suppress(RuntimeError):  # it has ended
                self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(5)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except OSError as problem:
            if not self._started.done():
                self._started.set_exception(problem)

    async def _serve(self) -> None:
        loop = self._loop = asyncio.get_running_loop()
        server = await loop.create_server(self._protocol, "127.0.0.1", 0, backlog=_BACKLOG)
        self._started.set_result(int(server.sockets[0].getsockname()[1]))
        await self._stop.wait()
        server.close()
        for task in self._work:
            task.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)

    def _protocol(self) -> asyncio.StreamReaderProtocol:
        reader = asyncio.StreamReader(CHUNK)
        ended = asyncio.Event()

        def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.create_task(self._accept(Wire(reader, writer), ended))
            self._work.add(task)
            task.add_done_callback(self._work.discard)

        return ProgramProtocol(reader, accept, ended)

    async def _accept(self, here: Wire, ended: asyncio.Event) -> None:
        try:
            # A connection that breaks off is nothing unusual.
            with suppress(OSError, EOFError, ValueError):
                await self._answer(here, ended)
        except Exception:  # one connection that fails must not leave the others without a word in the log
            log.exception("serving a connection to the sandbox's proxy")
        finally:
            here.writer.close()

    async def _answer(self, here: Wire, ended: asyncio.Event) -> None:
        command = self._door.take(int(here.writer.get_extra_info("peername")[1]))
        if len(self._work) > _MOST_CONNECTIONS:
            await refuse(here.writer, 503, "Too many connections are open through the sandbox's proxy.")
            return
        try:
            async with asyncio.timeout(_HEAD_SECONDS):
                head = await here.reader.readuntil(b"\r\n\r\n")
            request = read_request(head)
        except (BadRequest, asyncio.LimitOverrunError) as problem:
            await refuse(here.writer, 400, str(problem))
            return
        if command is None and not self._knows_password(request):
            message = "This proxy needs the user name and the password of the address in HTTPS_PROXY."
            await refuse(here.writer, 407, message, ('Proxy-Authenticate: Basic realm="sandbox"',))
            return
        wish = Wish(command or NOT_ANNOUNCED, request.host, request.port, request.is_tunnel, ended)
        try:
            await self._fulfil(wish, request, here)
        except NotReached as problem:
            await refuse(here.writer, problem.status, str(problem))

    async def _fulfil(self, wish: Wish, request: Request, here: Wire) -> None:
        way = await self._reaching.way(wish)
        if request.is_tunnel:
            await tunnel(way, wish, here, self._reaching)
        else:
            await plain(request, way, wish, here)

    def _knows_password(self, request: Request) -> bool:
        scheme, _, given = request.authorization.partition(b" ")
        return scheme.lower() == b"basic" and hmac.compare_digest(given.strip(), self._login)
