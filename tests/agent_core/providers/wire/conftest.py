"""A fake Bedrock, and providers for it that are closed at the end of the test."""

from __future__ import annotations

import pytest

from agent_core.messages import user_message
from agent_core.providers.base import (
    ModelRequest,
)
from agent_core.providers.make import make_provider
from tests.support.bedrock_server import BedrockServer
from tests.support.choices import choice_for

KEY = "bedrock-api-key-0123456789"
SECRET = "wJalr/secret/0123456789"
MODEL = "us.anthropic.claude-3-7-sonnet-20250219-v1:0"
REQUEST = ModelRequest(MODEL, [user_message("hello")])


@pytest.fixture
def aws_settings(monkeypatch, tmp_path):
    """Credentials of the test's own, and nothing else of this machine's."""
    for name in (
        "AWS_PROFILE",
        "AWS_DEFAULT_REGION",
        "AWS_BEARER_TOKEN_BEDROCK",
        "AWS_SESSION_TOKEN",
        "AWS_CA_BUNDLE",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_REGION", "eu-west-3")


@pytest.fixture
def bedrock_server(aws_settings):
    with BedrockServer() as server:
        yield server


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
