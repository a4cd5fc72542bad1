"""The MCP servers of the settings, as they are connected to. Light: no SDK."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from agent_core.config import Configuration
from agent_core.mcp.specs import Certificates, OAuthClient, Sampling, ServerPolicy, ServerSpec, Transport
from agent_core.settings.mcp import McpServerPart

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
