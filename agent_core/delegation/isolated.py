"""Sub-agents that work on copies: what they change is brought back as edits of the call that delegates."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent_core.delegation.copies import Change, Copy
from agent_core.delegation.making import Plan
from agent_core.delegation.reports import bounded
from tools.context import ToolContext
from tools.delegation_port import AgentReport
from tools.environments.output_file import save_text
from tools.errors import Denied, FileAccessError, ToolError, ToolInterrupted
from tools.result import ShownDiff

if TYPE_CHECKING:
    from agent_core.delegation.delegator import TurnDelegation

_ID_BYTES = 4
_MOST_NAMED = 20


def run_isolated(delegation: TurnDelegation, plans: Sequence[Plan], call: ToolContext) -> list[AgentReport]:
    """Do what is planned, each on a copy of the session's work tree; then bring back what was changed.

    Raises:
        ToolError: there can be no copies here.
        ToolInterrupted: the turn is over; the copies are gone, but those that were only to be brought back.
    """
    with contextlib.ExitStack() as stack:
        copies, there = [], []
        for plan in plans:
            copy = delegation.copy(f"copy-{secrets.token_hex(_ID_BYTES)}", call.interrupt)
            stack.callback(copy.drop)
            workspace = delegation.workspace_at(copy)
            stack.callback(workspace.close)
            copies.append(copy)
            # Its sub-agents are among the session's, which ends them.
            there.append(replace(plan, workspace=replace(workspace, children=delegation.workspace.children)))
        reports = delegation.work(there, call)
        told, waiting = list[AgentReport](), list(copies)
        try:
            for copy, report in zip(copies, reports, strict=True):
                brought = _brought_back(copy, report, call, delegation)
                told.append(bounded(brought, len(plans), call, delegation.file_of))
                waiting.remove(copy)
        except ToolInterrupted:
            # Their work is done, and would be lost.
            if kept := [str(copy.tree) for copy in waiting if _keep(copy)]:
                call.progress(f"Not brought back, and kept for a week: {', '.join(kept)}\n")
            raise
        return told


def _keep(copy: Copy) -> bool:
    """Keep a copy in which something was changed."""
    with contextlib.suppress(ToolError):
        if not copy.changes():
            return False
    copy.keep()
    return True


def _brought_back(copy: Copy, report: AgentReport, call: ToolContext, delegation: TurnDelegation) -> AgentReport:
    """The report with what became of the changes. Each is an edit that the person is asked about as about any other.

    What cannot be brought back stays in the copy, which is kept then.
    """
    try:
        changes = copy.changes()
    except ToolError as problem:
        copy.keep()
        return replace(report, files=(), kept=f"{problem} The copy is kept: {copy.tree}")
    if not changes:
        return replace(report, files=())
    file = delegation.file_of(f"{report.agent}-patch")
    saved = None if file is None else save_text(copy.patch().decode("utf-8", "replace"), file)
    brought, open_ones, refused = list[Path](), list[str](), list[str]()
    for change in changes:
        path = copy.top / change.path
        why, is_refused = _bring(change, path, call)
        if not why:
            brought.append(path)
            if change.is_made_executable:
                refused.append(f"{change.path} is brought back, but may not be executed yet: chmod +x it")
        else:
            (refused if is_refused else open_ones).append(f"{change.path} {why}")
    if open_ones:
        copy.keep()
    return replace(
        report,
        files=tuple(copy.top / change.path for change in changes),
        brought=tuple(brought),
        patch=None if saved is None else saved.path,
        kept=_kept(open_ones, refused, copy),
        diffs=tuple(diff for change in changes if (diff := _diff(change, copy)) is not None),
    )


def _bring(change: Change, path: Path, call: ToolContext) -> tuple[str, bool]:
    """Make a change in the session's directory; why not, if it cannot be made, and whether the person said no."""
    if change.obstacle:
        return change.obstacle, False
    try:
        if change.after is None:
            call.fs.remove(path, expected=change.before or b"")
        else:
            call.fs.write(path, change.after, expected=change.before)
    except Denied as no:
        return f"was refused: {no}", True
    except FileAccessError as problem:
        return f"is another now than when the copy was made: {problem}", False
    return "", False


def _kept(open_ones: Sequence[str], refused: Sequence[str], copy: Copy) -> str:
    parts = [*refused, *open_ones]
    if not parts:
        return ""
    more = f"; and {len(parts) - _MOST_NAMED} more" if len(parts) > _MOST_NAMED else ""
    where = f" The copy is kept for a week: {copy.tree}" if open_ones else ""
    return f"{'; '.join(parts[:_MOST_NAMED])}{more}.{where}"


def _diff(change: Change, copy: Copy) -> ShownDiff | None:
    contents = (change.before, change.after)
    if change.obstacle or any(b"\0" in content for content in contents if content is not None):
        return None
    before, after = (None if content is None else content.decode("utf-8", "replace") for content in contents)
    return ShownDiff(copy.top / change.path, before, after)
