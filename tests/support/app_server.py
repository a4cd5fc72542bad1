"""A web application on a loopback port, served by a thread of the test's own process."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import uvicorn

    from tests.support.certificates import Certificates

_END_SECONDS = 20


@contextmanager
def serving(make_app: Callable[[str], Any], port: int = 0, certificates: Certificates | None = None) -> Iterator[str]:
    """Serve what `make_app` makes for an origin, and yield the origin. At the end its connections break off.

    With certificates it speaks TLS, to who shows one of the same CA.
    A process of its own would load the application's libraries a second time, which takes longer than most tests.
    """
    import uvicorn  # noqa: PLC0415 - a fifth of a second, for few tests

    with socket.create_server(("127.0.0.1", port)) as listener:
        origin = f"{'https' if certificates else 'http'}://127.0.0.1:{listener.getsockname()[1]}"
        config = uvicorn.Config(
            make_app(origin), log_config=None, timeout_graceful_shutdown=1, ws="none", **_trust(certificates)
        )
        server = uvicorn.Server(config)
        loop, end = asyncio.new_event_loop(), asyncio.Event()
        thread = threading.Thread(target=_run, args=(loop, _serve(server, listener, end)), name="app server")
        thread.start()
        try:
            yield origin
        finally:
            loop.call_soon_threadsafe(end.set)
            thread.join(_END_SECONDS)
            assert not thread.is_alive(), "the application does not end"


def _trust(made: Certificates | None) -> dict[str, Any]:
    if made is None:
        return {}
    files = {"ssl_certfile": str(made.chain), "ssl_keyfile": str(made.key), "ssl_ca_certs": str(made.ca)}
    return {**files, "ssl_cert_reqs": ssl.CERT_REQUIRED}


def _run(loop: asyncio.AbstractEventLoop, work: Any) -> None:
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(work)


async def _serve(server: uvicorn.Server, listener: socket.socket, end: asyncio.Event) -> None:
    serving = asyncio.create_task(server.serve([listener]))
    await end.wait()
    # Nobody is let in any more: who comes while the others are broken off would be forgotten.
    for each in server.servers:
        each.close()
    server.should_exit = True
    while not serving.done():
        for connection in list(server.server_state.connections):
            connection.transport.abort()
        await asyncio.wait({serving}, timeout=0.01)
    await serving
