"""A session's sandbox, made with its first command: to load and try one takes longer than to open a session."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from tools.environments.sandbox.port import Confinement, Sandbox

_T = TypeVar("_T")


class Late(Generic[_T]):
    """Something of a session that is made once, when it is first asked for; safe to use from several threads.

    Args:
        make: makes it.
    """

    def __init__(self, make: Callable[[], _T]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._is_over = False
        self._made: _T | None = None

    def __call__(self) -> _T:
        """It.

        Raises:
            OSError: the session is over, and none was made. Also what making it raises.
        """
        with self._lock:
            if self._made is None:
                if self._is_over:
                    raise OSError("The session has ended: it starts no new command.")
                self._made = self._make()
            return self._made

    def if_made(self) -> _T | None:
        """It, if it is there."""
        return self._made

    def end(self) -> _T | None:
        """From now on none is made; what was."""
        with self._lock:
            self._is_over = True
            return self._made


class LateSandbox:
    """The `Sandbox` port in front of one that is made when something is to be started in it.

    Args:
        make: makes it; None where none works on this machine.
    """

    def __init__(self, make: Callable[[], Sandbox | None]) -> None:
        self._sandbox = Late(lambda: _there(make()))

    @property
    def name(self) -> str:
        """As the port says.

        Raises:
            OSError: there is none.
        """
        return self._sandbox().name

    @property
    def hides_beside_changes(self) -> bool:
        """As the port says.

        Raises:
            OSError: there is none.
        """
        return self._sandbox().hides_beside_changes

    def popen(
        self, arguments: Sequence[str], confinement: Confinement, *, apart: bool = False, **popen: Any
    ) -> subprocess.Popen[bytes]:
        """As the port says."""
        return self._sandbox().popen(arguments, confinement, apart=apart, **popen)

    def variables(self, confinement: Confinement) -> Mapping[str, str]:
        """As the port says."""
        return self._sandbox().variables(confinement)

    def end_left(self, process: subprocess.Popen[bytes]) -> bool:
        """As the port says."""
        made = self._sandbox.if_made()
        return made is not None and made.end_left(process)

    def refusals(self, process: subprocess.Popen[bytes]) -> tuple[str, ...]:
        """As the port says."""
        made = self._sandbox.if_made()
        return () if made is None else made.refusals(process)

    def any_left(self) -> bool:
        """As the port says."""
        made = self._sandbox.if_made()
        return made is not None and made.any_left()

    def close(self) -> None:
        """As the port says."""
        if (made := self._sandbox.end()) is not None:
            made.close()


def _there(sandbox: Sandbox | None) -> Sandbox:
    if sandbox is None:
        raise OSError("No sandbox works on this machine.")
    return sandbox
