"""The Messages protocol, streamed: Anthropic and every server that speaks like it.

Source: platform.claude.com/docs/en/api/messages.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agent_core.providers.base import ModelRequest
from agent_core.providers.choice import ModelChoice
from agent_core.providers.wire.anthropic_blocks import mark, to_blocks
from agent_core.providers.wire.anthropic_decoder import MessagesDecoder
from agent_core.providers.wire.anthropic_thinking import thinking
from agent_core.providers.wire.failures import SdkErrors
from agent_core.providers.wire.parts import fitting
from agent_core.providers.wire.protocol import WireProtocol

if TYPE_CHECKING:
    import anthropic

# The one that every server knows; a newer one can be set in the headers of a provider's settings.
_VERSION = "2023-06-01"
_HOTTEST = 1.0


def _errors() -> SdkErrors:
    import anthropic  # noqa: PLC0415 - seconds: only when a model is really asked

    return SdkErrors(
        anthropic.APIStatusError, anthropic.APITimeoutError, anthropic.APIConnectionError, anthropic.AnthropicError
    )


def _make_client(choice: ModelChoice) -> anthropic.Anthropic:
    import anthropic  # noqa: PLC0415

    from agent_core.providers.wire.http import CONNECT_TIMEOUT, READ_TIMEOUT, make_client  # noqa: PLC0415

    # What the environment adds to each request is not for whichever server is asked here.
    ambient = (line.partition(":") for line in os.environ.get("ANTHROPIC_CUSTOM_HEADERS", "").split("\n"))
    unwanted: dict[str, Any] = {name.strip(): anthropic.Omit() for name, colon, _ in ambient if colon}
    return anthropic.Anthropic(
        base_url=choice.base_url.rstrip("/").removesuffix("/v1"),
        # With a key of ours the SDK looks for no other, neither in the environment nor in profiles.
        api_key=choice.api_key or "none",
        max_retries=0,
        timeout=anthropic.Timeout(READ_TIMEOUT, connect=CONNECT_TIMEOUT),
        default_headers=unwanted,
        open_telemetry=False,
        http_client=make_client(),
    )


def _headers(choice: ModelChoice) -> Mapping[str, Any]:
    """The key in the header where the server looks for it."""
    import anthropic  # noqa: PLC0415

    # The SDK sends no request that neither has a key nor says that it has none.
    headers: dict[str, Any] = {"anthropic-version": _VERSION, "Authorization": anthropic.Omit()}
    if choice.api_key and choice.dialect.auth == "bearer":
        headers["Authorization"] = f"Bearer {choice.api_key}"
    elif choice.api_key:
        headers[choice.dialect.auth] = choice.api_key
    return headers


def _encode(request: ModelRequest, choice: ModelChoice) -> dict[str, Any]:
    plan = thinking(request, choice)
    system, messages = to_blocks(fitting(request.messages, choice), choice.wrote if plan.sends_back else lambda _: ())
    if request.cache_ttl is not None:
        mark(system, messages, request.cache_ttl)
    body: dict[str, Any] = {"model": request.model, "max_tokens": plan.max_tokens, "stream": True}
    if system:
        body["system"] = system
    if request.tools:
        body["tools"] = [_tool(tool["function"]) for tool in request.tools]
    if request.temperature is not None and plan.sampling:
        body["temperature"] = min(request.temperature, _HOTTEST)
    return {**body, **plan.fields, "messages": messages}


def _tool(function: Mapping[str, Any]) -> dict[str, Any]:
    tool = {"name": function["name"], "input_schema": function.get("parameters") or {"type": "object"}}
    return tool | ({"description": function["description"]} if function.get("description") else {})


ANTHROPIC_MESSAGES = WireProtocol(
    "Anthropic Messages", "/v1/messages", _errors, _make_client, _headers, _encode, MessagesDecoder
)
