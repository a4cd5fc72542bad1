"""The seams of the sandbox's network: what the sandbox calls, and what asks the person."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from tools.light_dataclass import dataclass
from tools.ports import Interrupt


@dataclass(frozen=True, slots=True)
class NetworkRules:
    """What the user's settings say about hosts.

    Each entry is `HOST`, `*.DOMAIN` (all below it, not itself), either of them with `:PORT` (without one the ports 80
    and 443 are meant, and in `deny` every port), or an IP address. `deny` wins.

    Attributes:
        allow: may be reached without a question, private addresses too.
        deny: are never reached.
        registries: whether the package registries of `registries.py` may be reached without a question.
    """

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    registries: bool = True


class HostGate(Protocol):
    """Asks the policy, and through it the person."""

    def may_connect(self, host: str, port: int, interrupt: Interrupt, inside: str = "") -> bool:
        """Whether a confined command may connect there. It may wait for the person; any doubt is a no.

        It is called on a thread of its own, once for each command, host and port; several calls may run at a time.

        Args:
            host: a name or an IP address; "localhost" for a service of this machine.
            interrupt: is set when nobody waits for the answer any more, as the program has ended.
            inside: what the host is where it is not on the public internet, in words that follow «it is».
        """
        ...

    def reached(self) -> None:
        """A confined command connects to a host that nobody is asked about: it may print what others wrote."""
        ...


class Watched(Protocol):
    """The network of one command."""

    def refusals(self) -> tuple[str, ...]:
        """What it tried to reach and did not, each once and in order: «example.org:443: the person said no»."""
        ...


class Notice(Protocol):
    """A system call that a filter handed over and that waits for its answer."""

    @property
    def pid(self) -> int:
        """The thread that made it, as this process counts threads."""
        ...

    @property
    def nr(self) -> int:
        """The call's number in the thread's own architecture."""
        ...

    @property
    def args(self) -> tuple[int, ...]:
        """Its six arguments as they stand in the registers."""
        ...

    def valid(self) -> bool:
        """Whether it still waits: then what was found by `pid` before was the thread's own."""
        ...

    def memory(self, address: int, size: int) -> bytes:
        """At most `size` bytes of the thread's memory: less where the memory ends.

        Raises:
            OSError: EFAULT where there is none; EPERM, EACCES: it may not be looked into; ESRCH: it is gone.
        """
        ...


Others = Callable[[Notice], int | None]
"""Answers a call that is not the network's: 0 for a success, an errno, or None, with which the kernel makes the call:
so only what stands in registers was judged. It is quick and raises nothing."""


class NetworkGuard(Protocol):
    """The network of one session's confined commands."""

    def adopt(
        self, listener: int, *, online: bool = True, everywhere: bool = False, others: Others | None = None
    ) -> Watched:
        """Serve a seccomp notification descriptor, which is the guard's from now on, until its last process is gone.

        It is called on a thread that is not confined itself: those that serve would inherit that. The filter notifies
        of `connect` and `listen`. When the guard ends before the processes, their calls fail
        (ENOSYS).

        Args:
            online: whether the proxy, and services of this machine that the person allows, may be reached. Without
                it only what listens in this session's own commands.
            everywhere: every internet address may be reached directly; unix sockets are judged as ever.
            others: is asked, on the guard's thread, about every other call; None refuses it (EACCES).

        Raises:
            RuntimeError: the session has ended, or no thread can be started; the descriptor is closed.
        """
        ...

    def variables(self) -> Mapping[str, str]:
        """The environment that leads programs to the proxy, which is started if it does not run yet.

        The same in each call, so that it does not matter if a shell keeps them from one command to the next.

        Raises:
            OSError: the proxy cannot be started.
        """
        ...

    def mark(self) -> int:
        """How many refusals there have been in this session: for `refusals`."""
        ...

    def refusals(self, since: int = 0) -> tuple[str, ...]:
        """The refusals of all commands after the mark, each once and in order."""
        ...

    def any_left(self) -> bool:
        """Whether a process is alive whose connections are judged here."""
        ...

    def close(self) -> None:
        """The session has ended: every connection through the proxy is cut, and no new one is made."""
        ...
