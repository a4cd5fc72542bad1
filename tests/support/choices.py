"""Choices of model for tests that do not go through the settings."""

from __future__ import annotations

from typing import Any

from agent_core.providers.choice import ModelChoice


def choice_for(base_url: str, **options: Any) -> ModelChoice:
    """A model at `base_url`; `options` are fields of `ModelChoice`."""
    values = {
        "provider": "custom",
        "model": "test-model",
        "api_mode": "chat_completions",
        "source": "test",
        **options,
    }
    return ModelChoice(base_url=base_url, **values)
