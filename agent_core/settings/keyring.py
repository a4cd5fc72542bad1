"""The operating system's keyring, and the variables that `.env` says are kept in it."""

from __future__ import annotations

import importlib
import importlib.util
import logging
import threading
import time
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from agent_core.errors import SettingsError
from tools.errors import install_line

if TYPE_CHECKING:
    from agent_core.home import Home


# The keyring is asked with a bound: a locked one, or a machine without a desktop, holds nobody up. The library is an
# extra (`keyring`) and is loaded with the first question. Each question has a thread of its own: a backend may wait
# for a person at a window that is on no screen.

SECONDS = 10.0
# A person who is asked by their desktop to unlock it needs longer.
SECONDS_OF_A_PERSON = 60.0
_T = TypeVar("_T")


class KeyringFailed(SettingsError):
    """The keyring did not do it; the text says what to do."""


def is_installed() -> bool:
    """Whether the library is there, without loading it."""
    return importlib.util.find_spec("keyring") is not None


def is_usable() -> bool:
    """Whether it would take a key, as far as can be told without asking the person anything."""
    try:
        return is_installed() and bool(_asked(lambda: _library().get_keyring().priority >= 1, SECONDS))
    except KeyringFailed:
        return False


def service_of(home: Home) -> str:
    """What our entries are filed under: each home has its own."""
    return "hermes-acp" if home.root == Path.home() / ".hermes" else f"hermes-acp {home.root}"


def read(service: str, name: str, *, seconds: float | None = None) -> str | None:
    """The value that is kept under this name; None where there is none.

    Raises:
        KeyringFailed: it is locked, missing, or does not answer in time.
    """

    def ask() -> str | None:
        found: str | None = _library().get_password(service, name)
        return found

    return _asked(ask, SECONDS if seconds is None else seconds)


def write(service: str, name: str, value: str, *, seconds: float = SECONDS_OF_A_PERSON) -> None:
    """Keep a value, and see that it is kept: some backends take everything and keep nothing.

    Raises:
        KeyringFailed: it is not kept.
    """

    def ask() -> str | None:
        library = _library()
        library.set_password(service, name, value)
        kept: str | None = library.get_password(service, name)
        return kept

    if _asked(ask, seconds) != value:
        raise KeyringFailed(f"The system's keyring did not keep the key. {_OTHERWISE}")


def remove(service: str, name: str, *, seconds: float = SECONDS_OF_A_PERSON) -> None:
    """Forget a value.

    Raises:
        KeyringFailed: it could not be done, or there was none.
    """
    _asked(lambda: _library().delete_password(service, name), seconds)


_OTHERWISE = "Or keep the key in .env, readable by you alone: hermes-acp setup --key-store file"


def _library() -> Any:
    return importlib.import_module("keyring")


def _asked(ask: Callable[[], _T], seconds: float) -> _T:
    if not is_installed():
        raise KeyringFailed(
            f"The system's keyring is used through a library that is not installed. Run: {install_line('keyring')}. "
            f"{_OTHERWISE}"
        )
    answers: list[_T] = []
    problems: list[Exception] = []

    def work() -> None:
        try:
            answers.append(ask())
        except Exception as problem:  # noqa: BLE001 - backends are programs of others, and raise what they like
            problems.append(problem)

    thread = threading.Thread(target=work, name="keyring", daemon=True)
    thread.start()
    thread.join(seconds)
    if answers:
        return answers[0]
    if problems:
        raise KeyringFailed(_told(problems[0])) from problems[0]
    raise KeyringFailed(
        f"The system's keyring did not answer within {seconds:g} s: it may be waiting to be unlocked. Unlock it and "
        f"try again. {_OTHERWISE}"
    )


def _told(problem: Exception) -> str:
    kind = type(problem).__name__
    if kind in {"NoKeyringError", "InitError"}:
        return f"There is no keyring on this machine that could be used. {_OTHERWISE}"
    if kind == "KeyringLocked":
        return f"The system's keyring is locked. Unlock it and try again. {_OTHERWISE}"
    # What a backend says may quote what it was given.
    return f"The system's keyring failed ({kind}). {_OTHERWISE}"


# Variables of which `.env` says that the keyring has them; each is read when it is needed.

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
            value = read(self._kept[name], name)
        except KeyringFailed as problem:
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
