"""The Chat Completions protocol, streamed: OpenAI and every server that speaks like it.

The `openai` SDK owns the client, authentication and HTTP. The event stream is read raw: the SDK's objects cost
twenty times what the few fields that matter cost, and it would check the whole history again at each request.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from agent_core.errors import ProviderConnectionError, ProviderProtocolError, TurnInterrupted
from agent_core.providers.base import (
    Finished,
    FinishReason,
    ModelRequest,
    ReasoningDelta,
    StreamEvent,
    TextDelta,
    ToolCallArguments,
    ToolCallStarted,
    Usage,
    UsageReport,
)
from agent_core.providers.chat_messages import to_wire
from agent_core.providers.failures import Endpoint, readable, translated
from agent_core.providers.sse import DONE, data_lines

if TYPE_CHECKING:
    import openai

    from agent_core.providers.http import Abort

_LAST_READ_TIMEOUT = 0.5
_FINISH: dict[str, FinishReason] = {
    "stop": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "content_filter": "refusal",
}


class ChatCompletionsProvider:
    """A server at `endpoint.base_url` that speaks Chat Completions. Implements `Provider`."""

    def __init__(self, endpoint: Endpoint, api_key: str | None) -> None:
        self.name = endpoint.provider
        self._endpoint = endpoint
        self._api_key = api_key
        self._client: openai.OpenAI | None = None
        self._lock = threading.Lock()

    def stream(self, request: ModelRequest) -> ChatStream:
        """Begin a request; it is sent when the stream is iterated."""
        return ChatStream(self, request)

    def client(self) -> openai.OpenAI:
        """The SDK's client, made at first use."""
        with self._lock:
            if self._client is None:
                self._client = _make_client(self._endpoint.base_url, self._api_key)
            return self._client

    def warm(self) -> None:
        """Load the SDK and make the client."""
        self.client()

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            client, self._client = self._client, None
        if client is not None:
            client.close()

    @property
    def endpoint(self) -> Endpoint:
        """Where requests go."""
        return self._endpoint

    @property
    def secret(self) -> str | None:
        """The key, for taking it out of error texts."""
        return self._api_key


class ChatStream:
    """One streamed answer. Implements `ModelStream`."""

    def __init__(self, provider: ChatCompletionsProvider, request: ModelRequest) -> None:
        self._provider = provider
        self._request = request
        self._lock = threading.Lock()
        self._abort: Abort | None = None
        self._closed = False

    def close(self) -> None:
        """Give the answer up; a blocked read ends at once."""
        with self._lock:
            self._closed = True
            abort = self._abort
        if abort is not None:
            abort.abort()

    def __iter__(self) -> Iterator[StreamEvent]:
        abort = self._begin()
        finished: FinishReason | None = None
        with translated(self._provider.endpoint, self._request.model, self._provider.secret), abort.watching():
            for payload in self._payloads(abort):
                for event in _understood(payload, self._provider.endpoint):
                    if isinstance(event, Finished):
                        finished = finished or event.reason
                    else:
                        yield event
        if finished is None:
            raise ProviderConnectionError(
                f"{self._provider.endpoint} broke off its answer before it was complete. Send the prompt again."
            )
        yield Finished(finished)

    def _begin(self) -> Abort:
        from agent_core.providers.http import Abort  # noqa: PLC0415 - loads the HTTP library

        with self._lock:
            if self._closed:
                raise TurnInterrupted
            self._abort = Abort()
            return self._abort

    def _payloads(self, abort: Abort) -> Iterator[dict[str, Any]]:
        import httpx2  # noqa: PLC0415

        body = json.dumps(_body(self._request, self._provider.endpoint), ensure_ascii=False).encode(
            "utf-8", "replace"
        )
        response = self._provider.client().post(
            "/chat/completions",
            content=body,
            cast_to=httpx2.Response,
            # The header asks the SDK for the response as it is, its body unread.
            options={"headers": _headers(self._provider.secret)},
        )
        silent, done = True, False
        try:
            for data in data_lines(response.iter_bytes()):
                silent = False
                if data == DONE:
                    # Read on to the end of the body: only then can the connection serve the next request. But the
                    # answer is complete, so that an end that does not come is not waited for.
                    done, abort.patience = True, _LAST_READ_TIMEOUT
                    yield {"choices": [{"finish_reason": "stop"}]}
                else:
                    yield _decode(data, self._provider.endpoint, self._provider.secret)
        except httpx2.TransportError:
            if not done:
                raise
        finally:
            response.close()
        kind = response.headers.get("content-type", "")
        if silent and not kind.startswith("text/event-stream"):
            raise ProviderProtocolError(
                f"{self._provider.endpoint} did not answer with a stream of events but with {kind or 'nothing'}. "
                "Check that model.base_url is the address of a Chat Completions API (it often ends in /v1)."
            )


def _make_client(base_url: str, api_key: str | None) -> openai.OpenAI:
    import openai  # noqa: PLC0415 - half a second: only when a model is really asked

    from agent_core.providers.http import CONNECT_TIMEOUT, READ_TIMEOUT, make_client  # noqa: PLC0415

    return openai.OpenAI(
        base_url=base_url,
        api_key=api_key or "none",
        max_retries=0,
        timeout=openai.Timeout(READ_TIMEOUT, connect=CONNECT_TIMEOUT),
        http_client=make_client(),
    )


def _headers(api_key: str | None) -> dict[str, Any]:
    import openai  # noqa: PLC0415

    # What the environment says of OpenAI accounts is not for whichever server is asked here.
    ambient = (line.partition(":")[0].strip() for line in os.environ.get("OPENAI_CUSTOM_HEADERS", "").split("\n"))
    unwanted = ("OpenAI-Organization", "OpenAI-Project", *ambient)
    headers: dict[str, Any] = {name: openai.Omit() for name in unwanted if name and name.lower() != "authorization"}
    # The key is named here again: the SDK asks for it, or for its omission, at each request.
    headers["Authorization"] = f"Bearer {api_key}" if api_key else openai.Omit()
    return {**headers, "X-Stainless-Raw-Response": "stream", "Content-Type": "application/json"}


def _body(request: ModelRequest, endpoint: Endpoint) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": request.model,
        "messages": to_wire(request.messages),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if request.tools:
        body["tools"] = list(request.tools)
    if request.max_tokens is not None:
        body["max_completion_tokens" if endpoint.host == "api.openai.com" else "max_tokens"] = request.max_tokens
    return body


def _decode(data: bytes, endpoint: Endpoint, secret: str | None) -> dict[str, Any]:
    try:
        payload = json.loads(data)
    except ValueError as problem:
        raise ProviderProtocolError(f"{endpoint} sent something that is not JSON in its answer.") from problem
    if not isinstance(payload, dict):
        raise ProviderProtocolError(f"{endpoint} sent JSON that is not an object in its answer.")
    if failure := payload.get("error"):
        text = failure.get("message") or failure.get("code") if isinstance(failure, dict) else failure
        raise ProviderProtocolError(
            f"{endpoint} reported an error in the middle of its answer: «{readable(str(text), secret)}». "
            "Send the prompt again."
        )
    return payload


def _understood(payload: dict[str, Any], endpoint: Endpoint) -> list[StreamEvent]:
    try:
        return list(_events(payload))
    except (AttributeError, KeyError, TypeError, ValueError) as problem:
        raise ProviderProtocolError(
            f"{endpoint} sent an answer that does not follow the Chat Completions protocol."
        ) from problem


def _events(payload: dict[str, Any]) -> Iterator[StreamEvent]:
    for choice in (payload.get("choices") or ())[:1]:
        yield from _delta_events(choice.get("delta") or {})
        if reason := choice.get("finish_reason"):
            yield Finished(_FINISH.get(reason, "stop"))
    if usage := payload.get("usage"):
        yield UsageReport(_usage(usage))


def _delta_events(delta: dict[str, Any]) -> Iterator[StreamEvent]:
    if reasoning := delta.get("reasoning_content") or delta.get("reasoning"):
        yield ReasoningDelta(str(reasoning))
    if text := delta.get("content") or delta.get("refusal"):
        yield TextDelta(str(text))
    for position, call in enumerate(delta.get("tool_calls") or ()):
        index = call.get("index")
        index = int(position if index is None else index)
        function = call.get("function") or {}
        if name := function.get("name"):
            yield ToolCallStarted(index, str(call.get("id") or ""), str(name))
        if arguments := function.get("arguments"):
            # Some servers send the arguments as an object, not as text.
            yield ToolCallArguments(index, arguments if isinstance(arguments, str) else json.dumps(arguments))


def _usage(usage: dict[str, Any]) -> Usage:
    prompt = usage.get("prompt_tokens_details") or {}
    completion = usage.get("completion_tokens_details") or {}
    return Usage(
        input_tokens=_count(usage.get("prompt_tokens")),
        output_tokens=_count(usage.get("completion_tokens")),
        cached_tokens=_count(prompt.get("cached_tokens")),
        reasoning_tokens=_count(completion.get("reasoning_tokens")),
    )


def _count(value: object) -> int | None:
    """A number of tokens; whatever else a server sends counts as unknown."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
