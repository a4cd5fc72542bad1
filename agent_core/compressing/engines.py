"""The context engines by the names that the settings have for them."""

from __future__ import annotations

from collections.abc import Callable

from agent_core.context.engine import ContextEngine
from agent_core.errors import SettingsError
from agent_core.settings_context import CompressionPart

MakeEngine = Callable[[CompressionPart], ContextEngine]

ENGINES: dict[str, MakeEngine] = {}
"""Who makes an engine, by name. Plugins that bring one put themselves here."""


def engine_of(settings: CompressionPart) -> ContextEngine:
    """A new engine, for one session.

    Raises:
        SettingsError: there is none of that name.
    """
    make = ENGINES.get(settings.engine)
    if make is None:
        raise SettingsError(
            f"compression.engine = {settings.engine!r}: there is no such engine, only {', '.join(sorted(ENGINES))}. "
            "Correct it or remove the line."
        )
    return make(settings)
