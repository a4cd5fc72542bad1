"""A provider by its name in the user's settings, for those who make an agent in a script."""

from __future__ import annotations

import os

from agent_core.errors import RequestError
from agent_core.providers.base import Provider
from agent_core.providers.choice import ModelChoice


def provider_by_name(name: str, model: str, api_mode: str | None = None) -> tuple[ModelChoice, Provider]:
    """The provider `name` of the user's settings, for `model`, and what is known of that model.

    Raises:
        AuthRequired, SettingsError: the settings do not make it usable.
        RequestError: it does not speak `api_mode`.
    """
    from agent_core.config import Overrides, load  # noqa: PLC0415
    from agent_core.home import find_home  # noqa: PLC0415
    from agent_core.providers.make import make_provider  # noqa: PLC0415
    from agent_core.providers.resolution.resolve import resolve_model  # noqa: PLC0415

    choice = resolve_model(load(find_home(os.environ), Overrides(model=model, provider=name)))
    if api_mode not in (None, choice.api_mode):
        raise RequestError(
            f"The wire protocol {api_mode!r} is not available for {name}; it speaks {choice.api_mode}."
        )
    return choice, make_provider(choice)
