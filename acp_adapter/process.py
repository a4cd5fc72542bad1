"""The server as a process: claims stdin and stdout, greets the client, runs the agent, and always comes to an end."""

from __future__ import annotations

import functools
import os
import stat
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from acp_adapter.front_door import greet
from acp_adapter.handshake import Greeting
from acp_adapter.logs import set_up_logs, silence_early_logs
from acp_adapter.server_arguments import ServerOptions
from acp_adapter.stdio import claim_stdio
from acp_adapter.transport import Transport
from agent_core.home import Home

if TYPE_CHECKING:
    from agent_core.config import ConfigSource
    from tools.redaction.redactor import Redactor

_FLUSH_SECONDS = 0.5
_EXIT_SECONDS = 1.5


def run_server(home: Home, options: ServerOptions) -> int:
    """Serve one client on stdin and stdout until it is gone; ends the process, however busy it is."""
    if sys.stdin is not None and sys.stdin.isatty():
        sys.stderr.write("hermes-acp waits for an editor's messages on stdin. To see it at work: hermes-acp demo\n")
    silence_early_logs()
    try:
        stdio = claim_stdio(_stray_output(home))
    except OSError as problem:
        sys.stderr.write(f"hermes-acp: stdin and stdout must be open for the protocol ({problem}).\n")
        return 2
    from_file = stat.S_ISREG(os.fstat(stdio.reader).st_mode)
    transport = Transport(stdio, finish_before_end=from_file, on_over=_set_deadline)
    transport.start()

    @functools.cache
    def config() -> ConfigSource:
        from agent_core.config import ConfigSource, Overrides  # noqa: PLC0415 - after the first answer
        from agent_core.known_secrets import secrets_of  # noqa: PLC0415 - the same

        overrides = Overrides(options.model, options.provider, options.base_url)
        return ConfigSource(home, overrides, lambda settings: redactor().learn(secrets_of(settings)))

    @functools.cache
    def redactor() -> Redactor:
        from tools.redaction.redactor import Redactor  # noqa: PLC0415 - the same

        return Redactor()

    greeting = greet(transport, lambda: config().load())
    if not greeting.ended:
        set_up_logs(home, verbose=options.verbose, redacting=redactor())
        _log_ignored_settings(config())
        _run_agent(transport, config(), greeting)
    transport.flush(_FLUSH_SECONDS)
    # Worker threads may be stuck in a tool or a read; they must not keep the process.
    os._exit(0)


def _run_agent(transport: Transport, config: ConfigSource, greeting: Greeting) -> None:
    import asyncio  # noqa: PLC0415 - after the first answer

    from acp_adapter.server import serve  # noqa: PLC0415

    asyncio.run(serve(transport, config, greeting))


def _log_ignored_settings(config: ConfigSource) -> None:
    """Name the settings that nobody reads: one of them may be misspelt."""
    import logging  # noqa: PLC0415

    from agent_core.errors import SettingsError  # noqa: PLC0415

    try:
        warnings = config.load().warnings
    except SettingsError:
        return  # the session that needs the settings says so
    for warning in warnings:
        logging.getLogger(__name__).warning("%s", warning)


def _set_deadline() -> None:
    """The client is gone: whatever hangs, the process ends. Commands then die with it, by their guardian."""
    timer = threading.Timer(_EXIT_SECONDS, os._exit, (0,))
    timer.daemon = True
    timer.start()


def _stray_output(home: Home) -> Path | None:
    """The file that a stray print goes to; None where the home cannot be written to."""
    try:
        return home.make(home.logs) / "stdout.log"
    except OSError:
        return None
