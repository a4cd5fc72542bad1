"""What a server understands: the catalog's dialect, made exact by the model and the address."""

from __future__ import annotations

from dataclasses import replace

from agent_core.providers.base import ApiMode
from agent_core.providers.choice import Dialect
from agent_core.providers.resolution.addresses import host_of
from agent_core.providers.resolution.catalog import Service
from agent_core.providers.resolution.modes import OPENAI_HOST
from agent_core.providers.resolution.traits import (
    insists_on_reasoning,
    insists_on_signatures,
    is_openai_reasoning,
    takes_temperature,
)


def dialect_for(service: Service, model: str, base_url: str, api_mode: ApiMode) -> Dialect:
    """The dialect of `service` for this model. A server may refuse a request over a field that it does not know."""
    dialect = replace(service.dialect, temperature=takes_temperature(model))
    if api_mode == "anthropic_messages":
        return replace(dialect, auth="x-api-key")
    if host_of(base_url) == OPENAI_HOST:
        dialect = replace(dialect, cache_key=True, developer_role=is_openai_reasoning(model))
    if service.name in {"openai", "azure", "azure-entra"} and is_openai_reasoning(model):
        dialect = replace(dialect, effort="reasoning_effort")
    if service.name == "openrouter":
        dialect = replace(dialect, cache_markers=model.startswith("anthropic/"))
    if service.name == "moonshot" and model.startswith("moonshot-v1"):
        # The models before Kimi do not think, and their field list has no place for it.
        dialect = replace(dialect, reasoning_back="none")
    elif service.name != "openrouter":
        # OpenRouter puts in for each of its servers what that insists on.
        if insists_on_reasoning(model):
            dialect = replace(dialect, reasoning_back="reasoning_content")
        elif insists_on_signatures(model):
            dialect = replace(dialect, reasoning_back="thought_signature")
    return dialect
