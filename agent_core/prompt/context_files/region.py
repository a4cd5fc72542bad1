"""Which rules files a session's permissions let us read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from agent_core.prompt.context_files.nested import NestedRules
from agent_core.prompt.context_files.reading import Region
from agent_core.prompt.context_files.settings import ContextFileSettings
from agent_core.workspace import Workspace
from tools.approval.actions import ReadPath
from tools.approval.policy import denied_by
from tools.approval.sensitive import why_sensitive


def region_of(workspace: Workspace) -> Region:
    """The session's directories, without what holds secrets and what the user's rules deny."""
    rules = workspace.approvals.rules

    def refusal(path: Path) -> str:
        if why := why_sensitive(path, rules.private):
            return why
        if path in rules.closed:
            return "holds this agent's sessions"
        hit = denied_by(ReadPath(path), rules.deny, rules.roots)
        return f"is denied by the user's rule {hit.rule.shown}" if hit is not None else ""

    return Region(rules.roots, refusal)


def nested_rules(workspace: Workspace, settings: ContextFileSettings) -> NestedRules:
    """The rules of the folders in a session's directories; none where these are another machine's."""
    if workspace.elsewhere is not None and not workspace.elsewhere.shared:
        settings = replace(settings, enabled=False)
    return NestedRules(workspace.cwd, workspace.roots, region_of(workspace), settings)
