"""The context engines by the names that the settings have for them."""

from __future__ import annotations

from collections.abc import Callable

from agent_core.context.engine import ContextEngine
from agent_core.errors import SettingsError
from agent_core.settings_context import DEFAULT_ENGINE, CompressionPart

MakeEngine = Callable[[CompressionPart], ContextEngine]


def _compressor(settings: CompressionPart) -> ContextEngine:
    from agent_core.context.compressor import ContextCompressor  # noqa: PLC0415 - not before a session has a turn

    return ContextCompressor(
        threshold=settings.threshold,
        target_ratio=settings.target_ratio,
        protect_first_n=settings.protect_first_n,
        protect_last_n=settings.protect_last_n,
    )


ENGINES: dict[str, MakeEngine] = {DEFAULT_ENGINE: _compressor}
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
