"""The MCP servers of the settings: a line for each."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from acp_adapter.cli.doctor.case import Case
from acp_adapter.cli.doctor.finding import Finding, failing, well
from tools.environments.program_finder import PROGRAMS

if TYPE_CHECKING:
    from agent_core.mcp.specs import ServerSpec
    from agent_core.mcp.token_file import ServerTokens

NAME = "mcp server"
_AT_ONCE = 4


def check_servers(case: Case) -> Iterator[Finding]:
    """Whether what the settings say of each server can be right; none is started."""
    found = _servers(case)
    if found is not None:
        specs, tokens, _ = found
        yield from (_told(spec, tokens) for spec in specs)


def try_servers(case: Case) -> Iterator[Finding]:
    """Whether each server can be connected to; a few at once."""
    found = _servers(case)
    if found is None:
        return
    specs, tokens, variables = found
    places, told = threading.Semaphore(_AT_ONCE), [queue.SimpleQueue[Finding]() for _ in specs]

    def work(spec: ServerSpec, answer: queue.SimpleQueue[Finding]) -> None:
        with places:
            answer.put(_tried(spec, tokens, variables))

    # Daemons, and no pool: the process does not wait at its end for a server that hangs.
    for spec, answer in zip(specs, told, strict=True):
        threading.Thread(target=work, args=(spec, answer), name=f"doctor-mcp-{spec.name}", daemon=True).start()
    for answer in told:
        yield answer.get()


def _servers(case: Case) -> tuple[tuple[ServerSpec, ...], ServerTokens, Mapping[str, str]] | None:
    """The servers, the sign-ins, and what programs' environments are made from; None where the settings cannot be
    read, which another check tells.
    """
    config = case.config()
    if config is None:
        return None
    from agent_core.mcp.configured import configured_servers  # noqa: PLC0415 - after the settings
    from agent_core.mcp.making import variables_of  # noqa: PLC0415 - the same
    from agent_core.mcp.token_file import ServerTokens  # noqa: PLC0415 - the same

    return configured_servers(config, Path.cwd()), ServerTokens(case.home.root), variables_of(config.settings)


def _told(spec: ServerSpec, tokens: ServerTokens) -> Finding:
    if spec.problem:
        return failing(NAME, f"{spec.name}: {spec.problem}", "Correct its entry in mcp_servers.", server=spec.name)
    if spec.transport == "stdio":
        path = dict(spec.env).get("PATH") or os.environ.get("PATH")
        if PROGRAMS.find(spec.command, path) is not None:
            return well(NAME, f"{spec.name}: {spec.command}", server=spec.name)
        step = "Install it, or give its absolute path in mcp_servers."
        return failing(NAME, f"{spec.name}: there is no program {spec.command}", step, server=spec.name)
    from agent_core.providers.shared_file import SharedFileError  # noqa: PLC0415 - as above

    try:
        state = " (signed in)" if tokens.has(spec.url) else ""
    except SharedFileError as problem:
        return failing(NAME, f"{spec.name}: {problem.public}", server=spec.name)
    return well(NAME, f"{spec.name}: {spec.place()}{state}", server=spec.name)


def _tried(spec: ServerSpec, tokens: ServerTokens, variables: Mapping[str, str]) -> Finding:
    from agent_core.mcp.errors import McpFailure  # noqa: PLC0415 - loads the SDK
    from agent_core.mcp.signing_in import look  # noqa: PLC0415 - the same

    try:
        found = look(spec, Path.cwd(), tokens, variables)
    except (McpFailure, OSError) as problem:
        return failing(NAME, f"{spec.name}: {problem}", f"`hermes-acp mcp test {spec.name}` tries it alone.")
    offers = f"{found.tools} tools, {found.prompts} prompts, {found.resources} resources"
    return well(NAME, f"{spec.name} is connected: {offers}", server=spec.name, tools=found.tools)
