"""Providers for a fake Bedrock that are closed at the end of the test."""

from __future__ import annotations

import pytest

from agent_core.messages import user_message
from agent_core.model_request.fallback_chain import make_provider
from agent_core.providers.base import (
    ModelRequest,
)
from tests.support.certificates import make_certificates
from tests.support.choices import choice_for

KEY = "bedrock-api-key-0123456789"
MODEL = "us.anthropic.claude-3-7-sonnet-20250219-v1:0"
REQUEST = ModelRequest(MODEL, [user_message("hello")])


@pytest.fixture
def connect_bedrock(bedrock_server):
    made = []

    def connect(base_url=None, key=KEY, **options):
        address = bedrock_server.url if base_url is None else base_url
        options = {"provider": "bedrock", "model": MODEL, **options}
        made.append(make_provider(choice_for(address, api_mode="bedrock_converse", api_key=key, **options)))
        return made[-1]

    yield connect
    for provider in made:
        provider.close()


@pytest.fixture
def ask_bedrock(connect_bedrock):
    def ask(provider=None, **options):
        return list((provider or connect_bedrock()).stream(ModelRequest(MODEL, [user_message("hello")], **options)))

    return ask


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    return make_certificates(tmp_path_factory.mktemp("certificates"))
