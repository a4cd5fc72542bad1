"""What servers answer, as the model reads it."""

from __future__ import annotations

import base64
import json

from agent_core.mcp.offers import to_contents, to_result, to_words
from tests.support.each import each
from tests.support.images import png
from tests.support.tool_context import value_of
from tools.result import ResultImage

DATA = "QUJD" * 4_000  # 12 kB


@each(
    ("content", "text"),
    [
        ([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], "one\ntwo"),
        ([{"type": "image", "mimeType": "image/png", "data": DATA}], "[image image/png, 12 kB]"),
        ([{"type": "audio", "mimeType": "audio/wav", "data": "QUI="}], "[audio audio/wav, 2 bytes]"),
        ([{"type": "resource_link", "uri": "file:///a", "name": "A"}], "[resource file:///a A]"),
        ([{"type": "resource", "resource": {"uri": "file:///a", "text": "hi"}}], "[resource file:///a]\nhi"),
        (
            [{"type": "resource", "resource": {"uri": "file:///a", "mimeType": "a/b", "blob": DATA}}],
            "[resource file:///a a/b, 12 kB]",
        ),
        ([{"type": "hologram", "data": "x"}], "[hologram]"),
        ([], "(The tool returned nothing.)"),
        (None, "(The tool returned nothing.)"),
        (["odd", {"type": "text", "text": "kept"}], "kept"),
    ],
)
def test_content_is_told_in_words(content: object, text: str) -> None:
    result = to_result({"content": content})
    assert (result.text, result.failed) == (text, False)


def test_images_come_beside_the_words_that_tell_of_them() -> None:
    picture = base64.b64encode(png(3, 2)).decode()
    content = [{"type": "image", "mimeType": "image/png", "data": data} for data in (picture, DATA, "&&", 7, None)]
    result = to_result({"content": content})
    assert result.images == (ResultImage(png(3, 2), "image/png"),)
    assert result.text.count("[image image/png") == 5


def test_structured_content_is_told_only_where_there_is_no_text() -> None:
    text = {"type": "text", "text": "sunny"}
    image = {"type": "image", "mimeType": "image/png", "data": ""}
    structured = {"weather": "sunny"}
    assert to_result({"content": [text], "structuredContent": structured}).text == "sunny"
    assert json.loads(to_result({"structuredContent": structured}).text) == structured
    assert to_result({"content": [image], "structuredContent": structured}).text == (
        '[image image/png, 0 bytes]\n{"weather": "sunny"}'
    )


def test_an_error_is_a_failed_result_with_its_text() -> None:
    result = to_result({"content": [{"type": "text", "text": "no such issue"}], "isError": True})
    assert result.failed
    assert value_of(result) == {"error": "no such issue"}
    assert to_result({"isError": True}).failed


def test_a_resource_that_is_an_image_is_one() -> None:
    held = {"uri": "a://b", "mimeType": "image/png", "blob": base64.b64encode(png(3, 2)).decode()}
    embedded = to_result({"content": [{"type": "resource", "resource": held}]})
    assert embedded.images == to_contents({"contents": [held]}).images == (ResultImage(png(3, 2), "image/png"),)


def test_the_contents_of_a_resource_are_its_text() -> None:
    one, other = {"uri": "a://1", "text": "first"}, {"uri": "a://2", "text": "second"}
    assert to_contents({"contents": [one]}).text == "first"
    assert to_contents({"contents": [one, other]}).text == "[resource a://1]\nfirst\n[resource a://2]\nsecond"
    assert to_contents({}).text == "(The resource is empty.)"


def test_a_prompt_is_its_words_with_who_says_them_where_several_do() -> None:
    def said(role: str, text: str) -> dict[str, object]:
        return {"role": role, "content": {"type": "text", "text": text}}

    assert to_words({"messages": [said("user", "a"), said("user", "b")]}).text == "a\n\nb"
    assert to_words({"messages": [said("user", "a"), said("assistant", "b")]}).text == "[user]\na\n\n[assistant]\nb"
    assert to_words({"messages": []}).failed


def test_content_of_any_form_is_a_result() -> None:
    assert to_result({"content": [{"type": ["odd"]}, {"type": "text", "text": "yes"}]}).text == "[['odd']]\nyes"
