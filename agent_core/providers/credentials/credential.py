"""A key with a name that may be shown: its fingerprint."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import field

from tools.light_dataclass import dataclass

_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Credential:
    """A key of a provider.

    Attributes:
        key: None where the server wants none.
        id: the key's fingerprint, for files and logs; it does not give the key away.
    """

    key: str | None = field(repr=False)
    id: str


NO_KEY = Credential(None, "none")
"""What a server without keys is asked with."""


def credential_for(key: str) -> Credential:
    """The credential of a key."""
    return Credential(key, fingerprint(key))


def fingerprint(text: str) -> str:
    """The first 12 hexadecimal digits of the text's SHA-256."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_SHOWN]


def set_fingerprint(credentials: Iterable[Credential]) -> str:
    """The fingerprint of a set of keys, whatever their order."""
    return fingerprint(" ".join(sorted(credential.id for credential in credentials)))
