"""What makes up a wire protocol over HTTP: how a request is written, how an answer is read, whose client sends it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from agent_core.providers.base import FinishReason, ModelRequest, StreamEvent
from agent_core.providers.choice import ModelChoice
from agent_core.providers.wire.failures import SdkErrors


class Decoder(Protocol):
    """Reads one answer.

    Attributes:
        finished: why the answer ended, once it said so.
        done: nothing more will come; the rest of the body is only waited for shortly.
    """

    finished: FinishReason | None
    done: bool

    def feed(self, data: bytes) -> Iterator[StreamEvent]:
        """The events in the payload of one `data:` line; never `Finished`.

        Raises:
            ProviderStatusError: the server reports a failure.
            ProviderProtocolError: it cannot be understood.
        """
        ...


class SdkClient(Protocol):
    """The part of the `openai` and `anthropic` clients that is used."""

    def post(self, path: str, *, cast_to: Any, content: bytes, options: Any) -> Any:
        """Send a request."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


@dataclass(frozen=True, slots=True)
class WireProtocol:
    """A protocol, as functions.

    Attributes:
        path: appended to the base URL.
        errors: imports the SDK, for its exceptions.
        make_client: a client for this choice; loads the SDK.
        headers: what goes with each request beside the SDK's own.
        encode: the request's JSON body. The same messages always give the same bytes (cache markers apart).
        decoder: a new reader.
    """

    name: str
    path: str
    errors: Callable[[], SdkErrors]
    make_client: Callable[[ModelChoice], SdkClient]
    headers: Callable[[ModelChoice], Mapping[str, Any]]
    encode: Callable[[ModelRequest, ModelChoice], Mapping[str, Any]]
    decoder: Callable[[ModelChoice], Decoder]
