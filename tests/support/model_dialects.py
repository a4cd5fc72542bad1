"""The wire protocols that the fake model server speaks; the request's path chooses."""

from __future__ import annotations

import re

from tests.support.model_anthropic import AnthropicDialect, BedrockClaudeDialect
from tests.support.model_chat import ChatDialect
from tests.support.model_replies import ServerDialect
from tests.support.model_responses import ResponsesDialect

DIALECTS: tuple[ServerDialect, ...] = (ChatDialect(), AnthropicDialect(), ResponsesDialect())
# Where the clouds have models: Azure OpenAI, Claude on Foundry and on Vertex AI, Claude on Bedrock.
CLOUDS: tuple[tuple[str, ServerDialect], ...] = (
    (r"/openai/v1/chat/completions", ChatDialect()),
    (r"/openai/v1/responses", ResponsesDialect()),
    (r"/anthropic/v1/messages", AnthropicDialect()),
    (r"/v1/projects/[^/]+/locations/[^/]+/publishers/anthropic/models/[^/]+:streamRawPredict", AnthropicDialect()),
    (r"/model/[^/]+/invoke-with-response-stream", BedrockClaudeDialect()),
)


def dialect_for(path: str) -> ServerDialect | None:
    path = path.split("?", maxsplit=1)[0]
    plain = next((dialect for dialect in DIALECTS if path == dialect.path), None)
    return plain or next((dialect for pattern, dialect in CLOUDS if re.fullmatch(pattern, path)), None)
