"""What the vendors' clients send to each cloud, with which sign-in, and what a person reads where there is none."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from agent_core.errors import ProviderConnectionError, ProviderStatusError, SettingsError, SignInFailed
from agent_core.providers import bedrock
from agent_core.providers import sdk_provider as signing
from agent_core.providers.base import TextDelta
from agent_core.providers.errors import classify
from tests.agent_core.providers.sdk.conftest import BEDROCK, CLOUDS, ENTRA, FOUNDRY, KEY, MODEL, VERTEX, Way
from tests.support.bedrock_server import frame
from tests.support.fake_sign_ins import KEY_ID, PROJECT, SESSION, TOKEN
from tests.support.model_server import Garbage, Reply
from tests.support.settings_files import use_model
from tools.errors import install_line

EACH_CLOUD = pytest.mark.parametrize("way", CLOUDS, ids=lambda way: way.name)


def test_azure_openai_is_asked_with_a_token_of_entra_id(model_server, ask, sign_ins):
    model_server.add(Reply("fine"))
    ask(ENTRA)
    request = model_server.requests[0]
    assert request.path == "/openai/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {TOKEN}"
    assert "api-key" not in request.headers
    assert sign_ins.scopes() == ["https://cognitiveservices.azure.com"]


def test_claude_on_foundry_is_asked_with_a_token_of_entra_id(model_server, ask, sign_ins):
    model_server.add(Reply("fine"))
    ask(FOUNDRY)
    request = model_server.requests[0]
    assert request.path == "/anthropic/v1/messages"
    assert request.headers["authorization"] == f"Bearer {TOKEN}"
    assert request.headers["anthropic-version"] == "2023-06-01"
    assert "x-api-key" not in request.headers
    assert sign_ins.scopes() == ["https://ai.azure.com"]


def test_claude_on_foundry_is_asked_with_a_key_where_there_is_one(model_server, connect, ask, sign_ins):
    model_server.add(Reply("fine"))
    ask(connect(FOUNDRY, api_key=KEY))
    headers = model_server.requests[0].headers
    assert headers["x-api-key"] == KEY
    assert "authorization" not in headers
    assert sign_ins.asked == []


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("/v1", f"/v1/projects/{PROJECT}/locations/global"),
        ("/v1/projects/other/locations/europe-west1", "/v1/projects/other/locations/europe-west1"),
    ],
)
def test_claude_on_vertex_is_asked_in_the_project_of_the_address_or_of_the_sign_in(
    model_server, connect, ask, path, asked
):
    model_server.add(Reply("fine"))
    ask(connect(VERTEX, base_url=f"http://127.0.0.1:{model_server.port}{path}"))
    request = model_server.requests[0]
    assert request.path == f"{asked}/publishers/anthropic/models/{MODEL}:streamRawPredict"
    assert request.headers["authorization"] == f"Bearer {TOKEN}"
    assert request.body["anthropic_version"] == "vertex-2023-10-16"
    assert "model" not in request.body


def test_without_a_project_vertex_is_not_asked(model_server, connect, ask, tmp_path):
    provider, account = connect(VERTEX), tmp_path / "service-account.json"
    account.write_text(json.dumps(json.loads(account.read_text()) | {"project_id": None}))
    with pytest.raises(SettingsError, match="ANTHROPIC_VERTEX_PROJECT_ID"):
        ask(provider)
    assert model_server.requests == []


def test_claude_on_bedrock_is_asked_with_a_signature(model_server, ask, monkeypatch):
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "key-of-the-environment")
    model_server.add(Reply("fine"))
    ask(BEDROCK)
    request = model_server.requests[0]
    assert request.path == f"/model/{MODEL}/invoke-with-response-stream"
    assert request.headers["authorization"].startswith(f"AWS4-HMAC-SHA256 Credential={KEY_ID}/")
    assert "/eu-west-3/bedrock/aws4_request" in request.headers["authorization"]
    assert request.headers["x-amz-security-token"] == SESSION
    assert request.body["anthropic_version"] == "bedrock-2023-05-31"
    assert "key-of-the-environment" not in str(request.headers)


def test_claude_on_bedrock_is_asked_with_a_key_where_there_is_one(model_server, connect, ask, sign_ins):
    model_server.add(Reply("fine"))
    ask(connect(BEDROCK, api_key=KEY))
    assert model_server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert sign_ins.asked == []


@pytest.mark.parametrize(
    ("kind", "status", "reason"),
    [("throttlingException", 429, "rate_limit"), ("internalServerException", 500, "server_error")],
)
def test_a_failure_in_bedrocks_stream_has_its_status_and_hides_the_token(
    model_server, connect, ask, kind, status, reason
):
    body = frame(kind, {"message": f"too much of {SESSION}"}, "exception")
    model_server.add(Garbage(body, bedrock.CONTENT_TYPE))
    provider = connect(BEDROCK)
    with pytest.raises(ProviderStatusError, match="too much of") as caught:
        ask(provider)
    assert caught.value.status == status
    assert SESSION not in f"{caught.value.public} {caught.value.body}"
    assert classify(caught.value, provider.choice).reason == reason


@EACH_CLOUD
def test_a_sign_in_is_asked_once_for_several_requests(model_server, connect, ask, sign_ins, way: Way):
    model_server.add(Reply("one"), Reply("two"))
    provider = connect(way)
    assert TextDelta("one") in ask(provider)
    assert TextDelta("two") in ask(provider)
    assert len(sign_ins.asked) == 1


@EACH_CLOUD
def test_a_sign_in_that_is_refused_says_what_to_do(model_server, connect, ask, sign_ins, way: Way):
    sign_ins.refusal = (400, {"error": "invalid_grant", "error_description": "the account is gone"})
    provider = connect(way)
    with pytest.raises(SignInFailed) as caught:
        ask(provider)
    told = classify(caught.value, provider.choice)
    step = {"entra": "az login", "google": "gcloud auth application-default login", "aws": "aws sso login"}
    for text in (caught.value.public, told.public_message):
        assert "was not asked" in text
        assert step[way.options["sign_in"]] in text
        assert "api_key" not in text
    assert (told.reason, told.retryable, told.should_fallback) == ("auth", False, True)
    assert model_server.requests == []


def test_without_anything_to_sign_in_with_a_person_reads_what_to_do(connect, ask, monkeypatch):
    monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "EnvironmentCredential")
    with pytest.raises(SignInFailed, match=r"Microsoft Entra ID failed .*az login"):
        ask(ENTRA)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere/account.json")
    with pytest.raises(SignInFailed, match=r"Google Cloud failed .*nowhere.*gcloud auth"):
        ask(VERTEX)


@pytest.mark.parametrize(
    ("way", "name", "value"),
    [
        (ENTRA, "AZURE_TOKEN_CREDENTIALS", "NoSuchCredential"),
        (VERTEX, "GOOGLE_APPLICATION_CREDENTIALS", __file__),
        (BEDROCK, "AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://metadata.example/"),
        (BEDROCK, "AWS_PROFILE", "no-such-profile"),
    ],
)
def test_settings_of_a_sign_in_that_make_no_sense_are_told_as_such(connect, ask, monkeypatch, way: Way, name, value):
    monkeypatch.setenv(name, value)
    with pytest.raises(SignInFailed, match="was not asked"):
        ask(way)


def test_a_sign_in_that_gives_no_answer_is_given_up(connect, ask, sign_ins, monkeypatch):
    monkeypatch.setattr(signing, "SIGN_IN_SECONDS", 0.1)
    sign_ins.gate.clear()
    with pytest.raises(ProviderConnectionError, match="Microsoft Entra ID gave no answer") as caught:
        ask(ENTRA)
    assert caught.value.fault == "timeout"


_LOADED = """
import json, sys
from pathlib import Path
from agent_core.config import load
from agent_core.home import Home
from agent_core.messages import user_message
from agent_core.providers.base import ModelRequest
from agent_core.model_request.fallback_chain import make_provider
from agent_core.providers.resolve import resolve_model

provider = make_provider(resolve_model(load(Home(Path(sys.argv[1])))))
made = set(sys.modules)
list(provider.stream(ModelRequest("test-model", [user_message("hello")])))
rare = ("openai", "anthropic", "azure", "google", "boto3", "botocore")
print(json.dumps([[name for name in rare if name in loaded] for loaded in (made, set(sys.modules))]))
"""


@pytest.mark.parametrize(("transport", "loaded"), [("http", []), ("sdk", ["openai"])])
def test_an_sdk_is_loaded_only_where_it_is_configured_and_with_the_first_request(
    home, model_server, transport, loaded
):
    use_model(home, model_server, model={"transport": transport})
    model_server.add(Reply("fine"))
    run = subprocess.run(
        [sys.executable, "-c", _LOADED, str(home)], capture_output=True, check=True, text=True, timeout=60
    )
    assert json.loads(run.stdout) == [[], loaded]


def test_without_amazons_library_claude_on_bedrock_is_not_asked_with_a_key_either(connect, monkeypatch):
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(SettingsError) as caught:
        connect(BEDROCK, api_key=KEY)
    assert install_line("bedrock") in str(caught.value)


def test_warming_asks_nobody(model_server, connect, sign_ins):
    connect(VERTEX).warm()
    assert (model_server.requests, sign_ins.asked) == ([], [])
