"""The operating system's keyring, asked with a bound: a locked one, or a machine without a desktop, holds nobody up.

The library is an extra (`keyring`) and is loaded with the first question. Each question has a thread of its own: a
backend may wait for a person at a window that is on no screen.
"""

from __future__ import annotations

import importlib
import importlib.util
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from agent_core.errors import SettingsError
from tools.errors import install_line

if TYPE_CHECKING:
    from agent_core.home import Home

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


def read(service: str, name: str, *, seconds: float = SECONDS) -> str | None:
    """The value that is kept under this name; None where there is none.

    Raises:
        KeyringFailed: it is locked, missing, or does not answer in time.
    """

    def ask() -> str | None:
        found: str | None = _library().get_password(service, name)
        return found

    return _asked(ask, seconds)


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
