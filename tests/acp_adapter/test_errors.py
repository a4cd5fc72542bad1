"""Errors on their way to the client: the right code, one line, and nothing that is not its business."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field, ValidationError

from acp_adapter.jsonrpc import make_error, sanitised, wire_error
from agent_core.errors import (
    AuthRequired,
    HermesError,
    ProviderConnectionError,
    RequestError,
    SettingsError,
    StoreError,
    UnknownSession,
)
from tests.support.each import each


@each(
    ("problem", "code"),
    [
        (AuthRequired("no model"), -32000),
        (UnknownSession("s"), -32002),
        (RequestError("bad"), -32602),
        (SettingsError("config.yaml"), -32603),
        (StoreError("full"), -32603),
        (ProviderConnectionError("down"), -32603),
        (HermesError("other"), -32603),
    ],
)
def test_our_own_errors_keep_their_text(problem: HermesError, code: int) -> None:
    assert wire_error(problem) == {"code": code, "message": problem.public, "data": {"details": problem.public}}


@pytest.mark.parametrize("problem", [ValueError("secret"), KeyError("secret"), OSError("/secret"), TimeoutError()])
def test_an_unexpected_error_shows_nothing_of_itself(problem: Exception) -> None:
    error = wire_error(problem)
    assert error["code"] == -32603
    assert "secret" not in json.dumps(error)
    assert "hermes-acp.log" in error["message"]


def test_a_text_of_several_lines_becomes_one() -> None:
    error = make_error(-32603, "one\n  two\t three\r\n")
    assert error["message"] == error["data"]["details"] == "one two three"


class _Text(BaseModel):
    type: Literal["text"]
    text: str


class _Image(BaseModel):
    type: Literal["image"]
    data: str


class _Params(BaseModel):
    cwd: str
    count: int = Field(0, ge=0)
    block: _Text | _Image | None = Field(None, discriminator="type")


@each(
    ("params", "where"),
    [
        ({}, "cwd"),
        ({"cwd": ["my-secret"]}, "cwd"),
        ({"cwd": "/", "count": "my-secret"}, "count"),
        ({"cwd": "/", "count": -5}, "count"),
        ({"cwd": "/", "block": {"type": "my-secret"}}, "block"),
        ({"cwd": "/", "block": {"type": "text", "text": 7}}, "block.text.text"),
    ],
)
def test_what_a_model_refuses_is_told_without_the_value_and_without_links(params: Any, where: str) -> None:
    with pytest.raises(ValidationError) as refused:
        _Params.model_validate(params)
    raw = {"code": -32602, "message": "Invalid params", "data": {"errors": refused.value.errors()}}
    error = sanitised(raw)
    assert error["code"] == -32602
    assert error["message"].startswith(f"Invalid params: {where}: ")
    text = json.dumps(error)
    assert "secret" not in text
    assert "http" not in text
    assert "\n" not in error["message"]


@pytest.mark.parametrize("errors", [["text"], [{}], [{"loc": (), "msg": "bad"}], []])
def test_error_lists_of_an_unknown_form_are_survived(errors: list[Any]) -> None:
    error = sanitised({"code": -32602, "message": "Invalid params", "data": {"errors": errors}})
    assert error["message"].startswith("Invalid params:")


def test_an_unknown_method_is_named() -> None:
    error = sanitised({"code": -32601, "message": "Method not found", "data": {"method": "x/y"}})
    assert error["message"] == "There is no method 'x/y' here."
    assert sanitised({"code": -32601, "message": ""})["message"] == "Method not found."


def test_our_own_errors_pass_as_they_are() -> None:
    for problem in (UnknownSession("s"), SettingsError("bad"), ValueError("x")):
        assert sanitised(dict(wire_error(problem))) == wire_error(problem)


@each(
    "raw",
    [
        {"code": -32603, "message": "Internal error", "data": {"details": "Traceback …\nsecret"}},
        {"code": -32603, "message": "Internal error", "data": {"anything": "secret"}},
        {"code": -32603, "message": "secret\nsecret"},
        "secret",
        None,
    ],
)
def test_a_librarys_own_failure_shows_nothing_of_itself(raw: Any) -> None:
    assert sanitised(raw) == wire_error(ValueError())


def test_other_errors_of_a_library_keep_code_and_message() -> None:
    error = sanitised({"code": -32602, "message": "Invalid\nparams", "data": "secret"})
    assert error == make_error(-32602, "Invalid params")
