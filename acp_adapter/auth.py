"""The ways to sign in that a client is offered. Light: `initialize` is answered with it before the SDK is loaded."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.launch import setup_arguments, setup_command
from agent_core.errors import RequestError

CONFIGURED = "hermes-configured"
"""Uses what is configured; succeeds where that is a usable model."""

SETUP = "hermes-setup"
"""Runs `hermes-acp setup` in the client's terminal; where the client has none for that, says to run it in one."""

_LABEL = "Set up Hermes"


def auth_methods(
    client: ClientCapabilities, launch: Sequence[str], environ: Mapping[str, str] = os.environ
) -> list[dict[str, Any]]:
    """The `authMethods` of `initialize` (ACP v1, authentication): what is configured first, then setup.

    A client that knows terminals only by `_meta` gets the second without the type, which it must not be sent.

    Args:
        launch: this process's command line (`sys.orig_argv`).
        environ: this process's environment, for the home that setup writes to.
    """
    configured = {
        "id": CONFIGURED,
        "type": "agent",
        "name": "Use the configured model",
        "description": "Uses the model and key from Hermes' own settings (config.yaml, .env or environment).",
    }
    if not (client.terminal_auth or client.terminal_auth_meta):
        told = "Run `hermes-acp setup` in a terminal: it asks for a provider, a model and a key. Then choose this."
        return [configured, {"id": SETUP, "type": "agent", "name": _LABEL, "description": told}]
    home = environ.get("HERMES_HOME", "").strip()
    env = {"HERMES_HOME": home} if home else {}
    terminal: dict[str, Any] = {
        "id": SETUP,
        "name": _LABEL,
        "description": "Choose a provider and a model in a terminal, and store the key.",
    }
    if client.terminal_auth:
        terminal |= {"type": "terminal", "args": setup_arguments(launch), **({"env": env} if env else {})}
    if client.terminal_auth_meta:
        command, *arguments = setup_command(sys.executable, launch)
        terminal["_meta"] = {
            "terminal-auth": {"label": _LABEL, "command": command, "args": arguments, "env": env},
        }
    return [configured, terminal]


def check_method(method_id: str) -> None:
    """Whether `authenticate` may be called with this id; setup's is for afterwards: it succeeds once that has run.

    Raises:
        RequestError: no such method is offered.
    """
    if method_id not in {CONFIGURED, SETUP}:
        raise RequestError(f"There is no authentication method {method_id!r}. Use {CONFIGURED!r} or {SETUP!r}.")
