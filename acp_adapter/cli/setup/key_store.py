"""Where new keys are put: into .env, or into the system's keyring with a line in .env that says so."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Literal

from agent_core import system_keyring
from agent_core.home import Home
from agent_core.kept_variables import MARK

Store = Literal["file", "keyring"]


@contextlib.contextmanager
def stored(home: Home, keys: Mapping[str, str], store: Store) -> Iterator[Mapping[str, str]]:
    """Put the keys there, and give what .env is to say; where the block fails, the keyring is as it was.

    Raises:
        KeyringFailed: the keyring does not take them.
    """
    if store == "file":
        yield keys
        return
    service = system_keyring.service_of(home)
    before: dict[str, str | None] = {}
    try:
        for name, value in keys.items():
            before[name] = system_keyring.read(service, name, seconds=system_keyring.SECONDS_OF_A_PERSON)
            system_keyring.write(service, name, value)
        yield dict.fromkeys(keys, f"{MARK}{service}")
    except BaseException:
        for name, old in before.items():
            with contextlib.suppress(system_keyring.KeyringFailed):
                _put_back(service, name, old)
        raise


def forget(home: Home, name: str) -> str:
    """Take a key out of the keyring that .env holds from now on; why it is still there, '' where it is not."""
    try:
        system_keyring.remove(system_keyring.service_of(home), name)
    except system_keyring.KeyringFailed as problem:
        return f"{name} is still in the system's keyring, too. {problem.public}"
    return ""


def _put_back(service: str, name: str, old: str | None) -> None:
    if old is None:
        system_keyring.remove(service, name)
    else:
        system_keyring.write(service, name, old)
