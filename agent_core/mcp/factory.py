"""Makes the MCP servers of a session: the client's, and those of the settings. Light: no SDK."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from agent_core.config import Configuration
from agent_core.mcp.specs import Certificates, OAuthClient, Sampling, ServerPolicy, ServerSpec, Transport
from agent_core.providers.resolve import variables_named
from agent_core.remote.target import OwnVariables
from agent_core.settings.mcp import McpServerPart

if TYPE_CHECKING:
    from agent_core.cancel import CancelToken
    from agent_core.mcp.session_servers import SessionServers
    from agent_core.messages import Message
    from agent_core.model_request.side_models import AuxiliaryClient, Completion
    from agent_core.service_loop import ServiceLoop
    from agent_core.settings.model import Settings
    from tools.environments.guardian import Guardian


# Those of the settings, as they are connected to.

_REFERENCE = re.compile(r"\$\{(?:env:)?([^}]+)\}")


class _Unset(Exception):
    """A variable that a server needs is not set."""


def configured_servers(config: Configuration, cwd: Path) -> tuple[ServerSpec, ...]:
    """The servers of `mcp_servers` that are enabled, for a session in `cwd`, in the order of the file.

    `${NAME}` is the variable NAME of `.env` or the environment. A server that lacks one, or is not described as it
    must be, is there with its `problem`: it is told where the others are shown.
    """
    found = [
        _spec(name, part, config, cwd) for name, part in config.settings.mcp_servers.items() if part.enabled
    ]  # fmt: skip
    broken = [
        ServerSpec(name, "stdio", problem=f"{text}. Correct it in {config.home.config_file}.")
        for name, text in config.broken_mcp.items()
        if name != "mcp_servers"
    ]
    return (*found, *broken)


def joined(given: Sequence[ServerSpec], configured: Sequence[ServerSpec]) -> tuple[ServerSpec, ...]:
    """The client's servers and those of the settings; of two with one name the client's."""
    names = {spec.name for spec in given}
    return (*given, *(spec for spec in configured if spec.name not in names))


def _spec(name: str, part: McpServerPart, config: Configuration, cwd: Path) -> ServerSpec:
    policy, transport = _policy(part, config.settings.mcp.sampling), _transport(part)
    words = _Words(config.environ, cwd)
    try:
        spec = ServerSpec(
            name,
            transport,
            command=os.path.expanduser(words(part.command)),  # noqa: PTH111 - a program's name, not always a path
            args=tuple(map(words, part.args)),
            env=tuple((key, words(value)) for key, value in part.env.items()),
            url=words(part.url),
            headers=tuple((key, words(value)) for key, value in part.headers.items()),
            cwd=words.path(part.cwd),
            policy=policy,
            oauth=OAuthClient(
                words(part.oauth.client_id),
                words(part.oauth.client_secret),
                part.oauth.scope,
                part.oauth.redirect_port,
            ),
            certificates=Certificates(
                *(words.path(each) for each in (part.ca_file, part.client_cert, part.client_key))
            ),
        )
    except _Unset as missing:
        problem = f"The variable {missing} is not set. Put it into {config.home.env_file}, or into the environment."
        return ServerSpec(name, transport, policy=policy, problem=problem)
    return spec if transport == "stdio" or _is_address(spec.url) else ServerSpec(name, transport, problem=_NO_ADDRESS)


_NO_ADDRESS = "Its url is no address. It begins with http:// or https://, as in https://mcp.example.com/mcp."


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        _ = parts.port  # not a number, or too big
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)


def _transport(part: McpServerPart) -> Transport:
    if part.command.strip():
        return "stdio"
    return "sse" if part.transport == "sse" else "http"


def _policy(part: McpServerPart, sampling: Sampling) -> ServerPolicy:
    return ServerPolicy(
        call_seconds=part.timeout,
        connect_seconds=part.connect_timeout,
        include=part.tools.include,
        exclude=part.tools.exclude,
        resources=part.tools.resources,
        prompts=part.tools.prompts,
        sampling=sampling if part.sampling.enabled else "off",
        sampling_tokens=part.sampling.max_tokens_cap,
        sampling_per_minute=part.sampling.max_rpm,
        asks=part.elicitation.enabled,
        ping_every=part.keepalive_interval,
    )


class _Words:
    """Puts values in the place of `${…}`."""

    def __init__(self, environ: Mapping[str, str], cwd: Path) -> None:
        self._environ = environ
        self._places = {
            "userHome": str(Path.home()),
            "workspaceFolder": str(cwd),
            "workspaceFolderBasename": cwd.name,
            "pathSeparator": os.sep,
            "/": os.sep,
        }

    def __call__(self, text: str) -> str:
        """`text` with its values.

        Raises:
            _Unset: one has none.
        """
        return _REFERENCE.sub(self._value, text)

    def path(self, text: str) -> str:
        """`text` with its values, and with the home for a «~».

        Raises:
            _Unset: one has none.
        """
        return os.path.expanduser(self(text))  # noqa: PTH111 - '' stays ''

    def _value(self, found: re.Match[str]) -> str:
        name = found[1]
        value = self._places.get(name, self._environ.get(name))
        if value is None:
            raise _Unset(name)
        return value


_SIDE_TASK = "mcp"


def session_servers(
    given: Sequence[ServerSpec],
    config: Configuration,
    roots: Sequence[Path],
    *,
    loop: ServiceLoop,
    guardian: Guardian,
    auxiliary: AuxiliaryClient,
) -> SessionServers:
    """The servers of a session, not started yet.

    Args:
        given: the client's; of two of one name, the client's is used.
        roots: the session's directories, its own first.
        auxiliary: asks models for servers that want it.
    """
    from agent_core.mcp.oauth import ServerTokens  # noqa: PLC0415
    from agent_core.mcp.session_servers import SessionServers  # noqa: PLC0415

    settings, cwd = config.settings.mcp, roots[0]
    theirs = [replace(spec, policy=replace(spec.policy, sampling=settings.sampling)) for spec in given]

    def sample(
        messages: Sequence[Message], tokens: int, temperature: float | None, end: CancelToken
    ) -> Completion | None:
        return auxiliary.complete(_SIDE_TASK, messages, max_tokens=tokens, temperature=temperature, token=end)

    return SessionServers(
        joined(theirs, configured_servers(config, cwd)),
        cwd,
        loop=loop,
        guardian=guardian,
        variables=variables_of(config.settings),
        roots=roots,
        sampler=sample,
        tokens=ServerTokens(config.home.root),
        search=settings.tool_search,
        search_share=settings.tool_search_share,
    )


def variables_of(settings: Settings) -> Mapping[str, str]:
    """What the environment of servers' programs is made from: this process's, without what the settings take keys
    from.
    """
    return OwnVariables(variables_named(settings))


def wants_servers(given: Sequence[ServerSpec], config: Configuration) -> bool:
    """Whether a session has servers at all; most have none, and load nothing for them."""
    return bool(given or config.broken_mcp or any(one.enabled for one in config.settings.mcp_servers.values()))
