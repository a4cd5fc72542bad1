"""The wire protocols that the fake model server speaks; the request's path chooses."""

from __future__ import annotations

from tests.support.model_anthropic import AnthropicDialect
from tests.support.model_chat import ChatDialect
from tests.support.model_replies import ServerDialect
from tests.support.model_responses import ResponsesDialect

DIALECTS: tuple[ServerDialect, ...] = (ChatDialect(), AnthropicDialect(), ResponsesDialect())


def dialect_for(path: str) -> ServerDialect | None:
    return next((dialect for dialect in DIALECTS if path.split("?", maxsplit=1)[0] == dialect.path), None)
