"""From the choice of a model to the provider that asks it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from agent_core.config import Overrides, load
from agent_core.errors import RequestError
from agent_core.home import find_home
from agent_core.providers.base import Provider
from agent_core.providers.chat_completions import CHAT_COMPLETIONS
from agent_core.providers.choice import ModelChoice
from agent_core.providers.http_provider import HttpProvider
from agent_core.providers.lessons import Lessons
from agent_core.providers.resolve import resolve_model

if TYPE_CHECKING:
    from agent_core.providers.protocol import WireProtocol


# A provider by its name in the user's settings, for those who make an agent in a script.


def provider_by_name(name: str, model: str, api_mode: str | None = None) -> tuple[ModelChoice, Provider]:
    """The provider `name` of the user's settings, for `model`, and what is known of that model.

    Raises:
        AuthRequired, SettingsError: the settings do not make it usable.
        RequestError: it does not speak `api_mode`.
    """
    choice = resolve_model(load(find_home(os.environ), Overrides(model=model, provider=name)))
    if api_mode not in (None, choice.api_mode):
        raise RequestError(
            f"The wire protocol {api_mode!r} is not available for {name}; it speaks {choice.api_mode}."
        )
    return choice, make_provider(choice)


# From a choice of model to something that can be asked.


def make_provider(choice: ModelChoice, lessons: Lessons | None = None) -> Provider:
    """The provider for a choice. Cheap: libraries are loaded and connections made with the first request.

    Args:
        lessons: what was learned of servers, and where more is kept; None: for this provider alone.

    Raises:
        SettingsError: it needs an extra that is not installed.
    """
    if choice.api_mode == "offline":
        from agent_core.providers.offline import OfflineProvider  # noqa: PLC0415 - only what is asked for is loaded

        return OfflineProvider()
    if choice.api_mode == "bedrock_converse":
        from agent_core.providers.bedrock import BedrockProvider  # noqa: PLC0415

        return BedrockProvider(choice, lessons)
    if choice.transport == "sdk":
        from agent_core.providers.sdk_provider import SdkProvider  # noqa: PLC0415

        return SdkProvider(choice, _protocol(choice), lessons)

    return HttpProvider(choice, _protocol(choice), lessons)


def _protocol(choice: ModelChoice) -> WireProtocol:
    if choice.api_mode == "anthropic_messages":
        from agent_core.providers.anthropic_messages import ANTHROPIC_MESSAGES  # noqa: PLC0415

        return ANTHROPIC_MESSAGES
    if choice.api_mode == "codex_responses":
        from agent_core.providers.responses import CODEX_RESPONSES  # noqa: PLC0415

        return CODEX_RESPONSES

    return CHAT_COMPLETIONS
