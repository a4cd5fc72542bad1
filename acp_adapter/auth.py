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

TERMINAL = "hermes-setup"
"""Runs `hermes-acp setup` in the client's terminal."""

_LABEL = "Set up Hermes"


def auth_methods(
    client: ClientCapabilities, launch: Sequence[str], environ: Mapping[str, str] = os.environ
) -> list[dict[str, Any]]:
    """The `authMethods` of `initialize` (ACP v1, authentication), that of type agent first.

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
        return [configured]
    home = environ.get("HERMES_HOME", "").strip()
    env = {"HERMES_HOME": home} if home else {}
    terminal: dict[str, Any] = {
        "id": TERMINAL,
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


def check_method(method_id: str, client: ClientCapabilities) -> None:
    """Whether `authenticate` may be called with this id.

    The terminal's is accepted too where it was offered: clients call with it after setup has run.

    Raises:
        RequestError: no such method was offered.
    """
    offered = [CONFIGURED]
    if client.terminal_auth or client.terminal_auth_meta:
        offered.append(TERMINAL)
    if method_id not in offered:
        names = " and ".join(repr(name) for name in offered)
        raise RequestError(f"There is no authentication method {method_id!r} here; there is {names}.")
