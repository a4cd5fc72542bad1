"""Images of a tool's result on its card."""

from __future__ import annotations

import base64

from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.projection import finished_call
from agent_core.events import ToolFinished
from tests.support.images import png
from tools.result import ResultImage, ShownText, ToolResult


def test_a_card_shows_the_images_behind_the_words() -> None:
    result = ToolResult("{}", (ShownText("shot.png"),), images=(ResultImage(png(), "image/png", "shot.png"),))
    (update,) = finished_call(ToolFinished("c", "vision_analyze", {}, "/srv", result), ClientCapabilities())
    data = base64.b64encode(png()).decode()
    assert update["content"] == [
        {"type": "content", "content": {"type": "text", "text": "shot.png"}},
        {"type": "content", "content": {"type": "image", "mimeType": "image/png", "data": data}},
    ]
