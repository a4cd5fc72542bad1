"""Variables of which some are kept in the system's keyring: `.env` names those, and each is read when needed."""

from __future__ import annotations

import logging
import threading
import time
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping

from agent_core import system_keyring

log = logging.getLogger(__name__)

MARK = "keyring:"
"""`NAME=keyring:SERVICE` in `.env`: the value is the keyring's, under this service and the name."""
_REST_SECONDS = 30.0


def with_keyring(own: Mapping[str, str], process: Mapping[str, str]) -> Mapping[str, str]:
    """What `.env` says, under what the process's environment says."""
    kept = {name: value[len(MARK) :] for name, value in own.items() if value.startswith(MARK) and name not in process}
    plain = {name: value for name, value in {**own, **process}.items() if name not in kept}
    return KeptVariables(plain, kept) if kept else plain


class KeptVariables(Mapping[str, str]):
    """Variables of which some are asked for at the keyring. Safe for threads.

    Going through all of them asks for none: only those that were read already are among them. One that cannot be read
    is as if it were not set; `problem_of` says why.
    """

    def __init__(
        self, plain: Mapping[str, str], kept: Mapping[str, str], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._known = dict(plain)
        self._kept = dict(kept)
        self._clock = clock
        self._lock = threading.RLock()
        self._problem = ""
        self._rests_until = float("-inf")
        self._listeners: list[weakref.WeakMethod[Callable[[Collection[str]], object]]] = []

    def __getitem__(self, name: str) -> str:
        with self._lock:
            if name not in self._known and name in self._kept:
                self._read(name)
            return self._known[name]

    def __iter__(self) -> Iterator[str]:
        with self._lock:
            return iter(tuple(self._known))

    def __len__(self) -> int:
        return len(self._known)

    def on_read(self, told: Callable[[Collection[str]], object]) -> None:
        """`told`, a method, gets each value once it is read: a secret that was not known before."""
        with self._lock:
            alive = [listener for listener in self._listeners if listener() is not None]
            self._listeners = [*alive, weakref.WeakMethod(told)]

    def keeps(self, name: str) -> bool:
        """Whether the keyring has it, not `.env` itself."""
        return name in self._kept

    def problem_of(self, name: str) -> str:
        """Why a variable that is kept there could not be read; '' where it could, or is not kept there."""
        return "" if name in self._known or name not in self._kept else self._problem

    def _read(self, name: str) -> None:
        if self._clock() < self._rests_until:  # one that does not answer is not waited for again and again
            return
        try:
            value = system_keyring.read(self._kept[name], name)
        except system_keyring.KeyringFailed as problem:
            self._problem = f"{name} is kept in the system's keyring. {problem.public}"
            self._rests_until = self._clock() + _REST_SECONDS
            log.warning("%s", self._problem)
            return
        if value is None:
            self._problem = f"{name} is said to be in the system's keyring, and is not there: run hermes-acp setup."
            return
        self._known[name] = value
        for listener in self._listeners:
            if (told := listener()) is not None:
                told((value,))
