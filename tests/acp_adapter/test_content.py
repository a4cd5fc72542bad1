"""A prompt's blocks as the model's content: nothing is dropped without a word."""

from __future__ import annotations

from typing import Any

import pytest
from acp.schema import PromptRequest

from acp_adapter.content import to_content
from agent_core.errors import RequestError

_TEXT = {"type": "text", "text": "Look:"}
_IMAGE = {"type": "image", "data": "aGk=", "mimeType": "image/png"}


def _content(*blocks: dict[str, Any]) -> Any:
    return to_content(PromptRequest.model_validate({"sessionId": "s", "prompt": list(blocks)}).prompt)


def test_text_is_joined_as_paragraphs() -> None:
    assert _content(_TEXT) == "Look:"
    assert _content(_TEXT, {"type": "text", "text": "there"}) == "Look:\n\nthere"


def test_an_image_makes_parts_in_the_order_given() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    assert _content(_TEXT, _IMAGE, _TEXT) == [_TEXT, image, _TEXT]
    assert _content(_IMAGE) == [image]


def test_a_link_is_named_with_its_address() -> None:
    assert (
        _content({"type": "resource_link", "name": "a.py", "uri": "file:///a.py"}) == "[Linked: a.py, file:///a.py]"
    )


def test_an_attached_text_is_given_whole() -> None:
    resource = {"uri": "file:///a.py", "text": "x = 1\n", "mimeType": "text/x-python"}
    assert _content(_TEXT, {"type": "resource", "resource": resource}) == (
        'Look:\n\n<attached uri="file:///a.py">\nx = 1\n\n</attached>'
    )


@pytest.mark.parametrize(
    ("mime", "shown"), [({"mimeType": "application/pdf"}, "application/pdf"), ({}, "unknown type")]
)
def test_an_attached_binary_file_is_said_to_be_there(mime: dict[str, str], shown: str) -> None:
    text = _content({"type": "resource", "resource": {"uri": "file:///a.pdf", "blob": "aGk=", **mime}})
    assert "file:///a.pdf" in text
    assert shown in text
    assert "aGk=" not in text


def test_audio_is_said_to_be_there() -> None:
    text = _content({"type": "audio", "data": "aGk=", "mimeType": "audio/wav"})
    assert text == "[Audio of type audio/wav was attached; this agent cannot listen to it.]"


@pytest.mark.parametrize("blocks", [[], [{"type": "text", "text": ""}], [{"type": "text", "text": " \n\t"}] * 2])
def test_a_prompt_with_nothing_in_it_is_refused(blocks: list[dict[str, Any]]) -> None:
    with pytest.raises(RequestError, match="The prompt is empty"):
        _content(*blocks)
