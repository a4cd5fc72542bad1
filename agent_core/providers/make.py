"""From a choice of model to something that can be asked."""

from __future__ import annotations

from agent_core.providers.base import Provider
from agent_core.providers.choice import ModelChoice


def make_provider(choice: ModelChoice) -> Provider:
    """The provider for a choice. Cheap: SDKs are loaded and connections made with the first request."""
    if choice.api_mode == "offline":
        from agent_core.providers.offline import OfflineProvider  # noqa: PLC0415 - only what is asked for is loaded

        return OfflineProvider()
    from agent_core.providers.wire.chat_completions import CHAT_COMPLETIONS  # noqa: PLC0415
    from agent_core.providers.wire.http_provider import HttpProvider  # noqa: PLC0415

    return HttpProvider(choice, CHAT_COMPLETIONS)
