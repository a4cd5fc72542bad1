"""Which wire protocol a server is spoken to in."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from agent_core.providers.base import ApiMode
from agent_core.providers.resolution.traits import is_gpt_5_class

OPENAI_HOST = "api.openai.com"
_BEDROCK_HOST = re.compile(r"bedrock-runtime\.[a-z0-9-]+\.amazonaws\.com")


def resolve_mode(explicit: ApiMode | None, service: ApiMode | None, base_url: str, model: str) -> ApiMode:
    """The protocol: what the settings say, else the only one that the service has, else what the address tells."""
    return explicit or service or _by_address(base_url, model) or "chat_completions"


def _by_address(base_url: str, model: str) -> ApiMode | None:
    parts = urlsplit(base_url)
    host, path = parts.hostname or "", parts.path.rstrip("/")
    if host == "api.anthropic.com" or path.endswith("/anthropic"):
        return "anthropic_messages"
    if _BEDROCK_HOST.fullmatch(host):
        return "bedrock_converse"
    if "/backend-api/codex" in path:
        return "codex_responses"
    if host == OPENAI_HOST and is_gpt_5_class(model):
        return "codex_responses"
    return None
