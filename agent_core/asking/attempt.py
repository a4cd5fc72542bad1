"""One model request: streams the answer to the listeners and collects it. An interrupt ends it at once."""

from __future__ import annotations

from agent_core.asking.reply import Collector, Reply
from agent_core.errors import ProviderError, TurnInterrupted
from agent_core.interrupt import CancelToken
from agent_core.providers.base import ModelRequest, Provider


def ask_once(provider: Provider, request: ModelRequest, token: CancelToken, collector: Collector) -> Reply:
    """Ask and collect; after a failure or a cancel `collector` still has what had arrived.

    Raises:
        TurnInterrupted: the turn was cancelled.
        ProviderError: the request failed.
    """
    stream = provider.stream(request)
    forget = token.on_cancel(stream.close)
    try:
        for event in stream:
            if token.is_set():
                raise TurnInterrupted
            collector.take(event)
            if collector.finish == "oversized":
                break
    except ProviderError:
        if token.is_set():
            raise TurnInterrupted from None
        raise
    finally:
        forget()
        stream.close()
    if token.is_set():
        raise TurnInterrupted
    return collector.reply()
