"""How the user signs in: the methods offered, and how a client starts this process again for `hermes-acp setup`."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from acp_adapter.capabilities import ClientCapabilities
from agent_core.errors import RequestError

# Starting this process again for `hermes-acp setup`.
# Clients disagree on what the arguments of a terminal sign-in do: the protocol has them appended to the launch's own,
# the registry has them in their place. So they repeat as much of the launch as makes either way work, and what was
# repeated is taken off again.

MODULE = "acp_adapter"
SETUP_COMMAND = "setup"
SERVE = "acp"
"""Means nothing: clients that were written for another program's command line have it in theirs."""

_WITH_VALUE = frozenset({"--model", "--provider", "--base-url", "--profile", "--record"})
_ALONE = frozenset({"--offline", "--verbose", SERVE})
_INTERPRETERS_WITH_VALUE = frozenset({"-X", "-W", "--check-hash-based-pycs"})


def setup_arguments(launch: Sequence[str]) -> list[str]:
    """Arguments that start `hermes-acp setup`, whether they follow the launch's own or replace them.

    Args:
        launch: the process's whole command line, the interpreter first (`sys.orig_argv`).
    """
    start = _module_start(launch)
    own = launch[start:]
    return [*(launch[1:start] if _is_module(launch, start) else ()), SETUP_COMMAND, *_profile(own)]


def setup_command(python: str, launch: Sequence[str]) -> list[str]:
    """The whole command, for clients that take one."""
    return [python, "-P", "-m", MODULE, SETUP_COMMAND, *_profile(launch[_module_start(launch) :])]


def without_repeated_launch(arguments: Sequence[str]) -> list[str]:
    """The program's arguments, with `setup` first where a client appended `setup_arguments` to the launch's own.

    Whatever else is in them comes back as it was.
    """
    at = 0
    while at < len(arguments):
        word = arguments[at]
        if word == SETUP_COMMAND:
            return [SETUP_COMMAND, *_profile(arguments[:at]), *arguments[at + 1 :]]
        step = _launch_words(arguments, at)
        if step == 0:
            break
        at += step
    return list(arguments)


def _launch_words(arguments: Sequence[str], at: int) -> int:
    """How many words of a launch begin at `at`: an option of the server, or an interpreter's up to our module."""
    word = arguments[at]
    if word in _WITH_VALUE:
        return 2
    if word in _ALONE or word.partition("=")[0] in _WITH_VALUE:
        return 1
    if not word.startswith("-"):
        return 0
    repeated = ["", *arguments[at:]]
    end = _module_start(repeated)
    return end - 1 if _is_module(repeated, end) else 0


def _module_start(launch: Sequence[str]) -> int:
    """The index after the interpreter's own options and the script, or the module, that it runs."""
    at = 1
    while at < len(launch):
        word = launch[at]
        if word in _INTERPRETERS_WITH_VALUE:
            at += 2
        elif _takes_program(word):
            return min(at + 2, len(launch))
        elif word.startswith("-"):
            at += 1
        else:
            return at + 1
    return at


def _is_module(launch: Sequence[str], start: int) -> bool:
    return start > 2 and launch[start - 1] == MODULE and launch[start - 2].endswith("m")  # noqa: PLR2004 - python -m NAME


def _takes_program(word: str) -> bool:
    """`-m NAME` and `-c TEXT`, also with other letters before (`-Pm`)."""
    return word.startswith("-") and not word.startswith("--") and word[-1] in "mc"


def _profile(arguments: Sequence[str]) -> list[str]:
    """`--profile NAME` as the arguments have it last; nothing where they have none."""
    found: list[str] = []
    for position, word in enumerate(arguments):
        if word == "--profile" and position + 1 < len(arguments):
            found = [word, arguments[position + 1]]
        elif word.startswith("--profile="):
            found = ["--profile", word.partition("=")[2]]
    return found


# The methods that `initialize` offers.

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
