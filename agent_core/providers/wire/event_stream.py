"""Amazon's binary framing of event streams, read with its own library, which is loaded with its client."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from agent_core.errors import ProviderProtocolError, ProviderStatusError
from agent_core.providers.choice import ModelChoice
from agent_core.providers.wire.failures import readable, without_token
from agent_core.providers.wire.sse import LONGEST_PIECE, PieceTooLong

CONTENT_TYPE = "application/vnd.amazon.eventstream"
_STATUS = {
    "validationException": 400,
    "accessDeniedException": 403,
    "modelTimeoutException": 408,
    "modelStreamErrorException": 424,
    "modelErrorException": 424,
    "throttlingException": 429,
    "modelNotReadyException": 429,
    "internalServerException": 500,
    "serviceUnavailableException": 503,
}


def messages(pieces: Iterable[bytes], choice: ModelChoice) -> Iterator[Any]:
    """The stream's messages (`botocore.eventstream.EventStreamMessage`).

    Raises:
        PieceTooLong: one is longer than any is read.
        ProviderProtocolError: what comes is not in this framing.
    """
    from botocore.eventstream import EventStreamBuffer, ParserError  # noqa: PLC0415 - loaded with the client

    frames, waiting = EventStreamBuffer(), 0
    for piece in pieces:
        frames.add_data(piece)
        waiting += len(piece)
        try:
            found = list(frames)
        except (ParserError, struct.error, LookupError, ValueError) as problem:
            raise ProviderProtocolError(
                f"{choice.endpoint} sent something that is no event of Bedrock's in its answer."
            ) from problem
        if found:
            waiting = 0
        elif waiting > LONGEST_PIECE:
            raise PieceTooLong
        yield from found


def error_in(headers: Mapping[str, Any], payload: bytes, choice: ModelChoice) -> ProviderStatusError | None:
    """The error that a message of the stream reports; None for an event."""
    if headers.get(":message-type") == "event":
        return None
    # An exception is in the service's model; an error is what went wrong on the way and has no payload.
    kind = str(headers.get(":exception-type") or headers.get(":error-code") or "unknown")
    said, status = str(headers.get(":error-message") or ""), _STATUS.get(_small(kind))
    try:
        said = str(json.loads(payload)["message"])
    except (ValueError, KeyError, TypeError):
        said = said or payload.decode("utf-8", "replace")
    quoted = readable(said, choice.api_key)
    return ProviderStatusError(
        f"{choice.endpoint} reported an error in the middle of its answer ({kind}): «{quoted}». "
        "Send the prompt again.",
        status,
        without_token(json.dumps({"__type": kind, "message": said}, ensure_ascii=False), choice),
    )


def _small(kind: str) -> str:
    return kind[:1].lower() + kind[1:]
