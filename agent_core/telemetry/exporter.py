"""What the agent tells of its turns, and the collector that it goes to. Without tracing, nothing is loaded for it."""

from __future__ import annotations

import importlib.util
import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from agent_core.errors import SettingsError
from tools.errors import install_line

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

    from agent_core.config import Configuration
    from agent_core.settings.sections import TelemetryPart
    from agent_core.telemetry.spans import SessionSpans


# Spans go to a collector, over OTLP. OpenTelemetry's own variables (`OTEL_EXPORTER_OTLP_…`) count as well.

log = logging.getLogger(__name__)

_EXPORTER = "opentelemetry.exporter.otlp.proto.http"
_FLUSH_SECONDS = 0.4


class Traces:
    """The traces of a process: nothing is loaded unless `telemetry.enabled` is set."""

    def __init__(self, load: Callable[[], Configuration]) -> None:
        """Take where the settings are read from; they are looked at when a session begins."""
        self._load = load
        self._lock = threading.Lock()
        self._provider: TracerProvider | None = None

    def of_session(self) -> SessionSpans | None:
        """What traces a session that begins; None where nobody collects. What stands in the way is logged."""
        try:
            part = self._load().settings.telemetry
            if not part.enabled:
                return None
            with self._lock:
                self._provider = self._provider or _provider(part)
        except SettingsError as problem:
            log.warning("no traces are sent: %s", problem.public)
            return None
        from agent_core.telemetry.spans import AGENT, SessionSpans  # noqa: PLC0415 - few trace

        return SessionSpans(self._provider.get_tracer(AGENT))

    def close(self) -> None:
        """Send what waits; a collector that takes longer than 0.4 s gets no more."""
        with self._lock:
            provider, self._provider = self._provider, None
        if provider is None:
            return
        # It knows a time, but waits for the collector all the same.
        sending = threading.Thread(target=provider.force_flush, name="traces-flush", daemon=True)
        sending.start()
        sending.join(_FLUSH_SECONDS)


def check_installed() -> None:
    """Find out, without loading it, whether traces can be sent.

    Raises:
        SettingsError: they cannot; the text has the line that installs what is missing.
    """
    try:
        found = importlib.util.find_spec(_EXPORTER)
    except ModuleNotFoundError:
        found = None
    if found is None:
        raise SettingsError(
            "telemetry.enabled is set, but OpenTelemetry's exporter is not installed. Run "
            f"{install_line('otel')} or set telemetry.enabled to false."
        )


def _provider(part: TelemetryPart) -> TracerProvider:
    check_installed()
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415 - few trace
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - the same
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - the same
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 - the same

    endpoint = None if part.endpoint is None else f"{part.endpoint.rstrip('/')}/v1/traces"
    provider = TracerProvider(resource=Resource.create({"service.name": "hermes-acp"}), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=endpoint, timeout=5)))
    return provider
