"""`initialize` and the first `session/new`, answered from plain data while the server still loads.

This module and what it imports at its top must stay light: the first answer waits for it.
"""

from __future__ import annotations

import json
import logging
import os
import re
import stat
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from acp_adapter import __version__
from acp_adapter.auth import auth_methods
from acp_adapter.capabilities import ClientCapabilities, client_name, read_capabilities
from acp_adapter.jsonrpc import wire_error
from acp_adapter.transport import Transport
from agent_core.errors import HermesError, RequestError
from agent_core.providers.sign_out import FILE_NAME as SIGNED_OUT
from agent_core.providers.sign_out import SignedOut
from tools.light_dataclass import dataclass
from tools.os_compat import O_CLOEXEC, O_NONBLOCK, one_slash

if TYPE_CHECKING:
    from agent_core.config import Configuration
    from agent_core.home import Home
    from agent_core.mcp.specs import ServerSpec
    from agent_core.settings.options import Option, SessionChoices


# The choices of a new session as they were shown last time: the first `session/new` is answered with them.
# To find them out, settings and models have to be loaded, which takes longer than all else that the answer needs. So
# they are kept in a file of the home, with a digest of everything that they come from: files, variables, the command
# line, and what the client can show. They count only while that is the same. Once the server is loaded they are
# looked at again, and the client is shown what has changed nevertheless. Nothing is decided by that file.

log = logging.getLogger(__name__)

FILE_NAME = "first-answer.json"
_FILES = ("config.yaml", ".env", "model-lists.json", "oauth_tokens.json")
"""What models and their servers are known by, in the home."""
_SAID = re.compile(r"HERMES_|MODEL|PROVIDER|BASE_URL|ENDPOINT|HOST|REGION|PROJECT")
_SECRET = re.compile(r"KEY|TOKEN|SECRET")
"""Whether there is a key decides; some editors make tokens of their own for each start."""
_MOST = 8
"""Clients and command lines of one home that are remembered: an editor each."""
_LOCK_SECONDS = 2.0
_MOST_BYTES = 4 * 1024 * 1024
"""A longer file is none of ours."""


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """What the command line chose."""

    model: str | None = None
    provider: str | None = None
    base_url: str | None = None
    profile: str | None = None
    verbose: bool = False
    record: str | None = None


class Shown(NamedTuple):  # the cheapest to define: this is loaded before the first session
    """What a client was told of a new session.

    Attributes:
        choices: the answer to `session/new` but for the id.
        editor_terminals: the one choice of a session that the settings decide and that needs no question.
    """

    choices: Mapping[str, Any]
    editor_terminals: bool


class FirstAnswer:
    """The memory of one home, for a process with this command line."""

    def __init__(self, home: Home, options: ServerOptions, environ: Mapping[str, str] | None = None) -> None:
        self._home = home
        self._options = options
        self._environ = os.environ if environ is None else environ

    def recall(self, client: ClientCapabilities) -> Shown | None:
        """What such a client was shown when everything was as it is now; None where nobody knows."""
        if os.path.lexists(self._home.root / SIGNED_OUT):
            return None
        try:
            kept = json.loads(_read(os.path.join(self._home.root, FILE_NAME)))  # noqa: PTH118 - as below
            found = kept["answers"][self._origin(client)]
            modes, options, terminals = found["modes"], found["configOptions"], found["editorTerminals"]
        except (OSError, ValueError, LookupError, TypeError, RecursionError):
            return None
        if not (isinstance(modes, dict) and isinstance(options, list) and isinstance(terminals, bool)):
            return None
        return Shown({"modes": modes, "configOptions": options}, terminals)

    def keep(self, client: ClientCapabilities, shown: Shown) -> None:
        """Remember what such a client is shown; where that cannot be written, the next start takes its time."""
        self._change(client, {**shown.choices, "editorTerminals": shown.editor_terminals})

    def forget(self, client: ClientCapabilities) -> None:
        """What such a client was shown is not so: the next start finds out itself."""
        self._change(client, None)

    def _change(self, client: ClientCapabilities, entry: Mapping[str, Any] | None) -> None:
        from agent_core.providers.shared_file import SharedFile, SharedFileError  # noqa: PLC0415 - later

        try:
            with SharedFile(self._home.root / FILE_NAME, durable=False).locked(_LOCK_SECONDS) as draft:
                known = draft.content.get("answers")
                answers = dict(known) if isinstance(known, dict) else {}
                origin = self._origin(client)
                answers.pop(origin, None)
                if entry is not None:
                    answers[origin] = entry
                # The last ones are the youngest.
                draft.content["answers"] = dict([*answers.items()][-_MOST:])
                draft.save()
        except SharedFileError as problem:
            log.info("the first answer is not remembered: %s", problem)

    def _origin(self, client: ClientCapabilities) -> str:
        """A digest of all that the choices come from."""
        import hashlib  # noqa: PLC0415 - after the first answer

        root = self._home.root
        origin = (
            __version__,
            sys.version,
            tuple(client),
            (self._options.model, self._options.provider, self._options.base_url),
            [_stamp(os.path.join(root, name)) for name in _FILES],  # noqa: PTH118 - a Path each is dearer than the rest
            sorted(filter(None, map(_relevant, self._environ.items()))),
        )
        return hashlib.blake2b(repr(origin).encode("utf-8", "replace"), digest_size=20).hexdigest()


def _relevant(variable: tuple[str, str]) -> tuple[str, str] | None:
    name, value = variable
    if _SECRET.search(name.upper()):
        return (name, "set") if value.strip() else None
    return variable if _SAID.search(name.upper()) else None


def _read(path: str) -> bytes:
    """A regular file's content: the first session waits for nothing else.

    Raises:
        OSError, ValueError: there is none.
    """
    descriptor = os.open(path, os.O_RDONLY | O_NONBLOCK | O_CLOEXEC)
    with open(descriptor, "rb") as file:  # noqa: PTH123 - by descriptor
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode) or facts.st_size > _MOST_BYTES:
            raise ValueError("not ours")
        return file.read(_MOST_BYTES)


def _stamp(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - as above
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


# The answers as plain data; `HermesACPAgent` answers with the same functions afterwards, so that there is one truth.

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
    from agent_core.providers.resolve import resolve_model  # noqa: PLC0415 - not needed for initialize
    from agent_core.settings.options import SessionChoices  # noqa: PLC0415 - not needed for initialize

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
    from agent_core.settings.options import SessionChoices  # noqa: PLC0415 - not needed for initialize

    directory, extra, missing = check_place(cwd, additional_directories)
    choices = SessionChoices(editor_terminals=shown.editor_terminals)
    return SessionSeed(new_session_id(), directory, extra, servers_of(mcp_servers), choices, missing)


def _asks_nobody(config: Configuration, roots: Sequence[Path]) -> bool:
    if config.settings.approvals.mode != "off":
        return False
    from agent_core.settings.project import permission_settings  # noqa: PLC0415 - few people turn questions off

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
    from acp_adapter.options import offered_options  # noqa: PLC0415 - not needed for initialize
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
    from acp_adapter.options import mode_state, option_list, parse_mode  # noqa: PLC0415 - not needed for initialize

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
    try:
        path = os.path.join(os.getcwd(), value)  # noqa: PTH109, PTH118
    except OSError as problem:
        raise RequestError(f"cwd must be an absolute path to a directory; it is {value!r}.") from problem
    log.info("cwd %r is relative: it is taken as %s", value, path)
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


# The front door: answers while the server still loads, which takes a third of a second.

# How long the server's loading waits for a `session/new` that follows `initialize`: it would slow that answer down.
_PATIENCE = 0.3


class Warmup:
    """Loads the settings' code, then, after the first session's answer or a short wait, the server's."""

    def __init__(self, load_server: Callable[[], None], load_sdk: Callable[[], None]) -> None:
        self._load_server = load_server
        self._load_sdk = load_sdk
        self._answered = threading.Event()

    def start(self) -> None:
        """Begin to load, on a thread of its own."""
        threading.Thread(target=self._run, name="warm-up", daemon=True).start()

    def hurry(self) -> None:
        """The first session is answered: load the rest now."""
        self._answered.set()

    def _run(self) -> None:
        import agent_core.config  # noqa: PLC0415
        import agent_core.providers.available_models  # noqa: F401, PLC0415

        self._answered.wait(_PATIENCE)
        self._load_server()
        if not self._answered.is_set():  # there is time: what comes next may need the SDK at once
            self._load_sdk()


def greet(
    transport: Transport,
    configure: Callable[[], Configuration],
    memory: FirstAnswer | None = None,
    load_server: Callable[[], None] = lambda: None,
    load_sdk: Callable[[], None] = lambda: None,
) -> Greeting:
    """Answer what can be answered without the SDK; whatever else comes is put back for the server.

    Args:
        configure: loads the settings; called at the first `session/new` that `memory` does not know the answer to.
        load_server: loads the server's code, on a thread of its own; `load_sdk` the protocol's SDK, where there is
            time.
    """
    greeting = Greeting(memory=memory)
    warmup = Warmup(load_server, load_sdk)
    while message := transport.inbox.take():
        method, params = message.get("method"), message.get("params", {})
        if method == "initialize" and isinstance(params.get("protocolVersion"), int) and "id" in message:
            info = params.get("clientInfo")
            greeting.initialized, greeting.client_name = True, client_name(info)
            greeting.client = read_capabilities(params.get("clientCapabilities"), info)
            transport.answer(message["id"], result=initialize_result(greeting.client))
            warmup.start()
        elif method == "session/new" and greeting.initialized and _well_formed(params):
            opened = _answer_session(transport, message, greeting.client, configure, memory)
            greeting.seed, greeting.shown = opened or (None, None)
            break
        else:
            transport.inbox.put_back(message)
            break
    else:
        greeting.ended = True
    warmup.hurry()
    return greeting


def _well_formed(params: dict[str, Any]) -> bool:
    """Whether the SDK would accept these parameters; what it would refuse is left to its own error texts."""
    directories, servers = params.get("additionalDirectories", []), params.get("mcpServers")
    return (
        isinstance(params.get("cwd"), str)
        and isinstance(servers, list)
        and isinstance(directories, list)
        and all(isinstance(path, str) for path in directories)
    )


def _answer_session(
    transport: Transport,
    message: dict[str, Any],
    client: ClientCapabilities,
    configure: Callable[[], Configuration],
    memory: FirstAnswer | None,
) -> tuple[SessionSeed, Shown] | None:
    params = message["params"]
    asked = params["cwd"], params.get("additionalDirectories", []), params["mcpServers"]
    try:
        shown = None if memory is None else memory.recall(client)
        if shown is not None:
            seed = reopen_session(*asked, shown)
        else:
            config = configure()
            seed = open_session(*asked, config)
            shown = shown_of(seed, config, client)
    except HermesError as problem:
        transport.answer(message["id"], error=wire_error(problem))
        return None
    except Exception:  # noqa: BLE001 - the server meets it again, and has a log to tell it to
        transport.inbox.put_back(message)
        return None
    transport.answer(message["id"], result={"sessionId": seed.session_id, **shown.choices})
    return seed, shown
