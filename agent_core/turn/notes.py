"""What the model is told beside the person's words: the mode, and tools that came after its first request."""

from __future__ import annotations

from agent_core.services import SessionServices
from agent_core.workspace import Workspace
from tools.approval.approvals import plan_note

_MOST_NAMED = 30


def notes_beside(services: SessionServices, workspace: Workspace) -> str:
    """All that the model is told as a turn begins; '' for nothing."""
    copied = "" if workspace.copied is None else workspace.copied.take_words()
    return "\n\n".join(filter(None, (plan_note(workspace.approvals), copied, _new_tools(services, workspace))))


def _new_tools(services: SessionServices, workspace: Workspace) -> str:
    """Which tools are new; '' for none, or in its first turn."""
    if services.tools is None:
        return ""
    known = {told.partition(" ")[0] for told in services.extra_tools}
    new = [entry.name for entry in workspace.tools.extra() if entry.name not in known]
    if not new:
        return ""
    more = f" and {len(new) - _MOST_NAMED} more" if len(new) > _MOST_NAMED else ""
    return f"[Not from the user: you have new tools now: {', '.join(new[:_MOST_NAMED])}{more}.]"
