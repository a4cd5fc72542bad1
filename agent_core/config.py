"""The user's settings: one model, read from `config.yaml`, `.env`, the environment and the command line.

And the secrets in them, which may never leave.
"""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import yaml
from pydantic import ValidationError

from agent_core.errors import SettingsError
from agent_core.home import Home
from agent_core.own_files import read_text, why_unreadable
from agent_core.providers.catalog import plain
from agent_core.providers.shared_file import SharedFileError
from agent_core.providers.token_store import FILE_NAME, TokenStore
from agent_core.settings.keyring import KeptVariables, with_keyring
from agent_core.settings.model import SHARED_PARTS, ServerSettings, Settings, normalized
from agent_core.settings.validation import describe, told, unknown_keys
from tools.light_dataclass import dataclass
from tools.redaction import secret_values

if TYPE_CHECKING:
    from agent_core.settings.mcp import McpServerPart


@dataclass(frozen=True, slots=True)
class Overrides:
    """The command line's choice of a model; None where it says nothing."""

    model: str | None = None
    provider: str | None = None
    base_url: str | None = None


@dataclass(frozen=True, slots=True)
class Configuration:
    """The settings with where they came from.

    Attributes:
        environ: the process's environment over the home's `.env`; for our own use, never for children.
        warnings: what was ignored, for the log and `doctor`.
        broken_servers: by name, what is wrong with entries of `providers` and `custom_providers` that were left out.
        broken_mcp: the same of `mcp_servers`.
    """

    settings: Settings
    home: Home
    environ: Mapping[str, str] = field(repr=False)
    overrides: Overrides = field(default_factory=Overrides)
    warnings: tuple[str, ...] = ()
    broken_servers: Mapping[str, str] = field(default_factory=dict)
    broken_mcp: Mapping[str, str] = field(default_factory=dict)


def load(home: Home, overrides: Overrides | None = None, environ: Mapping[str, str] | None = None) -> Configuration:
    """Read the settings.

    Raises:
        SettingsError: a file cannot be read, or a value in it is wrong; key, value and file are named.
    """
    raw = _read_yaml(home.config_file)
    settings, left_out = _validated(raw, home.config_file)
    unused = (f"hooks: {text}; it is left out" for text in settings.hooks.left_out)
    warnings = (
        *(key.text for key in unknown_keys(raw)),
        *(f"{entry.text}; it is left out" for entry in left_out),
        *unused,
    )
    process = os.environ if environ is None else environ
    return Configuration(
        settings,
        home,
        with_keyring(read_env(home.env_file), process),
        overrides or Overrides(),
        tuple(f"{home.config_file}: {text}" for text in warnings),
        {entry.server: entry.text for entry in left_out if entry.server},
        {entry.mcp: entry.text for entry in left_out if entry.mcp},
    )


_Stamps = tuple[tuple[int, int] | None, tuple[int, int] | None]
"""Which `config.yaml` and which `.env` were read."""


class ConfigSource:
    """The settings as they are now: read at first use and again after `config.yaml` or `.env` changed."""

    def __init__(
        self,
        home: Home,
        overrides: Overrides | None = None,
        on_load: Callable[[Configuration], object] = lambda _: None,
    ) -> None:
        """Read from `home`; `on_load` is told of the settings each time they are read."""
        self.home = home
        self._overrides = overrides
        self._on_load = on_load
        self._lock = threading.Lock()
        self._loaded: tuple[_Stamps, Configuration] | None = None

    def load(self) -> Configuration:
        """The current settings.

        Raises:
            SettingsError: as `load` does.
        """
        stamps, loaded = self._stamps(), self._loaded
        # Without the lock: many sessions that open at once would wait for each other at each look.
        if loaded is not None and loaded[0] == stamps:
            return loaded[1]
        with self._lock:
            stamps, loaded = self._stamps(), self._loaded
            if loaded is None or loaded[0] != stamps:
                loaded = self._loaded = stamps, load(self.home, self._overrides)
                self._on_load(loaded[1])
            return loaded[1]

    def _stamps(self) -> _Stamps:
        return _stamp(self.home.config_file), _stamp(self.home.env_file)


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        text = read_text(path)
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError) as problem:
        raise _unreadable(path, problem) from problem
    try:
        value = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe
    except (yaml.YAMLError, ValueError, RecursionError) as problem:  # ValueError: a date that there is not
        where = _one_line(problem).replace('"<unicode string>"', path.name)
        raise SettingsError(f"{path} is not valid YAML: {where}. Mend that line.") from problem
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise SettingsError(f"{path} must hold settings as `key: value` lines; it holds a {type(value).__name__}.")
    return value


def read_env(path: Path) -> dict[str, str]:
    """The variables that an .env file sets; none where there is no such file.

    Raises:
        SettingsError: it cannot be read.
    """
    if not path.is_file():
        return {}
    from dotenv import dotenv_values  # noqa: PLC0415 - only for those who have the file

    try:
        # Editors of Windows put a mark at the beginning, which is no part of the first name.
        text = read_text(path).removeprefix("\ufeff")
    except (OSError, UnicodeDecodeError) as problem:
        raise _unreadable(path, problem) from problem
    values = dotenv_values(stream=io.StringIO(text), interpolate=False)
    return {key: value for key, value in values.items() if value is not None}


def _unreadable(path: Path, problem: OSError | UnicodeDecodeError) -> SettingsError:
    return SettingsError(f"{path} could not be read: {why_unreadable(problem)}. Make it readable, or move it away.")


@dataclass(frozen=True, slots=True)
class _LeftOut:
    """An entry of a shared part that cannot be used: what is wrong, and the name if it is a server's (`mcp`: MCP)."""

    text: str
    server: str = ""
    mcp: str = ""


def _validated(raw: Mapping[str, Any], path: Path) -> tuple[Settings, list[_LeftOut]]:
    try:
        return Settings.model_validate(raw), []
    except ValidationError as problem:
        first = problem
    usable, left_out = _without_wrong_entries(raw, first)
    try:
        return Settings.model_validate(usable), left_out
    except ValidationError as problem:
        raise SettingsError(describe(problem, path)) from problem


def _without_wrong_entries(raw: Mapping[str, Any], problem: ValidationError) -> tuple[dict[Any, Any], list[_LeftOut]]:
    """The settings without the entries of shared parts that are wrong: they may be other programs'."""
    known = normalized(raw)
    found: dict[tuple[Any, ...], list[str]] = {}
    for error in problem.errors(include_url=False):
        if error["loc"][0] in SHARED_PARTS:
            found.setdefault(tuple(error["loc"][:2]), []).append(told(error))
    left_out = [
        _LeftOut("; ".join(texts), _server_name(known, place), str(place[-1]) if place[0] == "mcp_servers" else "")
        for place, texts in found.items()
    ]
    for part in {place[0] for place in found}:
        known[part] = _rest(known[part], {place[1] for place in found if place[0] == part and len(place) > 1})
    return {part: value for part, value in known.items() if value is not None}, left_out


def _server_name(known: Mapping[Any, Any], place: tuple[Any, ...]) -> str:
    if place[0] == "providers" and len(place) > 1:
        return plain(str(place[1]))
    if place[0] == "custom_providers" and len(place) > 1:
        entry = known[place[0]][place[1]]
        return plain(str(entry.get("name") or "")) if isinstance(entry, Mapping) else ""
    return ""


def _rest(part: object, wrong: Collection[object]) -> object:
    """A part without these entries; None where the part itself is wrong."""
    if wrong and isinstance(part, Mapping):
        return {key: value for key, value in part.items() if key not in wrong}
    if wrong and isinstance(part, list):
        return [value for index, value in enumerate(part) if index not in wrong]
    return None


def _one_line(problem: Exception) -> str:
    return " ".join(str(problem).split())


# The secrets of settings and stored sign-ins, by their value: what may never leave with logs, errors and exports.

_SECRET_HEADERS = ("auth", "key", "token", "secret", "cookie")


def secrets_of(config: Configuration) -> frozenset[str]:
    """Keys, header values and passwords in `config.yaml`, secret variables, and the tokens of stored sign-ins."""
    settings = config.settings
    servers = (
        settings.model,
        *settings.providers.values(),
        *settings.custom_providers,
        *settings.fallback_providers,
        *settings.auxiliary.values(),
    )
    written = [value for server in servers for value in _of_server(server, config.environ)]
    written += [value for mcp in settings.mcp_servers.values() for value in _of_mcp(mcp)]
    return frozenset((*written, *secret_values(config.environ), *_of_sign_ins(config)))


def teach(learn: Callable[[Collection[str]], object], config: Configuration) -> None:
    """Tell `learn` the secrets of the settings, and those of the system's keyring once they are read."""
    learn(secrets_of(config))
    if isinstance(config.environ, KeptVariables):
        config.environ.on_read(learn)


def _of_sign_ins(config: Configuration) -> frozenset[str]:
    path = config.home.root / FILE_NAME
    if not path.exists():  # most people have keys
        return frozenset()
    from agent_core.mcp.oauth import ServerTokens  # noqa: PLC0415 - as few people have sign-ins

    try:
        return TokenStore(path).secrets() | ServerTokens(path.parent).secrets()
    except SharedFileError:  # whoever signs in with it is told
        return frozenset()


def _of_server(server: ServerSettings, environ: Mapping[str, str]) -> Iterator[str]:
    for key in server.keys:
        # `${NAME}` is the variable NAME, whatever it is called.
        name = key.removeprefix("${").removesuffix("}") if key.startswith("${") else ""
        yield environ.get(name, "") if name else key
    if server.key_env:
        yield environ.get(server.key_env, "")
    for name, value in server.headers.items():
        if any(word in name.lower() for word in _SECRET_HEADERS):
            # «Bearer abc» is a secret in its last part.
            yield value.rpartition(" ")[2]
    if server.base_url:
        yield _password_in(server.base_url)


def _of_mcp(server: McpServerPart) -> Iterator[str]:
    """What is written into a server's entry; the variables that it names are known by their names."""
    for name, value in (*server.env.items(), *server.headers.items()):
        if any(word in name.lower() for word in _SECRET_HEADERS) and "${" not in value:
            yield value.rpartition(" ")[2]
    yield server.oauth.client_secret
    yield _password_in(server.url)


def _password_in(address: str) -> str:
    try:
        return urlsplit(address).password or ""
    except ValueError:  # brackets without an IPv6 address in them
        return ""
