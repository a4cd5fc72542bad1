"""What `hermes-acp doctor` says of the MCP servers of the settings: a line for each."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from acp_adapter.cli.doctor_checks import Check

if TYPE_CHECKING:
    from agent_core.home import Home
    from agent_core.mcp.specs import ServerSpec
    from agent_core.mcp.token_file import ServerTokens

_NAME = "mcp server"
_AT_ONCE = 4


def check_servers(home: Home) -> Iterator[Check]:
    """Whether what the settings say of each server can be right; none is started."""
    found = _servers(home)
    if found is not None:
        specs, tokens, _ = found
        yield from (_told(spec, tokens) for spec in specs)


def try_servers(home: Home) -> Iterator[Check]:
    """Whether each server can be connected to; a few at once."""
    found = _servers(home)
    if found is None:
        return
    specs, tokens, variables = found
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        yield from pool.map(lambda spec: _tried(spec, tokens, variables), specs)


def _servers(home: Home) -> tuple[tuple[ServerSpec, ...], ServerTokens, Mapping[str, str]] | None:
    """The servers, the sign-ins, and what programs' environments are made from; None where the settings cannot be
    read, which another check tells.
    """
    from agent_core.config import load  # noqa: PLC0415 - loads what settings are made of
    from agent_core.errors import SettingsError  # noqa: PLC0415
    from agent_core.mcp.configured import configured_servers  # noqa: PLC0415
    from agent_core.mcp.making import variables_of  # noqa: PLC0415
    from agent_core.mcp.token_file import ServerTokens  # noqa: PLC0415

    try:
        config = load(home)
    except SettingsError:
        return None
    return configured_servers(config, Path.cwd()), ServerTokens(home.root), variables_of(config.settings)


def _told(spec: ServerSpec, tokens: ServerTokens) -> Check:
    if spec.problem:
        return Check(_NAME, ok=False, text=f"{spec.name}: {spec.problem}")
    if spec.transport == "stdio":
        path = dict(spec.env).get("PATH") or os.environ.get("PATH")
        there = shutil.which(spec.command, path=path) is not None
        step = "" if there else "Install it, or give its absolute path in mcp_servers."
        text = f"{spec.name}: {spec.command}" if there else f"{spec.name}: there is no program {spec.command}"
        return Check(_NAME, ok=there, text=text, next_step=step)
    from agent_core.providers.credentials.shared_file import SharedFileError  # noqa: PLC0415 - as above

    try:
        state = " (signed in)" if tokens.has(spec.url) else ""
    except SharedFileError as problem:
        return Check(_NAME, ok=False, text=f"{spec.name}: {problem.public}")
    return Check(_NAME, ok=True, text=f"{spec.name}: {spec.place()}{state}")


def _tried(spec: ServerSpec, tokens: ServerTokens, variables: Mapping[str, str]) -> Check:
    from agent_core.mcp.errors import McpFailure  # noqa: PLC0415 - loads the SDK
    from agent_core.mcp.signing_in import look  # noqa: PLC0415

    try:
        found = look(spec, Path.cwd(), tokens, variables)
    except McpFailure as problem:
        return Check(_NAME, ok=False, text=f"{spec.name}: {problem}")
    offers = f"{found.tools} tools, {found.prompts} prompts, {found.resources} resources"
    return Check(_NAME, ok=True, text=f"{spec.name} is connected: {offers}")
