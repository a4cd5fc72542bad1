"""Which sockets the session's own commands listen on: those they may also connect to."""

from __future__ import annotations

import ipaddress
import os
import socket
import threading

from tools.environments.sandbox_network import sock_diag, unix_sockets
from tools.web.addresses import IPAddress


class OwnListeners:
    """Sockets are known by the number that the kernel gives each once; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers: set[int] = set()

    def note(self, duplicate: socket.socket) -> None:
        """A command of the session is about to listen on this socket, or on what this is a duplicate of."""
        with self._lock:
            self._numbers.add(os.fstat(duplicate.fileno()).st_ino)

    def have_port(self, port: int) -> bool | None:
        """Whether all that listens on this TCP port of the machine is the session's own; None if nothing listens.

        Where the kernel does not tell, it may be anybody's.
        """
        try:
            return self._are_own(sock_diag.listening_on(port))
        except OSError:
            return False

    def have_path(self, place: os.stat_result) -> bool:
        """Whether the socket at this place of the file system is the session's own."""
        try:
            numbers = unix_sockets.at_path(place)
            return bool(self._are_own(numbers)) and any(unix_sockets.is_at(number, place) for number in numbers)
        except OSError:
            return False

    def have_name(self, name: bytes) -> bool:
        """Whether what listens under this abstract name is the session's own."""
        try:
            return bool(self._are_own(unix_sockets.under_name(name)))
        except OSError:
            return False

    def _are_own(self, numbers: frozenset[int]) -> bool | None:
        with self._lock:
            return numbers <= self._numbers if numbers else None


def is_of_this_machine(address: IPAddress) -> bool:
    """Whether connecting to this address stays on this machine: loopback, or an address of one of its interfaces."""
    if address.is_loopback or address.is_unspecified:
        return True
    family = socket.AF_INET6 if address.version == 6 else socket.AF_INET  # noqa: PLR2004
    with socket.socket(family, socket.SOCK_DGRAM) as unused:
        try:
            unused.connect((str(address), 9))  # sends nothing; the kernel says which address it would come from
            source = unused.getsockname()[0]
        except OSError:
            return False
    return ipaddress.ip_address(source.partition("%")[0]) == address
