"""Makes the MCP servers of a session: the client's, and those of the settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent_core.config import Configuration
from agent_core.own_variables import OwnVariables
from agent_core.providers.resolve import variables_named

if TYPE_CHECKING:
    from agent_core.auxiliary.asking import Completion
    from agent_core.auxiliary.client import AuxiliaryClient
    from agent_core.interrupt import CancelToken
    from agent_core.mcp.service_loop import ServiceLoop
    from agent_core.mcp.session_servers import SessionServers
    from agent_core.mcp.specs import ServerSpec
    from agent_core.messages import Message
    from agent_core.settings.model import Settings
    from tools.environments.guardian import Guardian

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
    from agent_core.mcp.configured import configured_servers, joined  # noqa: PLC0415 - most sessions have no servers
    from agent_core.mcp.session_servers import SessionServers  # noqa: PLC0415
    from agent_core.mcp.token_file import ServerTokens  # noqa: PLC0415

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
