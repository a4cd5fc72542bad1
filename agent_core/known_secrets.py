"""The secrets of settings and stored sign-ins, by their value: what may never leave with logs, errors and exports."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from agent_core.providers.shared_file import SharedFileError
from agent_core.providers.token_store import FILE_NAME, TokenStore
from agent_core.settings.keyring import KeptVariables
from tools.redaction import secret_values

if TYPE_CHECKING:
    from agent_core.config import Configuration
    from agent_core.settings.mcp import McpServerPart
    from agent_core.settings.model import ServerSettings

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
    from agent_core.mcp.token_file import ServerTokens  # noqa: PLC0415 - as few people have sign-ins

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
