"""A server's answer to `GET /models`: what it says of each model's age and use."""

import json

from agent_core.providers.model_listing import read_page
from tests.support.each import each


def entry(**more):
    (model,) = read_page(json.dumps({"data": [{"id": "m", **more}]}).encode()).models
    return model


@each(
    ("more", "created"),
    [
        ({"created": 1_700_000_000}, 1_700_000_000.0),
        ({"created_at": "2025-09-29T00:00:00Z"}, 1_759_104_000.0),
        ({"created": 0}, None),
        ({"created": "soon"}, None),
        ({"created_at": "soon"}, None),
        ({"created_at": 7}, None),
        ({}, None),
    ],
)
def test_its_age_is_read_in_either_form(more, created):
    assert entry(**more).created == created


@each(
    ("more", "chats"),
    [
        ({"capabilities": {"completion_chat": True, "function_calling": True}}, True),
        ({"capabilities": {"completion_chat": False, "function_calling": True}}, False),
        ({"capabilities": {"completion_chat": True, "function_calling": False}}, False),
        ({"architecture": {"output_modalities": ["text"]}, "supported_parameters": ["tools"]}, True),
        ({"architecture": {"output_modalities": ["image"]}}, False),
        ({"architecture": {"output_modalities": ["text"]}, "supported_parameters": ["seed"]}, False),
        ({"supports_chat": False}, False),
        ({"type": "chat"}, True),
        ({"type": "embedding"}, False),
        ({"active": False}, False),
        ({"capabilities": ["a list"], "architecture": 7, "supported_parameters": "tools", "type": None}, None),
        ({}, None),
    ],
)
def test_its_use_is_read_in_the_words_of_those_who_say_it(more, chats):
    assert entry(**more).chats is chats
