"""Who waits for what an attack carries out: every connection, datagram and signal counts, whatever it says."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Listeners:
    """Open sockets of the attacker's, and of services that a command must not reach.

    A connection is counted once the kernel has it, so nobody need answer.
    """

    streams: dict[str, socket.socket]
    datagrams: dict[str, socket.socket]

    def port(self, name: str) -> int:
        """The port of one of them."""
        return int({**self.streams, **self.datagrams}[name].getsockname()[1])

    def heard(self) -> list[str]:
        """Who was reached since the last look."""
        return [*_each(self.streams, _accept), *_each(self.datagrams, _receive)]


@contextmanager
def listening(directory: Path, abstract: str) -> Iterator[Listeners]:
    """The attacker on loopback by TCP (both families) and UDP, and three local services.

    Args:
        directory: where the sockets of the local services are made (`docker.sock`, `agent.sock`).
        abstract: the name of the third, which has no file.
    """
    with ExitStack() as stack:

        def opened(family: int, kind: int, address: object) -> socket.socket:
            made = stack.enter_context(socket.socket(family, kind))
            made.bind(address)
            if kind == socket.SOCK_STREAM:
                made.listen(64)
            made.setblocking(False)
            return made

        stream, packet = socket.SOCK_STREAM, socket.SOCK_DGRAM
        yield Listeners(
            {
                "web": opened(socket.AF_INET, stream, ("127.0.0.1", 0)),
                "docker": opened(socket.AF_UNIX, stream, str(directory / "docker.sock")),
                "agent": opened(socket.AF_UNIX, stream, str(directory / "agent.sock")),
                "bus": opened(socket.AF_UNIX, stream, f"\0{abstract}"),
            },
            {"dns": opened(socket.AF_INET, packet, ("127.0.0.1", 0))},
        )


def _each(sockets: dict[str, socket.socket], take: object) -> list[str]:
    assert callable(take)
    found = []
    for name, each in sockets.items():
        while True:
            try:
                take(each)
            except BlockingIOError:
                break
            found.append(name)
    return found


def _accept(listener: socket.socket) -> None:
    listener.accept()[0].close()


def _receive(receiver: socket.socket) -> None:
    receiver.recv(2048)
