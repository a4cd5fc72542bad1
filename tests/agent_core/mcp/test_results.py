"""What servers answer, as the model reads it."""

from __future__ import annotations

import base64
import json

from agent_core.mcp.results import to_result
from tests.support.each import each
from tests.support.images import png
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
    assert json.loads(result.text) == {"error": "no such issue"}
    assert to_result({"isError": True}).failed
