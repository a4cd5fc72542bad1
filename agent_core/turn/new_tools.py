"""What the model is told of tools that came with a server after its first request."""

from __future__ import annotations

from agent_core.services import SessionServices
from agent_core.workspace import Workspace

_MOST_NAMED = 30


def new_tools_note(services: SessionServices, workspace: Workspace) -> str:
    """A line for the model beside the person's words: which tools are new; '' for none, or in its first turn."""
    if services.tools is None:
        return ""
    known = {told.partition(" ")[0] for told in services.extra_tools}
    new = [entry.name for entry in workspace.tools.extra() if entry.name not in known]
    if not new:
        return ""
    more = f" and {len(new) - _MOST_NAMED} more" if len(new) > _MOST_NAMED else ""
    return f"[Not from the user: you have new tools now: {', '.join(new[:_MOST_NAMED])}{more}.]"
