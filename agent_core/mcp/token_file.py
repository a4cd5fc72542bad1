"""Where the sign-ins at MCP servers are kept: in the store of sign-ins, by the server's address. Light: no SDK."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from agent_core.providers.shared_file import SharedFile, SharedFileError
from agent_core.providers.token_store import FILE_NAME, LOCK_TIMEOUT

_PART = "mcp"
_SECRETS = ("access_token", "refresh_token", "id_token", "client_secret")


class ServerTokens:
    """The sign-ins of a home (`oauth_tokens.json`, for its owner alone). Safe for threads and processes."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._file = SharedFile(home / FILE_NAME, durable=True)

    def lock_file(self, url: str) -> Path:
        """What is locked while the sign-in at a server is renewed, for longer than the store itself could be."""
        digest = hashlib.sha256(place_of(url).encode()).hexdigest()[:16]
        return self._home / "cache" / f"mcp-sign-in-{digest}.lock"

    def get(self, url: str) -> Mapping[str, Any]:
        """What is kept for a server: `tokens`, `client`, `expires_at`, `place`; empty where nothing is.

        Raises:
            SharedFileError: the store cannot be read.
        """
        found = _part(self._file.read()).get(place_of(url))
        return found if isinstance(found, Mapping) else {}

    def keep(self, url: str, **values: Any) -> None:
        """Change what is kept for a server.

        Raises:
            SharedFileError: it could not be stored.
        """
        place = place_of(url)
        with self._file.locked(LOCK_TIMEOUT) as draft:
            part = _part(draft.content)
            known = part.get(place)
            draft.content[_PART] = {**part, place: {**(known if isinstance(known, Mapping) else {}), **values}}
            draft.save()

    def forget(self, url: str) -> bool:
        """Delete what is kept for a server; whether there was something.

        Raises:
            SharedFileError: it could not be deleted.
        """
        place = place_of(url)
        with self._file.locked(LOCK_TIMEOUT) as draft:
            part = _part(draft.content)
            if place not in part:
                return False
            draft.content[_PART] = {key: value for key, value in part.items() if key != place}
            draft.save()
            return True

    def mark(self, url: str) -> str:
        """Tells one sign-in at a server from the next; '' where there is none, or it cannot be read."""
        try:
            found = self.get(url).get("tokens")
        except SharedFileError:
            return ""
        return hashlib.sha256(json.dumps(found, sort_keys=True).encode()).hexdigest() if found else ""

    def has(self, url: str) -> bool:
        """Whether somebody has signed in at a server.

        Raises:
            SharedFileError: the store cannot be read.
        """
        return bool(self.get(url).get("tokens"))

    def secrets(self) -> frozenset[str]:
        """Every secret that is kept.

        Raises:
            SharedFileError: the store cannot be read.
        """
        return frozenset(_secrets(_part(self._file.read())))


def place_of(url: str) -> str:
    """A server's address without what does not tell it from others, and without what may be secret."""
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{(parts.hostname or '').lower()}{port}{parts.path.rstrip('/')}"


def _part(content: Mapping[str, Any]) -> Mapping[str, Any]:
    found = content.get(_PART)
    return found if isinstance(found, Mapping) else {}


def _secrets(value: Any) -> Iterator[str]:
    if not isinstance(value, Mapping):
        return
    for key, part in value.items():
        if isinstance(part, Mapping):
            yield from _secrets(part)
        elif key in _SECRETS and isinstance(part, str) and part:
            yield part
