"""The network of one session's confined commands: the `NetworkGuard` port."""

from __future__ import annotations

import itertools
import os
import secrets
import threading
from collections.abc import Mapping

from tools.environments.http_connecting import LookUp, look_up
from tools.environments.sandbox_network.asking import Desk
from tools.environments.sandbox_network.connecting import Connecting, ProxyDoor, Reach
from tools.environments.sandbox_network.hosts import HostRules
from tools.environments.sandbox_network.listening import OwnListeners
from tools.environments.sandbox_network.port import HostGate, NetworkRules, Others, Watched
from tools.environments.sandbox_network.proxy import NOT_ANNOUNCED, SandboxProxy
from tools.environments.sandbox_network.reaching import Reaching
from tools.environments.sandbox_network.refusals import Refusals
from tools.environments.sandbox_network.supervisor import Supervisor
from tools.environments.sandbox_network.variables import proxy_variables
from tools.light_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class _Watched:
    command: int
    taken_down: Refusals

    def refusals(self) -> tuple[str, ...]:
        """As the port says."""
        return self.taken_down.since(command=self.command)


class SessionNetwork:
    """One a session; safe to use from several threads. Nothing runs before the first command.

    Args:
        gate: asks about what no rule decides.
        hosts: the rules, as they were when the session began; None: what holds without any settings.
        find: looks names up.
        proxies: the user's own proxies by scheme, as `urllib.request.getproxies` has them; None: the environment's.
    """

    def __init__(
        self,
        gate: HostGate,
        hosts: HostRules | None = None,
        *,
        find: LookUp = look_up,
        proxies: Mapping[str, str] | None = None,
    ) -> None:
        hosts = hosts or HostRules(NetworkRules())
        own = OwnListeners()
        self._door = ProxyDoor()
        self._desk = Desk(gate)
        self._refusals = Refusals()
        self._connecting = Connecting(own, self._door, self._desk, hosts, self._refusals)
        self._reaching = Reaching(own, self._door, self._desk, hosts, self._refusals, find=find, proxies=proxies)
        self._lock = threading.Lock()
        self._numbers = itertools.count(NOT_ANNOUNCED + 1)
        self._supervisors: dict[int, Supervisor] = {}
        self._password = secrets.token_hex(16)
        self._proxy: SandboxProxy | None = None
        self._is_closed = False

    def adopt(
        self, listener: int, *, online: bool = True, everywhere: bool = False, others: Others | None = None
    ) -> Watched:
        """As the port says."""
        reach: Reach = "everywhere" if everywhere else "proxy" if online else "session"
        with self._lock:
            if self._is_closed:
                os.close(listener)
                raise OSError("The session has ended: its network serves no new command.")
            command = next(self._numbers)
            supervisor = Supervisor(
                listener, command, self._connecting, lambda: self._ended(command), reach=reach, others=others
            )
            supervisor.start()
            self._supervisors[command] = supervisor
        return _Watched(command, self._refusals)

    def variables(self) -> Mapping[str, str]:
        """As the port says."""
        # Without a supervisor nobody knows where a command begins: the next one is this call's.
        self._desk.forget(NOT_ANNOUNCED, refused_only=True)
        with self._lock:
            if self._is_closed:
                raise OSError("The session has ended: its network serves no new command.")
            if self._proxy is None:
                proxy = SandboxProxy(self._door, self._reaching, self._password)
                self._door.port = proxy.start()
                self._proxy = proxy
            assert self._door.port is not None  # noqa: S101 - set with the proxy
            return proxy_variables(self._door.port, self._password, os.environ)

    def mark(self) -> int:
        """As the port says."""
        return self._refusals.count()

    def refusals(self, since: int = 0) -> tuple[str, ...]:
        """As the port says."""
        return self._refusals.since(since)

    def any_left(self) -> bool:
        """As the port says."""
        with self._lock:
            supervisors = list(self._supervisors.values())
        return any(not supervisor.is_over() for supervisor in supervisors)

    def close(self) -> None:
        """As the port says; may be called again."""
        with self._lock:
            self._is_closed = True
            proxy, self._proxy = self._proxy, None
            supervisors = list(self._supervisors.values())
        self._desk.close()
        for supervisor in supervisors:
            supervisor.close()
        if proxy is not None:
            proxy.close()

    def _ended(self, command: int) -> None:
        self._desk.forget(command)
        with self._lock:
            self._supervisors.pop(command, None)
