"""What a server says of itself reaches the model and the person without characters that nobody sees."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from agent_core.cancel import CancelToken
from agent_core.mcp.offers import to_contents, to_result, to_words, usable_prompts, usable_resources, usable_tools
from agent_core.mcp.server_requests import form_of, page_of
from agent_core.mcp.specs import ServerPolicy
from tests.agent_core.mcp.conftest import Open
from tests.support.mcp_servers import with_tools

UNSEEN = (
    "\x00",
    "\x1b[8m",
    "\x9b",
    "\u202e",
    "\u2066",
    "\u200b",
    "\u200f",
    "\u2063",
    "\ufeff",
    "\U000e0061",
    "\ufe05",
)
_FOUND = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0d\ufeff\U000e0000-\U000e01ef]"
)


def seen(*values: object) -> str:
    """The values as text, in which nothing is hidden."""
    text = json.dumps(values, ensure_ascii=False, default=str)
    assert not _FOUND.search(text), text
    assert not re.search(r"\\u00[01]|\\u007f|\\[bfr]", text), text
    return text


@pytest.mark.parametrize("sign", UNSEEN)
def test_an_mcp_tools_description_and_its_schema_at_any_depth_hold_none(sign: str) -> None:
    hidden = f"de{sign}lete"
    tool = {
        "name": "one",
        "description": f"Does {hidden}.",
        "inputSchema": {
            "type": "object",
            "description": hidden,
            "title": hidden,
            "properties": {
                "path": {"type": "string", "description": hidden, "enum": [hidden], "default": hidden},
                "deep": {
                    "type": "array",
                    "items": {"anyOf": [{"type": "object", "properties": {hidden: {"description": hidden}}}]},
                },
                "ref": {"$ref": "#/$defs/x"},
            },
            "$defs": {hidden: {"examples": [{"a": [hidden]}], "const": hidden, "x-more": {hidden: [hidden]}}},
        },
    }
    ((found,), left_out) = usable_tools([tool], ServerPolicy(), {})
    text = seen(found.description, found.schema, left_out)
    assert len(re.findall(r"de(?:\[8m)?lete", text)) == 13


@pytest.mark.parametrize("sign", UNSEEN)
def test_an_mcp_tool_whose_name_holds_one_is_left_out_and_told(sign: str) -> None:
    tool = {"name": f"re{sign}ad", "inputSchema": {"type": "object"}}
    odd = {"name": "odd", "inputSchema": {"properties": {f"a{sign}": {}}}}
    found, left_out = usable_tools([tool, odd], ServerPolicy(), {})
    assert found == ()
    assert "its name holds characters that nobody sees" in left_out[0]
    seen(left_out)


@pytest.mark.parametrize("sign", UNSEEN)
def test_mcp_prompts_and_resources_hold_none(sign: str) -> None:
    hidden = f"a{sign}b"
    prompts = usable_prompts(
        [
            {"name": "one", "description": hidden, "arguments": [{"name": "x", "description": hidden}]},
            {"name": "two", "title": hidden, "arguments": [{"name": hidden}]},
            {"name": hidden},
        ]
    )
    resources = usable_resources(
        [{"uri": "note://one", "title": hidden, "description": hidden, "mimeType": hidden}, {"uri": hidden}],
        [{"uriTemplate": f"note://{sign}{{x}}"}],
    )
    assert [prompt.name for prompt in prompts] == ["one", "two"]
    assert prompts[1].arguments == ()
    assert [resource.uri for resource in resources] == ["note://one"]
    seen(prompts, resources)


@pytest.mark.parametrize("sign", UNSEEN)
def test_the_names_in_mcp_results_and_the_words_of_prompts_hold_none(sign: str) -> None:
    hidden = f"a{sign}b"
    blocks = [
        {"type": "resource_link", "uri": f"x://{hidden}", "title": hidden},
        {"type": "resource_link", "uri": "x://y", "name": hidden},
        {"type": "image", "mimeType": hidden, "data": "AA=="},
        {"type": hidden},
        {"type": "resource", "resource": {"uri": f"x://{hidden}", "mimeType": hidden, "blob": "AA=="}},
    ]
    seen(
        to_result({"content": blocks}).text,
        to_contents({"contents": [block["resource"] for block in blocks if "resource" in block]}).text,
        to_words({"messages": [{"role": hidden, "content": {"type": "text", "text": f"Do {hidden}"}}]}).text,
    )


@pytest.mark.parametrize("sign", UNSEEN)
def test_an_mcp_servers_question_shows_none(sign: str) -> None:
    hidden = f"a{sign}b"
    fields: dict[str, Any] = {
        "one": {"type": "string", "title": hidden, "description": hidden},
        "two": {"type": "string", "enum": [hidden]},
        "three": {"type": "string", "oneOf": [{"const": hidden, "title": hidden}]},
    }
    form = form_of("srv", {"message": hidden, "requestedSchema": {"properties": fields}})
    page = page_of("srv", {"message": hidden, "url": "https://a.example/"})
    seen(form.question.text, [(f.title, f.description, f.choices) for f in form.question.fields], page.text)
    choice = form.question.fields[1].choices[0]
    assert form.content({"two": choice, "three": choice}) == {"two": hidden, "three": hidden}, "as the server has it"


def test_what_the_model_is_told_of_an_mcp_server_holds_none(open_servers: Open) -> None:
    signs = "".join(UNSEEN)
    servers = open_servers(
        with_tools(
            "one",
            [
                {
                    "name": "a",
                    "description": f"Reads{signs} it.",
                    "inputSchema": {"properties": {"x": {"title": signs}}},
                },
                {"name": f"b{signs}", "inputSchema": {}},
                {"name": "fail", "inputSchema": {}},
            ],
        )
    )
    definitions = [entry.definition() for entry in servers.entries()]
    assert [entry.name for entry in servers.entries()] == ["mcp__one__a", "mcp__one__fail"]
    seen(definitions, servers.find("reads"), servers.status()[0].left_out)
    assert servers.call("one", "fail", {}, CancelToken(), lambda _: None).failed
