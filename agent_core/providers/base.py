"""The seam between the agent and any model: a request goes in, a stream of typed events comes out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any, Literal, Protocol

from agent_core.messages import Message
from tools.light_dataclass import dataclass

ApiMode = Literal["chat_completions", "anthropic_messages", "codex_responses", "bedrock_converse", "offline"]
FinishReason = Literal["stop", "tool_calls", "length", "refusal", "oversized", "unknown"]
ReasoningEffort = Literal["none", "minimal", "low", "medium", "high", "xhigh"]
CacheTtl = Literal["5m", "1h"]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One question to a model.

    Attributes:
        tools: OpenAI function definitions.
        max_tokens: bounds the answer; None leaves it to the server, or to the model's own limit where the protocol
            wants a number.
        reasoning: how much the model should think; None leaves it to the server.
        temperature: None leaves it to the server; models that take none are not sent one.
        cache_ttl: how long the server should keep the prefix, where the protocol lets us say so; None for a question
            that is asked once, whose prefix is not worth the price of keeping it.
        words_only: whatever tools the answer calls, they are not run. It is not sent: a server could leave the tools
            out of the prompt then, and its cache would be lost.
        session_id: groups a session's requests for servers that keep prefixes by key.
        without: what this request leaves out, as lessons by their names (`lessons.adapted`).
    """

    model: str
    messages: Sequence[Message]
    tools: Sequence[dict[str, Any]] = ()
    max_tokens: int | None = None
    reasoning: ReasoningEffort | None = None
    temperature: float | None = None
    cache_ttl: CacheTtl | None = "5m"
    session_id: str = ""
    words_only: bool = False
    without: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """More of the model's reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolCallStarted:
    """A tool call begins; its arguments follow. `index` tells parallel calls apart."""

    index: int
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class ToolCallArguments:
    """More of a tool call's arguments (JSON text)."""

    index: int
    text: str


@dataclass(frozen=True, slots=True)
class ProviderItem:
    """A piece of the answer that only this server understands (signed or sealed reasoning).

    It is kept with the message and sent back to the same model as it came.

    Attributes:
        call: the index of the tool call that it belongs to; None for one of the whole answer.
    """

    item: dict[str, Any]
    call: int | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one request; None where the provider does not say.

    Attributes:
        input_tokens: all of the prompt, whether it was cached or not.
        cached_tokens: the part of the prompt that was read from the server's cache.
        written_tokens: the part of the prompt that was written to the cache, where that has a price of its own.
        output_tokens: all of the answer, reasoning included.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None
    written_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class UsageReport:
    """The provider's count for this request."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class Finished:
    """The answer has ended, and why.

    Attributes:
        reason: `oversized`: more came than is kept of an answer, or in one piece; `unknown`: the server's word for it
            means nothing known, so that nobody can say whether the answer is complete.
        word: that word.
    """

    reason: FinishReason
    word: str = ""


StreamEvent = TextDelta | ReasoningDelta | ToolCallStarted | ToolCallArguments | ProviderItem | UsageReport | Finished


class ModelStream(Protocol):
    """The answer as it arrives."""

    def __iter__(self) -> Iterator[StreamEvent]:
        """Events in order.

        Raises:
            ProviderError: the request failed.
        """
        ...

    def close(self) -> None:
        """Give the answer up, from any thread; a blocked read ends at once."""
        ...


class Provider(Protocol):
    """A model server, ready to be asked."""

    name: str

    def stream(self, request: ModelRequest) -> ModelStream:
        """Begin a request. Nothing is sent before the stream is iterated, so that `close` can always end it."""
        ...

    def warm(self) -> None:
        """Load what the first request needs; it may take a second."""
        ...

    def close(self) -> None:
        """Let go of connections."""
        ...


@dataclass(slots=True)
class ToolCallDraft:
    """A tool call while its arguments still arrive.

    Attributes:
        source_id: the server's own id, '' where it gave none.
        pieces: of its arguments, by the index under which they came: some servers give one call two.
    """

    id: str
    name: str
    source_id: str = ""
    pieces: dict[int, list[str]] = field(default_factory=dict)

    def arguments(self) -> str:
        """Their text so far; what came again under another index counts once."""
        return "".join(dict.fromkeys("".join(pieces) for pieces in self.pieces.values()))
