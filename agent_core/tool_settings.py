"""The limits that tools work under, from the user's settings."""

from __future__ import annotations

import os
from dataclasses import replace

from agent_core.config import Configuration
from agent_core.providers.catalog import SERVICES
from agent_core.providers.resolve import variables_named
from agent_core.settings.model import Settings
from tools.settings import (
    KEY_VARIABLES,
    BrowserSettings,
    Passthrough,
    SearchKeys,
    TerminalSettings,
    ToolSettings,
    WebSettings,
)


def tool_settings(config: Configuration) -> ToolSettings:
    """What the user has set about tools, in the form that tools read."""
    settings = config.settings
    # Whether the tools are offered depends on the process's own environment: so does where the browser is.
    browser = BrowserSettings.from_environment(os.environ)
    return ToolSettings(
        redact_results=settings.security.redact_tool_results,
        browser=replace(browser, allow_private=settings.web.allow_private),
        terminal=TerminalSettings(default_timeout=settings.terminal.timeout, passthrough=_passthrough(settings)),
        programs=settings.code_execution.as_programs(),
        web=WebSettings(
            search_backend=settings.web.search_backend,
            allow_private=settings.web.allow_private,
            timeout=settings.web.timeout,
            keys=SearchKeys.from_environment(config.environ),
        ),
    )


def _passthrough(settings: Settings) -> Passthrough:
    """What commands get by name. The keys of models and searches are meant by no pattern: they are this program's."""
    of_services = {name for service in SERVICES.values() for name in service.keys}
    return Passthrough(settings.terminal.env_passthrough, variables_named(settings) | of_services | KEY_VARIABLES)
