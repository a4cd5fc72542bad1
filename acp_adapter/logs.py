"""Where log records go: a rotating file in the home directory; stderr only on request. Secrets do not go there."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent_core.home import Home
    from tools.redaction import Redact

_FORMAT = "%(asctime)s %(levelname)s session=%(session)s turn=%(turn)s %(name)s [%(threadName)s] %(message)s"
_MAX_BYTES = 5 * 1024 * 1024
_KEPT = 3


class RedactingFormatter(logging.Formatter):
    """Writes records without the secrets in them: those of the message, its arguments and the traceback alike."""

    def __init__(self, layout: str, redacting: Redact) -> None:
        super().__init__(layout)
        from agent_core.log_context import where  # noqa: PLC0415 - after the first answer

        self._redact = redacting
        self._where = where

    def format(self, record: logging.LogRecord) -> str:
        """The record as text; it says which session and turn its thread works for."""
        record.session, record.turn = self._where()
        return self._redact(super().format(record))


def silence_early_logs() -> None:
    """Keep records from reaching stderr before `set_up_logs`: some editors show any of it as an error."""
    logging.getLogger().addHandler(logging.NullHandler())


def set_up_logs(home: Home, *, verbose: bool, redacting: Redact | None = None) -> None:
    """Log to `logs/hermes-acp.log`, and to stderr if `verbose`; each record passes `redacting`, or `redact`."""
    from acp_adapter.shared_log import SharedLog  # noqa: PLC0415 - after the first answer
    from tools.redaction import redact  # noqa: PLC0415 - the same

    root = logging.getLogger()
    root.setLevel(logging.DEBUG if verbose else logging.INFO)
    handlers: list[logging.Handler] = [logging.StreamHandler(sys.stderr)] if verbose else []
    try:
        handlers.append(SharedLog(home.make(home.logs) / "hermes-acp.log", _MAX_BYTES, _KEPT))
    except OSError:
        # A home that cannot be written to costs the log, not the session.
        handlers.append(logging.NullHandler())
    for handler in handlers:
        handler.setFormatter(RedactingFormatter(_FORMAT, redacting or redact))
        root.addHandler(handler)
    # They log each request, with its address or even its key, at INFO and DEBUG.
    for name in ("httpx2", "httpcore2", "openai", "anthropic", "botocore", "urllib3"):
        logging.getLogger(name).setLevel(logging.WARNING)
