"""Where sign-ins are kept: one file for all processes of a home."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from agent_core.providers.credentials.shared_file import Draft, SharedFile, SharedFileError
from agent_core.providers.credentials.tokens import OAuthToken, token_entry, token_from
from tools.light_dataclass import dataclass

log = logging.getLogger(__name__)

FILE_NAME = "oauth_tokens.json"
LOCK_TIMEOUT = 30.0


@dataclass(frozen=True, slots=True)
class LockedToken:
    """A provider's token while nobody else can change it."""

    token: OAuthToken | None
    keep: Callable[[OAuthToken], None]
    """Stores a token in its place. Raises SharedFileError."""


class TokenStore:
    """The tokens in the file at `path`, by provider. Safe for threads and processes."""

    def __init__(self, path: Path) -> None:
        self._file = SharedFile(path, durable=True)
        # By provider: a renewed token that could not be stored, and the access token that it replaces.
        self._unsaved: dict[str, tuple[str, OAuthToken]] = {}

    def get(self, provider: str) -> OAuthToken | None:
        """The provider's token as it is stored now.

        Raises:
            SharedFileError: the store cannot be read.
        """
        return self._newest(provider, _tokens(self._file.read()).get(provider))

    def secrets(self) -> frozenset[str]:
        """Every secret of the sign-ins that are stored now, dead ones too.

        Raises:
            SharedFileError: the store cannot be read.
        """
        tokens = [token for entry in _tokens(self._file.read()).values() if (token := token_from(entry)) is not None]
        found = (secret for one in tokens for secret in (one.access_token, one.refresh_token, one.client_secret))
        return frozenset(secret for secret in found if secret)

    def put(self, provider: str, token: OAuthToken) -> None:
        """Store a new sign-in.

        Raises:
            SharedFileError: it could not be stored.
        """
        with self.locked(provider) as held:
            held.keep(token)

    def forget(self, provider: str) -> None:
        """Delete a provider's token.

        Raises:
            SharedFileError: it could not be deleted.
        """
        with self._file.locked(LOCK_TIMEOUT) as draft:
            tokens = _tokens(draft.content)
            if provider in tokens:
                draft.content["providers"] = {name: entry for name, entry in tokens.items() if name != provider}
                draft.save()
            self._unsaved.pop(provider, None)

    @contextlib.contextmanager
    def locked(self, provider: str, cancelled: Callable[[], bool] | None = None) -> Iterator[LockedToken]:
        """The provider's token, read again under the store's lock.

        Raises:
            SharedFileError: lock or file cannot be had.
            TurnInterrupted: it was cancelled while it waited for the lock.
        """
        with self._file.locked(LOCK_TIMEOUT, cancelled) as draft:
            token = self._newest(provider, _tokens(draft.content).get(provider))
            yield LockedToken(token, lambda new: self._keep(draft, provider, new))

    def remember(self, provider: str, replaced: OAuthToken, token: OAuthToken) -> None:
        """Use `token` in this process, until the store has another than `replaced`: it could not be stored."""
        stored = replaced.access_token
        earlier = self._unsaved.get(provider)
        if earlier is not None and earlier[1].access_token == stored:
            stored = earlier[0]
        self._unsaved[provider] = (stored, token)

    def _newest(self, provider: str, entry: object) -> OAuthToken | None:
        stored = token_from(entry)
        replaced, unsaved = self._unsaved.get(provider, ("", None))
        return unsaved if stored is not None and stored.access_token == replaced else stored

    def _keep(self, draft: Draft, provider: str, token: OAuthToken) -> None:
        tokens = _tokens(draft.content)
        draft.content["providers"] = {**tokens, provider: token_entry(token, tokens.get(provider))}
        draft.save()
        self._unsaved.pop(provider, None)


def keep_or_remember(store: TokenStore, provider: str, held: LockedToken, token: OAuthToken) -> None:
    """Store a renewed token; where that fails this process goes on with it, and the log says so."""
    try:
        held.keep(token)
    except SharedFileError as problem:
        log.warning("The renewed sign-in at %s is kept by this process alone: %s", provider, problem)
        if held.token is not None:
            store.remember(provider, held.token, token)


def _tokens(content: Mapping[str, Any]) -> Mapping[str, Any]:
    found = content.get("providers")
    return found if isinstance(found, dict) else {}
