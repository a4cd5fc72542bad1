"""Keyrings for tests: a real one that keeps its values in a file, and others that give trouble."""

from __future__ import annotations

import threading
from typing import ClassVar

from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked
from keyrings.alt.file import PlaintextKeyring


class LockedKeyring(KeyringBackend):
    """Nobody unlocks it."""

    priority: ClassVar[float] = 5

    def get_password(self, service: str, username: str) -> str | None:
        raise KeyringLocked("sk-of-somebody-0123456789")

    def set_password(self, service: str, username: str, password: str) -> None:
        raise KeyringLocked


class SilentKeyring(LockedKeyring):
    """It waits for a person at a window that nobody sees."""

    def get_password(self, service: str, username: str) -> str | None:
        threading.Event().wait()
        return None


class ForgetfulKeyring(LockedKeyring):
    """It takes everything and keeps nothing."""

    def get_password(self, service: str, username: str) -> str | None:
        return None

    def set_password(self, service: str, username: str, password: str) -> None:
        return None


class GoodKeyring(PlaintextKeyring):
    """The file of `keyrings.alt`, as good as the desktop's."""

    priority: ClassVar[float] = 5
