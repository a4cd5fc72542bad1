"""A model that sees is asked for one that does not."""

from __future__ import annotations

import base64
import json

import pytest

from agent_core.cancel import CancelToken
from agent_core.model_request.side_models import look_at
from tests.support.images import png
from tests.support.model_server import Reply
from tests.support.side_tasks import at, refusal
from tools.errors import ToolError, ToolInterrupted
from tools.result import ResultImage

SHOT = ResultImage(png(3, 2), "image/png", "shot.png")


def test_the_image_and_the_question_reach_it_and_its_answer_comes_back(model_server, auxiliary, protocol):
    model_server.add(Reply("a black dot"))
    client = auxiliary(model=at(model_server, protocol, default="test-model"))
    assert look_at(client, SHOT, "What colour?", CancelToken()) == "a black dot"
    (request,) = model_server.requests
    assert base64.b64encode(SHOT.data).decode() in json.dumps(request.body)
    assert "What colour?" in json.dumps(request.body)


def test_an_answer_that_was_cut_off_says_so(model_server, auxiliary):
    model_server.add(Reply("a black", finish_reason="length"))
    client = auxiliary(model=at(model_server, default="test-model"))
    assert look_at(client, SHOT, "What colour?", CancelToken()) == "a black […]"


def test_without_an_answer_the_error_names_the_image_and_the_setting(model_server, auxiliary):
    model_server.add(refusal(400, "no images please"))
    client = auxiliary(model=at(model_server, default="test-model"))
    with pytest.raises(ToolError, match=r"shot\.png.*auxiliary\.vision\.model"):
        look_at(client, SHOT, "What colour?", CancelToken())


def test_a_turn_that_is_over_asks_nobody(model_server, auxiliary):
    client = auxiliary(model=at(model_server, default="test-model"))
    token = CancelToken()
    token.cancel()
    with pytest.raises(ToolInterrupted):
        look_at(client, SHOT, "What colour?", token)
    assert model_server.requests == []
