"""What goes to Bedrock and with whose credentials, and what the user reads where it is not answered."""

from __future__ import annotations

import json
import re
import sys

import pytest

from agent_core.errors import (
    ProviderConnectionError,
    ProviderProtocolError,
    ProviderStatusError,
    SettingsError,
)
from agent_core.messages import user_message
from agent_core.providers.base import (
    ModelRequest,
)
from tests.agent_core.providers.wire.conftest import KEY, MODEL
from tests.support.bedrock_server import SECRET, Stream, reply
from tests.support.model_replies import Status
from tools.errors import install_line


def test_the_request_names_the_model_in_its_path_and_the_rest_in_its_body(bedrock_server, connect_bedrock):
    bedrock_server.add(Stream(reply("hi")))
    model = "arn:aws:bedrock:eu-west-3:123456789012:inference-profile/eu.meta.llama:0"
    list(connect_bedrock().stream(ModelRequest(model, [user_message("hello")], max_tokens=9)))
    request = bedrock_server.requests[0]
    quoted = model.replace(":", "%3A").replace("/", "%2F")
    assert (request.method, request.path) == ("POST", f"/model/{quoted}/converse-stream")
    assert request.body == {
        "messages": [{"role": "user", "content": [{"text": "hello"}]}],
        "inferenceConfig": {"maxTokens": 9},
    }


def test_an_api_key_is_sent_as_a_bearer_token_and_nothing_of_the_environment(
    bedrock_server, connect_bedrock, ask_bedrock, monkeypatch
):
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "another-key")
    bedrock_server.add(Stream(reply("hi")))
    ask_bedrock(connect_bedrock(headers=(("X-Team", "blue"),)))
    headers = bedrock_server.requests[0].headers
    assert headers["authorization"] == f"Bearer {KEY}"
    assert headers["x-team"] == "blue"
    assert "AKIDEXAMPLE" not in str(headers)


@pytest.mark.parametrize(
    ("region", "variables"),
    [("eu-west-3", {}), ("us-west-2", {"AWS_REGION": "", "AWS_DEFAULT_REGION": "us-west-2"})],
)
def test_without_a_key_requests_are_signed_with_amazons_own_credentials(
    bedrock_server, connect_bedrock, ask_bedrock, monkeypatch, region, variables
):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    bedrock_server.add(Stream(reply("hi")))
    ask_bedrock(connect_bedrock(key=None))
    signature = bedrock_server.requests[0].headers["authorization"]
    assert signature.startswith("AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/")
    assert f"/{region}/bedrock/aws4_request" in signature


def test_amazons_key_of_the_environment_goes_to_amazon_only(
    bedrock_server, connect_bedrock, ask_bedrock, monkeypatch
):
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "another-key")
    bedrock_server.add(Stream(reply("hi")))
    ask_bedrock(connect_bedrock(key=None))
    assert "another-key" not in str(bedrock_server.requests[0].headers)


@pytest.mark.parametrize(
    "host",
    [
        "bedrock-runtime.us-west-2.amazonaws.com",
        "bedrock-runtime-fips.us-west-2.amazonaws.com",
        "vpce-0example.bedrock-runtime.us-west-2.vpce.amazonaws.com",
    ],
)
def test_the_region_of_the_address_counts_and_proxies_are_used(
    bedrock_server, connect_bedrock, ask_bedrock, monkeypatch, host
):
    monkeypatch.setenv("http_proxy", bedrock_server.url)
    bedrock_server.add(Stream(reply("hi")))
    ask_bedrock(connect_bedrock(f"http://{host}", key=None))
    request = bedrock_server.requests[0]
    assert request.path.startswith(f"http://{host}/model/")
    assert "/us-west-2/bedrock/" in request.headers["authorization"]


def test_without_an_address_the_region_makes_it(
    bedrock_server, connect_bedrock, ask_bedrock, monkeypatch, refused_port
):
    monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{refused_port}")
    with pytest.raises(ProviderConnectionError) as caught:
        ask_bedrock(connect_bedrock(""))
    assert caught.value.fault == "proxy"
    assert "bedrock" in caught.value.public


def test_without_a_region_the_user_is_told_what_to_set(connect_bedrock, ask_bedrock, monkeypatch):
    monkeypatch.delenv("AWS_REGION")
    with pytest.raises(SettingsError, match="AWS_REGION"):
        ask_bedrock(connect_bedrock("", key=None))


def test_without_credentials_the_user_is_told_what_to_set(connect_bedrock, ask_bedrock, monkeypatch):
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(ProviderStatusError, match="AWS_PROFILE") as caught:
        ask_bedrock(connect_bedrock(key=None))
    assert caught.value.status == 401
    assert json.loads(caught.value.body)["__type"] == "NoCredentialsError"


def test_a_profile_that_does_not_exist_is_named(connect_bedrock, ask_bedrock, monkeypatch):
    monkeypatch.setenv("AWS_PROFILE", "no-such-profile")
    with pytest.raises(ProviderStatusError, match="no-such-profile"):
        ask_bedrock(connect_bedrock(key=None))


def test_credentials_that_another_service_refuses_are_told_of_with_its_answer(
    bedrock_server, connect_bedrock, ask_bedrock, monkeypatch, tmp_path
):
    """A role whose session the token service does not give."""
    (tmp_path / "config").write_text(
        "[profile work]\nrole_arn = arn:aws:iam::123456789012:role/r\nsource_profile = base\n"
    )
    (tmp_path / "credentials").write_text("[base]\naws_access_key_id = AKIDEXAMPLE\naws_secret_access_key = s\n")
    monkeypatch.setenv("AWS_PROFILE", "work")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", f"{bedrock_server.url}/sts")
    refusal = "<Error><Code>AccessDenied</Code><Message>not you</Message></Error>"
    bedrock_server.add(Status(403, f"<ErrorResponse>{refusal}</ErrorResponse>"))
    with pytest.raises(ProviderStatusError, match="not you") as caught:
        ask_bedrock(connect_bedrock(key=None))
    assert caught.value.status == 403


def test_without_amazons_client_the_error_has_the_line_that_installs_it(connect_bedrock, monkeypatch):
    monkeypatch.setitem(sys.modules, "botocore", None)
    with pytest.raises(SettingsError, match=re.escape(install_line("bedrock"))):
        connect_bedrock()


@pytest.mark.parametrize(
    ("code", "kind", "step"),
    [
        (400, "ValidationException", "Check the model's name"),
        (403, "AccessDeniedException", "may not use this model"),
        (404, "ResourceNotFoundException", "model.base_url"),
        (408, "ModelTimeoutException", "Send the prompt again"),
        (424, "ModelErrorException", "Check the model's settings"),
        (429, "ThrottlingException", "wait a moment"),
        (500, "InternalServerException", "again later"),
        (503, "ServiceUnavailableException", "again later"),
    ],
)
def test_an_error_status_keeps_what_was_said_and_is_tried_once(bedrock_server, ask_bedrock, code, kind, step):
    bedrock_server.add(
        Status(code, {"message": f"the cause {KEY}"}, {"x-amzn-ErrorType": f"{kind}:http://internal.example/"})
    )
    with pytest.raises(ProviderStatusError, match="«the cause") as caught:
        ask_bedrock()
    assert (caught.value.status, json.loads(caught.value.body)) == (code, {"message": f"the cause {KEY}"})
    assert caught.value.headers["x-amzn-errortype"].startswith(kind)
    for part in (bedrock_server.url, MODEL, step):
        assert part in caught.value.public
    assert KEY not in caught.value.public
    assert len(bedrock_server.requests) == 1


def test_an_answer_that_is_no_stream_of_events_points_at_the_address(bedrock_server, ask_bedrock):
    bedrock_server.add(Stream([b"<html>"], content_type="text/html"))
    with pytest.raises(ProviderProtocolError, match=r"text/html.*model\.base_url"):
        ask_bedrock()


def test_a_server_that_is_not_there(connect_bedrock, ask_bedrock, refused_port):
    address = f"http://127.0.0.1:{refused_port}"
    with pytest.raises(ProviderConnectionError, match="refused") as caught:
        ask_bedrock(connect_bedrock(address))
    assert caught.value.fault == "connect"


def test_no_key_is_logged(bedrock_server, connect_bedrock, ask_bedrock, caplog):
    bedrock_server.add(Stream(reply("one")), Stream(reply("two")))
    with caplog.at_level("DEBUG"):
        ask_bedrock()
        ask_bedrock(connect_bedrock(key=None))
    for secret in (KEY, SECRET, "AKIDEXAMPLE"):
        assert secret not in caplog.text
