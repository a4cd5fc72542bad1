"""The services of an agent that nobody has given any: in memory, and for its own life."""

from __future__ import annotations

from agent_core.background.processes import follow
from agent_core.compaction.compactor import with_engine
from agent_core.services import SessionServices
from agent_core.workspace import Workspace


def own_services(session_id: str, workspace: Workspace) -> SessionServices:
    """Services with the engine that compresses, which hear of the workspace's background processes."""
    services = with_engine(SessionServices(), session_id)
    if workspace.processes is not None:
        follow(workspace.processes, services.news, services.tasks, session_id)
    return services
