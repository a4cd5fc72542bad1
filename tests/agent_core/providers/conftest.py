"""Providers that are closed at the end of the test."""

from __future__ import annotations

import pytest

from agent_core.model_request.fallback_chain import make_provider
from agent_core.providers.base import ModelRequest
from agent_core.providers.http_provider import joined
from tests.support.choices import choice_for

KEY = "sk-test-0123456789"


@pytest.fixture
def connect(model_server):
    """Make a provider, by default for the fake server and with a key."""
    made = []

    def connect(base_url: str | None = None, key: str | None = KEY, name: str = "custom", **options):
        made.append(
            make_provider(choice_for(base_url or model_server.base_url, provider=name, api_key=key, **options))
        )
        return made[-1]

    yield connect
    for provider in made:
        provider.close()


@pytest.fixture
def ask(connect):
    """All events of the answer to one question, from a provider of its own or from the given one.

    What comes at once is one event: here it all is, however the network has cut it.
    """

    def ask(provider=None, messages=None, model="test-model", **options):
        question = messages or [{"role": "user", "content": "hello"}]
        stream = (provider or connect()).stream(ModelRequest(model, question, **options))
        try:
            return list(joined(stream))
        finally:
            stream.close()

    return ask
