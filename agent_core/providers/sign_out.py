"""Whether the person has signed out: a small file in the home, so that a restart keeps it.

Only the standard library: it is asked before anything else is loaded.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from agent_core.errors import AuthRequired, HermesError, SettingsError
from tools.os_compat import O_CLOEXEC

if TYPE_CHECKING:
    from agent_core.config import Configuration
    from agent_core.home import Home
    from agent_core.providers.token_store import TokenStore

log = logging.getLogger(__name__)

FILE_NAME = "signed-out"

_TEXT = b"Signed out. Signing in from the editor, or `hermes-acp setup`, removes this file. So may you.\n"


class SignOutFailed(HermesError):
    """The state could not be stored or taken back; it is what it was."""


class SignedOut:
    """The state of one home; processes that share the home share it."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._path = home.root / FILE_NAME

    def is_set(self) -> bool:
        """Whether the person has signed out."""
        return os.path.lexists(self._path)

    def check(self) -> None:
        """Let nobody pass who has signed out.

        Raises:
            AuthRequired: the person has signed out; the text says how to sign in.
        """
        if self.is_set():
            raise AuthRequired(
                "Sign in with “Use the configured model”, which needs no new key, or run `hermes-acp setup` in a "
                "terminal: you have signed out of Hermes.",
                "you have signed out of Hermes",
            )

    def mark(self) -> None:
        """Sign out.

        Raises:
            SignOutFailed: it could not be stored.
        """
        try:
            self._home.make(self._home.root)
            descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb") as stream:
                stream.write(_TEXT)
        except OSError as problem:
            raise self._failed("written", problem) from problem

    def clear(self) -> None:
        """Sign in again; nothing happens where nobody has signed out.

        Raises:
            SignOutFailed: the file could not be removed.
        """
        try:
            self._path.unlink(missing_ok=True)
        except NotADirectoryError:
            return  # a home that cannot be there keeps nothing
        except OSError as problem:
            raise self._failed("removed", problem) from problem

    def _failed(self, tried: str, problem: OSError) -> SignOutFailed:
        said = problem.strerror or type(problem).__name__
        return SignOutFailed(
            f"{self._path} could not be {tried}: {said}. Check that the directory is yours and may be written."
        )


def sign_out(state: SignedOut, load: Callable[[], Configuration], tokens: TokenStore) -> None:
    """Sign out, and forget what this program stored for the configured provider.

    Keys that the user put into settings, `.env` or environment stay: they were not ours to give, nor to take. Where
    the settings cannot be read, nobody knows whose sign-in is meant: the person is signed out, and none is forgotten.

    Args:
        load: reads the settings.

    Raises:
        SignOutFailed: nothing was changed. SharedFileError: signed out, but the stored sign-in is still there.
    """
    from agent_core.providers.resolve import resolve_model  # noqa: PLC0415 - not at the process's start

    state.mark()
    try:
        provider = resolve_model(load()).provider
    except AuthRequired:
        return  # no provider, no sign-in
    except SettingsError as problem:
        log.warning("signed out; a stored sign-in stays, for the settings do not tell whose it is: %s", problem)
        return
    if tokens.get(provider) is not None:
        tokens.forget(provider)
