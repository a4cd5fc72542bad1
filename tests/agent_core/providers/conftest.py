"""Providers that are closed at the end of the test."""

from __future__ import annotations

import pytest

from agent_core.providers.base import ModelRequest
from agent_core.providers.chat_completions import ChatCompletionsProvider
from agent_core.providers.failures import Endpoint

KEY = "sk-test-0123456789"


@pytest.fixture
def connect(model_server):
    """Make a provider, by default for the fake server and with a key."""
    made = []

    def connect(base_url: str | None = None, key: str | None = KEY, name: str = "custom") -> ChatCompletionsProvider:
        made.append(ChatCompletionsProvider(Endpoint(name, base_url or model_server.base_url), key))
        return made[-1]

    yield connect
    for provider in made:
        provider.close()


@pytest.fixture
def ask(connect):
    """All events of the answer to one question, from a provider of its own or from the given one."""

    def ask(provider=None, messages=None, model="test-model", **options):
        question = messages or [{"role": "user", "content": "hello"}]
        stream = (provider or connect()).stream(ModelRequest(model, question, **options))
        try:
            return list(stream)
        finally:
            stream.close()

    return ask
