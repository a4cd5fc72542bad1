"""`initialize` and `session/new` as plain data: the front door answers with these before the SDK is loaded, and
`HermesACPAgent` answers with the same functions afterwards, so that there is one truth.

This module and what it imports at its top must stay light: the first answer waits for it.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from acp_adapter import __version__
from acp_adapter.auth import auth_methods
from acp_adapter.capabilities import ClientCapabilities
from acp_adapter.first_answer import FirstAnswer, Shown
from agent_core.errors import HermesError, RequestError
from tools.light_dataclass import dataclass
from tools.os_compat import one_slash

if TYPE_CHECKING:
    from agent_core.choices import SessionChoices
    from agent_core.config import Configuration
    from agent_core.mcp.specs import ServerSpec
    from agent_core.options import Option

PROTOCOL_VERSION = 1


class MissingDirectory(NamedTuple):
    """A further directory of a session that cannot be used, and why."""

    path: Path
    reason: str


class Directories(NamedTuple):
    """Where a session works: its directory, further ones, and those of the latter that are not there."""

    cwd: Path
    roots: tuple[Path, ...]
    missing: tuple[MissingDirectory, ...]


@dataclass(frozen=True, slots=True)
class SessionSeed:
    """A new session as far as the handshake makes it; `SessionManager` grows the rest when the server is up.

    Attributes:
        servers: the MCP servers that the client wants in it.
        missing: further directories that the client named and that are not there.
    """

    session_id: str
    cwd: Path
    extra_roots: tuple[Path, ...]
    servers: tuple[ServerSpec, ...]
    choices: SessionChoices
    missing: tuple[MissingDirectory, ...] = ()

    @property
    def named_roots(self) -> tuple[str, ...]:
        """All further directories that the client named, as they are stored: one may be there again next time."""
        return tuple(str(path) for path in (*self.extra_roots, *(each.path for each in self.missing)))


@dataclass(slots=True)
class Greeting:
    """What the front door has agreed with the client when the server takes over.

    Attributes:
        initialized: `initialize` was answered.
        client: what the client can do, read once.
        client_name: as the client calls itself.
        ended: the client is gone already.
        shown: what the client was told of the session.
        memory: where that is remembered for the next start.
    """

    initialized: bool = False
    client: ClientCapabilities = field(default_factory=ClientCapabilities)
    client_name: str = ""
    seed: SessionSeed | None = None
    ended: bool = False
    shown: Shown | None = None
    memory: FirstAnswer | None = None


def initialize_result(client: ClientCapabilities) -> dict[str, Any]:
    """The answer to `initialize`: always our own protocol version, whatever number the client sent.

    It needs no settings and no credentials.

    Args:
        client: what the client can do.
    """
    return {
        "protocolVersion": PROTOCOL_VERSION,
        "agentInfo": {"name": "hermes-acp", "title": "Hermes", "version": __version__},
        "agentCapabilities": {
            "loadSession": True,
            "auth": {"logout": {}},
            "promptCapabilities": {"image": True, "audio": True, "embeddedContext": True},
            "mcpCapabilities": {"http": True, "sse": True},
            "sessionCapabilities": {
                "additionalDirectories": {},
                "close": {},
                "delete": {},
                "fork": {},
                "list": {},
                "resume": {},
            },
            "_meta": {
                "hermes": {
                    "fork": {"messageId": True},
                    "rewind": {"method": "_hermes/session/rewind"},
                    "activity": {"method": "_hermes/session/activity"},
                    "tasks": {"method": "_hermes/session/tasks"},
                    "backgroundTurns": True,
                }
            },
        },
        "authMethods": auth_methods(client, sys.orig_argv),
        # Where clients of other agents look for `_session/steering`.
        "_meta": {"steering": {"supported": True}},
    }


def check_place(cwd: object, additional_directories: Sequence[object]) -> Directories:
    """The directories of a session. Without a further one it can still work; without its own it cannot.

    Raises:
        RequestError: `cwd` is not there, or a further one is not absolute.
    """
    place = Path(directory_name("cwd", cwd))
    if problem := _problem_of(place):
        raise RequestError(f"cwd {cwd!r} cannot be used: {problem}. Open an existing directory.")
    roots, missing = [], []
    for name in additional_directories:
        root = Path(directory_name("additionalDirectories", name))
        if problem := _problem_of(root):
            missing.append(MissingDirectory(root, problem))
        else:
            roots.append(root)
    return Directories(place, tuple(roots), tuple(missing))


def open_session(
    cwd: object, additional_directories: Sequence[object], mcp_servers: Sequence[object], config: Configuration
) -> SessionSeed:
    """Check what `session/new` asks for and make a session of it.

    Raises:
        RequestError: its directory is not there, or an MCP server is not described as it must be.
        AuthRequired: no usable model is configured, or the person has signed out.
        SettingsError: the settings contradict themselves.
    """
    from agent_core.choices import SessionChoices  # noqa: PLC0415 - not needed for initialize
    from agent_core.providers.resolve import resolve_model  # noqa: PLC0415 - not needed for initialize
    from agent_core.signed_out import SignedOut  # noqa: PLC0415 - not needed for initialize

    directory, extra, missing = check_place(cwd, additional_directories)
    SignedOut(config.home).check()
    resolve_model(config)
    choices = SessionChoices(
        mode="dont_ask" if _asks_nobody(config, (directory, *extra)) else "default",
        editor_terminals=config.settings.editor.terminals,
    )
    return SessionSeed(new_session_id(), directory, extra, servers_of(mcp_servers), choices, missing)


def reopen_session(
    cwd: object, additional_directories: Sequence[object], mcp_servers: Sequence[object], shown: Shown
) -> SessionSeed:
    """The same where all that the settings say of it is known from last time. Questions are asked as usual.

    Raises:
        RequestError: as `open_session` does.
    """
    from agent_core.choices import SessionChoices  # noqa: PLC0415 - not needed for initialize

    directory, extra, missing = check_place(cwd, additional_directories)
    choices = SessionChoices(editor_terminals=shown.editor_terminals)
    return SessionSeed(new_session_id(), directory, extra, servers_of(mcp_servers), choices, missing)


def _asks_nobody(config: Configuration, roots: Sequence[Path]) -> bool:
    if config.settings.approvals.mode != "off":
        return False
    from agent_core.permission_settings import permission_settings  # noqa: PLC0415 - few people turn questions off

    # A project may want more questions than the user.
    return permission_settings(config, roots).mode == "off"


def servers_of(mcp_servers: Sequence[object]) -> tuple[ServerSpec, ...]:
    """The MCP servers that a client names, as plain data or as the SDK has them.

    Raises:
        RequestError: one is not described as it must be.
    """
    if not mcp_servers:
        return ()
    from acp_adapter.mcp_specs import read_servers  # noqa: PLC0415 - most sessions have none

    return read_servers(mcp_servers)


def new_session_id() -> str:
    """An id that no other session has."""
    return f"ses_{os.urandom(12).hex()}"


def first_options(seed: SessionSeed, config: Configuration, client: ClientCapabilities) -> tuple[Option, ...]:
    """Everything that can be chosen for a session that was not used yet; no server is asked."""
    from acp_adapter.options.offering import offered_options  # noqa: PLC0415 - not needed for initialize
    from agent_core.providers.available_models import ModelLists  # noqa: PLC0415

    return offered_options(seed.choices, config, ModelLists(config.home).offered(config), client)


def shown_of(seed: SessionSeed, config: Configuration, client: ClientCapabilities) -> Shown:
    """What such a client is shown of a new session."""
    options = first_options(seed, config, client)
    return Shown(session_choices(options, client), seed.choices.editor_terminals)


def looked_again(greeting: Greeting, config: Configuration) -> bool:
    """Remember for the next start what the first session's answer is now. Blocks.

    Returns:
        Whether the client was told something else.

    Raises:
        HermesError: it could not be opened any more.
    """
    seed, shown, memory = greeting.seed, greeting.shown, greeting.memory
    if seed is None or shown is None or memory is None:
        return False
    try:
        fresh = open_session(str(seed.cwd), [str(root) for root in seed.extra_roots], (), config)
    except HermesError:
        # The next start must say it at once.
        memory.forget(greeting.client)
        raise
    now, known = shown_of(fresh, config, greeting.client), memory.recall(greeting.client)
    # That nobody is asked is never taken from a file that only remembers; nor that somebody is, where it depends on
    # the directory.
    if config.settings.approvals.mode == "off":
        if known is not None:
            memory.forget(greeting.client)
    elif known != now:
        memory.keep(greeting.client, now)
    return now != shown


def session_result(session_id: str, options: Sequence[Option], client: ClientCapabilities) -> dict[str, Any]:
    """The answer to `session/new` and `session/fork`."""
    return {"sessionId": session_id, **session_choices(options, client)}


def session_choices(options: Sequence[Option], client: ClientCapabilities) -> dict[str, Any]:
    """What can be chosen in a session: the answer to `session/load` and `session/resume`."""
    from acp_adapter.option_list import option_list  # noqa: PLC0415 - not needed for initialize
    from acp_adapter.options.modes import mode_state, parse_mode  # noqa: PLC0415

    mode = next(option.value for option in options if option.id == "mode")
    return {"modes": mode_state(parse_mode(mode)), "configOptions": option_list(options, client)}


def directory_name(name: str, value: object) -> str:
    """A directory as sessions have it, whether or not it is still there.

    Raises:
        RequestError: it is not absolute, and not `cwd`, which is taken from the process's own directory then.
    """
    is_path = isinstance(value, str) and "\0" not in value and (os.path.isabs(value) or (name == "cwd" and value))  # noqa: PTH117
    if not isinstance(value, str) or not is_path:
        raise RequestError(f"{name} must be an absolute path to a directory; it is {value!r}.")
    path = value if os.path.isabs(value) else _from_own_directory(value)  # noqa: PTH117
    # Dots are resolved as the system does: across a symbolic link, cutting them out names another directory.
    return one_slash(os.path.realpath(path) if ".." in Path(path).parts else str(Path(path)))


def _from_own_directory(value: str) -> str:
    """A relative `cwd`, which some clients send as they were given it: they start us where they mean it."""
    import logging  # noqa: PLC0415 - most clients send what the protocol wants

    try:
        path = os.path.join(os.getcwd(), value)  # noqa: PTH109, PTH118
    except OSError as problem:
        raise RequestError(f"cwd must be an absolute path to a directory; it is {value!r}.") from problem
    logging.getLogger(__name__).info("cwd %r is relative: it is taken as %s", value, path)
    return path


def _problem_of(directory: Path) -> str:
    """Why a directory cannot be worked in; '' if it can."""
    try:
        found = os.stat(directory)  # noqa: PTH116
    except OSError as problem:
        return problem.strerror or type(problem).__name__
    except ValueError:
        return "it is not a valid path"
    return "" if stat.S_ISDIR(found.st_mode) else "it is not a directory"
