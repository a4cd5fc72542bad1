"""Images of tool results on their way into the history, and who is given any."""

from __future__ import annotations

import base64

import pytest

from agent_core.messages import tool_call, tool_message
from agent_core.model_request.history_filter import Omissions
from agent_core.providers.choice import ModelFacts
from agent_core.tool_calls import MAX_IMAGES, images_in, result_content, sees_images
from tests.support.choices import choice_for
from tests.support.each import each
from tests.support.images import jpeg, png
from tools.images import MAX_IMAGE_BYTES
from tools.result import ResultImage, ToolResult

SHOT = ResultImage(png(3, 2), "image/png", "shot.png")


def told(*images):
    return result_content(ToolResult('{"ok": true}', images=images))


def test_a_result_without_images_is_its_text():
    assert told() == '{"ok": true}'


def test_an_image_lies_beside_the_text_as_a_data_url():
    url = f"data:image/png;base64,{base64.b64encode(SHOT.data).decode()}"
    assert told(SHOT) == [{"type": "text", "text": '{"ok": true}'}, {"type": "image_url", "image_url": {"url": url}}]


def test_its_bytes_say_what_it_is_whatever_the_tool_said():
    content = told(ResultImage(jpeg(3, 2), "image/png"))
    assert content[1]["image_url"]["url"].startswith("data:image/jpeg;base64,")


@pytest.mark.parametrize(
    ("image", "why"),
    [
        (ResultImage(b"BM", "image/bmp", "a.bmp"), "a.bmp is left out: it is no PNG"),
        (ResultImage(png(9000, 2), "image/png", "a.png"), "a.png is left out: it has 9000×2 pixels"),
        (ResultImage(png(padding=MAX_IMAGE_BYTES), "image/png", "a.png"), "a.png is left out: it has 3.9 MB"),
        (ResultImage(b"", "image/png"), "An image is left out"),
    ],
)
def test_what_servers_would_refuse_is_left_out_with_the_reason(image, why):
    content = told(image)
    assert isinstance(content, str)
    assert why in content


def test_the_largest_image_is_five_mebibytes_as_it_is_sent():
    fits = png(padding=MAX_IMAGE_BYTES - len(png(padding=1)) + 1)
    assert len(fits) == MAX_IMAGE_BYTES
    encoded = told(ResultImage(fits, "image/png"))[1]["image_url"]["url"].partition(",")[2]
    assert len(encoded) == 5 * 1024 * 1024


def test_of_too_many_images_the_first_are_shown():
    content = told(*[SHOT] * (MAX_IMAGES + 1))
    assert [part["type"] for part in content] == ["text", *["image_url"] * MAX_IMAGES]
    assert "shot.png is left out" in content[0]["text"]


def test_the_images_of_a_stored_message_come_back():
    message = tool_message(tool_call("a", "look", "{}"), told(SHOT))
    assert images_in(message) == (ResultImage(SHOT.data, "image/png"),)
    message["content"][1]["image_url"]["url"] = "https://host.example/a.png"
    assert images_in(message) == ()
    assert images_in(tool_message(tool_call("a", "look", "{}"), "text")) == ()


@each(
    ("vision", "refused_before", "sees"),
    [(True, 0, True), (True, 5, True), (False, 0, False), (None, 0, True), (None, 5, False)],
)
def test_tools_give_images_unless_they_would_be_for_nothing(vision, refused_before, sees):
    choice = choice_for("http://models.example/v1", facts=ModelFacts(vision=vision))
    assert sees_images(choice, Omissions(images_before=refused_before)) is sees
