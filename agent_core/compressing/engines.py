"""The context engines by the names that the settings have for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agent_core.context.engine import ContextEngine
from agent_core.errors import SettingsError
from agent_core.settings_context import CompressionPart

MakeEngine = Callable[[CompressionPart], ContextEngine]


ENGINES: Mapping[str, MakeEngine] = {}


def engine_of(settings: CompressionPart, engines: Mapping[str, MakeEngine] = ENGINES) -> ContextEngine:
    """A new engine, for one session.

    Raises:
        SettingsError: there is none of that name.
    """
    make = engines.get(settings.engine)
    if make is None:
        raise SettingsError(
            f"compression.engine = {settings.engine!r}: there is no such engine, only {', '.join(sorted(engines))}. "
            "Correct it or remove the line."
        )
    return make(settings)
