"""A server's question: what the person reads, and what the server gets."""

from __future__ import annotations

from typing import Any

import pytest

from agent_core.mcp.server_requests import NoForm, form_of, page_of
from tests.support.each import each
from tools.agent_ports import Field, PersonPage


def form(properties: dict[str, Any], message: str = "Well?", required: tuple[str, ...] = ()) -> Any:
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return form_of("srv", {"message": message, "requestedSchema": schema})


def test_each_kind_of_field_is_one_of_ours() -> None:
    found = form(
        {
            "name": {"type": "string", "title": "Name", "description": "Yours", "default": "me"},
            "many": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A!"}, {"const": "b"}]}},
            "one": {"type": "string", "oneOf": [{"const": "x", "title": "The x"}], "default": "x"},
            "yes": {"type": "boolean", "default": True},
            "size": {"type": "number"},
        },
        required=("name",),
    )
    assert found.question.text == "The MCP server srv asks: Well?"
    assert found.question.fields == (
        Field("name", "Name", description="Yours", other=False, default="me"),
        Field("many", "many", "choices", choices=("A!", "b"), other=False, required=False),
        Field("one", "one", "choice", choices=("The x",), other=False, required=False, default="The x"),
        Field("yes", "yes", "boolean", other=False, required=False, default=True),
        Field("size", "size", "number", other=False, required=False),
    )
    assert found.content({"many": ("A!", "b"), "one": "The x", "yes": False}) == {
        "many": ["a", "b"],
        "one": "x",
        "yes": False,
    }


@each(
    "name, schema",
    [
        ("password", {"title": "Your favourite colour"}),
        ("apiKey", {}),
        ("GITHUB_TOKEN", {"title": "GitHub"}),
        ("it", {"title": "Token"}),
        ("it", {"description": "Paste your API key here."}),
        ("it", {"format": "password"}),
    ],
)
def test_a_field_for_a_secret_is_refused_whatever_tells_of_it(name: str, schema: Any) -> None:
    with pytest.raises(NoForm, match="Secrets"):
        form({name: {"type": "string", **schema}})


@each(
    "name, kind", [("max_tokens", "integer"), ("keyboard", "string"), ("has_token", "boolean"), ("branch", "string")]
)
def test_what_only_sounds_like_a_secret_is_asked(name: str, kind: str) -> None:
    assert form({name: {"type": kind}}).question.fields[0].name == name


@each(
    "schema, value, wrong",
    [
        ({"type": "string", "format": "email"}, "nobody", "must have the form of email"),
        ({"type": "string", "format": "email"}, "a@b.example", ""),
        ({"type": "string", "minLength": 3}, "ab", "must be at least 3 characters"),
        ({"type": "string", "format": "date"}, "2026-1-1", "must have the form of date"),
        ({"type": "integer", "maximum": 5}, 6, "must be at most 5"),
        ({"type": "array", "items": {"enum": ["a"]}, "minItems": 2}, ("a",), "must be at least 2 choices"),
        ({"type": "boolean"}, True, ""),
    ],
)
def test_an_answer_is_looked_at_before_the_server_has_it(schema: Any, value: Any, wrong: str) -> None:
    assert form({"it": schema}).unfit({"it": value}) == (f"it {wrong}" if wrong else "")


@each(
    "properties, message, told",
    [
        ({}, "Well?", "between one and 20 fields"),
        ({"a": {"type": "object"}}, "Well?", "of a kind that forms do not have"),
        ({"a": {"type": "string"}}, "Please enter your password", "Secrets"),
        ({"pw": {"type": "string", "title": "API key"}}, "Well?", "Secrets"),
    ],
)
def test_what_is_no_form_is_refused(properties: Any, message: str, told: str) -> None:
    with pytest.raises(NoForm, match=told):
        form(properties, message)


def test_a_page_is_told_with_whose_it_is() -> None:
    page = page_of("srv", {"mode": "url", "message": "Sign in", "url": "https://example.com"})
    assert page == PersonPage("The MCP server srv asks: Sign in", "https://example.com")
