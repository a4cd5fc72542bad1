"""The context engines by the names that the settings have for them."""

from __future__ import annotations

from collections.abc import Callable

from agent_core.context.engine import ContextEngine
from agent_core.errors import SettingsError
from agent_core.services import SessionServices
from agent_core.settings.context import DEFAULT_ENGINE, CompressionPart
from tools.redaction import Redact, redact

MakeEngine = Callable[[CompressionPart, str, Redact], ContextEngine]
"""Makes the engine of a session: of the settings, the session's id, and what takes secrets out of text."""


def _compressor(settings: CompressionPart, session_id: str, clean: Redact) -> ContextEngine:
    from agent_core.context.compressor import CompressionSettings, ContextCompressor  # noqa: PLC0415 - for turns

    return ContextCompressor(
        CompressionSettings(
            threshold=settings.threshold,
            target_ratio=settings.target_ratio,
            protect_first_n=settings.protect_first_n,
            protect_last_n=settings.protect_last_n,
        ),
        session_id=session_id,
        clean=clean,
    )


ENGINES: dict[str, MakeEngine] = {DEFAULT_ENGINE: _compressor}
"""Who makes an engine, by name. Plugins that bring one put themselves here."""


def engine_of(settings: CompressionPart, session_id: str, clean: Redact) -> ContextEngine:
    """A new engine, for one session.

    Args:
        clean: takes secrets out of a text.

    Raises:
        SettingsError: there is none of that name.
    """
    make = ENGINES.get(settings.engine)
    if make is None:
        raise SettingsError(
            f"compression.engine = {settings.engine!r}: there is no such engine, only {', '.join(sorted(ENGINES))}. "
            "Correct it or remove the line."
        )
    return make(settings, session_id, clean)


def with_engine(services: SessionServices, session_id: str) -> SessionServices:
    """The services of an agent that is used as a library, with the usual engine."""
    services.engine = engine_of(CompressionPart(), session_id, redact)
    return services
