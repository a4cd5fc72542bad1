"""`initialize` and `session/new` as plain data: the front door answers with these before the SDK is loaded, and
`HermesACPAgent` answers with the same functions afterwards, so that there is one truth.

This module and what it imports at its top must stay light: the first answer waits for it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from acp_adapter.version import __version__
from agent_core.errors import RequestError

if TYPE_CHECKING:
    from agent_core.config import Configuration
    from tools.approval.policy import Mode

PROTOCOL_VERSION = 1
AUTH_METHOD = "hermes-configured"


@dataclass(frozen=True, slots=True)
class SessionSeed:
    """A new session as far as the handshake makes it; `SessionManager` grows the rest when the server is up.

    Attributes:
        unused_servers: names of MCP servers that the client offered and that are not connected.
    """

    session_id: str
    cwd: Path
    extra_roots: tuple[Path, ...]
    unused_servers: tuple[str, ...]
    mode: Mode


@dataclass(slots=True)
class Greeting:
    """What the front door has agreed with the client when the server takes over.

    Attributes:
        initialized: `initialize` was answered.
        client_name: as the client calls itself.
        ended: the client is gone already.
    """

    initialized: bool = False
    client_capabilities: Any = None
    client_name: str = ""
    seed: SessionSeed | None = None
    ended: bool = False


def initialize_result() -> dict[str, Any]:
    """The answer to `initialize`: always our own protocol version, whatever number the client sent.

    It needs no settings and no credentials.
    """
    return {
        "protocolVersion": PROTOCOL_VERSION,
        "agentInfo": {"name": "hermes-acp", "title": "Hermes", "version": __version__},
        "agentCapabilities": {
            "loadSession": True,
            "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
            "mcpCapabilities": {"http": False, "sse": False},
            "sessionCapabilities": {
                "additionalDirectories": {},
                "close": {},
                "delete": {},
                "fork": {},
                "list": {},
                "resume": {},
            },
            "_meta": {"hermes": {"fork": {"messageId": True}, "rewind": {"method": "_hermes/session/rewind"}}},
        },
        "authMethods": [
            {
                "id": AUTH_METHOD,
                "name": "Use the configured model",
                "description": "Uses the model and key from Hermes' own settings (config.yaml, .env or environment).",
            }
        ],
    }


def check_place(cwd: object, additional_directories: Sequence[object]) -> tuple[Path, tuple[Path, ...]]:
    """The directories of a session.

    Raises:
        RequestError: one is not absolute or not there.
    """
    return _directory("cwd", cwd), tuple(_directory("additionalDirectories", path) for path in additional_directories)


def open_session(
    cwd: object, additional_directories: Sequence[object], mcp_servers: Sequence[str], config: Configuration
) -> SessionSeed:
    """Check what `session/new` asks for and make a session of it.

    Raises:
        RequestError: a directory is not absolute or not there.
        AuthRequired: no usable model is configured.
        SettingsError: the settings contradict themselves.
    """
    from agent_core.providers.resolution.resolve import resolve_model  # noqa: PLC0415 - not needed for initialize

    directory, extra = check_place(cwd, additional_directories)
    resolve_model(config)
    mode: Mode = "dont_ask" if config.settings.approvals.mode == "off" else "default"
    return SessionSeed(new_session_id(), directory, extra, tuple(mcp_servers), mode)


def new_session_id() -> str:
    """An id that no other session has."""
    return f"ses_{os.urandom(12).hex()}"


def session_result(seed: SessionSeed) -> dict[str, Any]:
    """The answer to `session/new` and `session/fork`."""
    return {"sessionId": seed.session_id, **session_choices(seed.mode)}


def session_choices(mode: Mode) -> dict[str, Any]:
    """What can be chosen in a session: the answer to `session/load` and `session/resume`."""
    from acp_adapter.options import config_options, mode_state  # noqa: PLC0415 - not needed for initialize

    return {"modes": mode_state(mode), "configOptions": config_options(mode)}


def directory_name(name: str, value: object) -> str:
    """A directory as sessions have it, whether or not it is still there.

    Raises:
        RequestError: it is not absolute.
    """
    if not isinstance(value, str) or not os.path.isabs(value):  # noqa: PTH117
        raise RequestError(f"{name} must be an absolute path to a directory; it is {value!r}.")
    # Dots are resolved as the system does: across a symbolic link, cutting them out names another directory.
    return os.path.realpath(value) if ".." in Path(value).parts else str(Path(value))


def _directory(name: str, value: object) -> Path:
    if not isinstance(value, str) or not os.path.isabs(value):  # noqa: PTH117
        raise RequestError(f"{name} must be an absolute path to a directory; it is {value!r}.")
    try:
        found = os.stat(value)  # noqa: PTH116
    except (OSError, ValueError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) else "it is not a valid path"
        raise RequestError(f"{name} {value!r} cannot be used: {reason}. Open an existing directory.") from problem
    if not stat.S_ISDIR(found.st_mode):
        raise RequestError(f"{name} {value!r} is not a directory.")
    return Path(directory_name(name, value))
