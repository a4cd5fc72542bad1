"""What makes up a wire protocol over HTTP: how a request is written, how an answer is read."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from agent_core.providers.base import ModelRequest, StreamEvent
from agent_core.providers.choice import ModelChoice
from agent_core.providers.wire.finish_reasons import AnswerEnd
from tools.light_dataclass import dataclass

log = logging.getLogger(__name__)

# Sums of such counts stay far below what the database can store.
_MOST_TOKENS = 2**40


class Decoder(AnswerEnd):
    """Reads one answer, and knows how it ends."""

    def feed(self, data: bytes) -> Iterable[StreamEvent]:
        """The events in the payload of one `data:` line; never `Finished`.

        Raises:
            ProviderStatusError: the server reports a failure.
            ProviderProtocolError: it cannot be understood.
        """
        raise NotImplementedError


def counts_of(value: object) -> Mapping[str, Any]:
    """Counts of tokens as a server sends them, by name; nothing where it sends something else."""
    if isinstance(value, Mapping):
        return value
    if value is not None:
        _log_ignored(value)
    return {}


def token_count(value: object) -> int | None:
    """A number of tokens; whatever else a server sends counts as unknown, also more than there can be."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST_TOKENS:
        return value
    if value is not None:
        _log_ignored(value)
    return None


def _log_ignored(value: object) -> None:
    log.warning("the model's server sent a count of tokens that is none: %.80r", value)


@dataclass(frozen=True, slots=True)
class WireProtocol:
    """A protocol, as functions.

    Attributes:
        path: appended to the base URL.
        headers: what goes with each request of this protocol, the key too.
        encode: the request's JSON body. The same messages always give the same bytes (cache markers apart).
        decoder: a new reader.
        root: where on the server the path begins; a base URL may end in it already.
    """

    name: str
    path: str
    headers: Callable[[ModelChoice], Mapping[str, str]]
    encode: Callable[[ModelRequest, ModelChoice], Mapping[str, Any]]
    decoder: Callable[[ModelChoice], Decoder]
    root: str = ""

    def address(self, base_url: str) -> str:
        """Where requests are sent."""
        return f"{base_url.rstrip('/').removesuffix(self.root)}{self.root}{self.path}"


def key_header(choice: ModelChoice) -> dict[str, str]:
    """The key in the header where the server looks for it; nothing without one."""
    if not choice.api_key:
        return {}
    if choice.dialect.auth == "bearer":
        return {"Authorization": f"Bearer {choice.api_key}"}
    return {choice.dialect.auth: choice.api_key}
