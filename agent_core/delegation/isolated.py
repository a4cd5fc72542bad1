"""Sub-agents that work on copies: what they change is brought back as edits of the call that delegates."""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent_core.delegation.copies import Change, Copy
from agent_core.delegation.kept_news import crashed, how, how_later, kept
from agent_core.delegation.making import Plan
from agent_core.delegation.reports import bounded
from agent_core.emptied import remove_emptied
from tools.context import AgentReport, ToolContext
from tools.environments.output import save_text
from tools.errors import Denied, FileAccessError, ToolError
from tools.light_dataclass import dataclass
from tools.result import ShownDiff

if TYPE_CHECKING:
    from agent_core.delegation.delegator import TurnDelegation

_ID_BYTES = 4
_MOST_NAMED = 20


def run_isolated(delegation: TurnDelegation, plans: Sequence[Plan], call: ToolContext) -> list[AgentReport]:
    """Do what is planned, each on a copy of the session's work tree; then bring back what was changed.

    Raises:
        ToolError: there can be no copies here.
        ToolInterrupted: the turn is over; the copies are gone, but those of which something was still to be brought
            back: the person and the model are told of these.
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
        returns = [_set_aside(copy, report, delegation) for copy, report in zip(copies, reports, strict=True)]
        told = list[AgentReport]()
        try:
            for each in returns:
                told.append(bounded(_brought_back(each, call), len(plans), call, delegation.file_of))
                each.forget()
        except BaseException:
            # Their work is done, and would be lost.
            for each in returns[len(told) :]:
                _keep(each, call, delegation)
            raise
        return told


@dataclass(slots=True)
class _Return:
    """A copy whose changes come back.

    Attributes:
        changes: by the number of their patch; those that are settled go.
        problem: why nothing can be brought back.
        forget: what the session was to know after a crash is not true any more.
    """

    copy: Copy
    report: AgentReport
    changes: dict[int, Change] = field(default_factory=dict)
    patch: Path | None = None
    problem: str = ""
    forget: Callable[[], None] = lambda: None


def _set_aside(copy: Copy, report: AgentReport, delegation: TurnDelegation) -> _Return:
    """Whatever happens from now on, the work in a copy is not lost."""
    try:
        changes = copy.changes()
        if not changes:
            return _Return(copy, report)
        patch = copy.set_aside(changes)
    except (ToolError, OSError) as problem:
        copy.keep()
        return _Return(copy, report, problem=f"{problem}")
    file = delegation.file_of(f"{report.agent}-patch")
    saved = None if file is None else save_text(patch.decode("utf-8", "replace"), file)
    forget = delegation.hold(crashed(copy, report))
    return _Return(copy, report, dict(enumerate(changes)), None if saved is None else saved.path, forget=forget)


def _keep(each: _Return, call: ToolContext, delegation: TurnDelegation) -> None:
    """Keep a copy in which something is left, and tell the person and the model where."""
    copy = each.copy
    if each.changes or each.problem:
        copy.keep()
        call.progress(f"Not brought back, and kept for a week: {copy.tree}\n{how_later(copy)}\n")
        delegation.tell(kept(copy, each.report, list(each.changes.values())), each.forget)
    else:
        each.forget()


def _brought_back(each: _Return, call: ToolContext) -> AgentReport:
    """The report with what became of the changes. Each is an edit that the person is asked about as about any other.

    What cannot be brought back stays in the copy, which is kept then.
    """
    copy, report, changes = each.copy, each.report, dict(each.changes)
    if each.problem:
        return replace(report, files=(), kept=f"{each.problem} The copy is kept: {copy.tree}")
    if not changes:
        return replace(report, files=())
    call.progress(f"{len(changes)} changed files come back. Until then they are in {copy.tree}\n")
    brought, open_ones, refused = list[Path](), list[str](), list[str]()
    # A file may have taken the place of a directory.
    for number, change in sorted(changes.items(), key=lambda each: each[1].after is not None):
        path = copy.top / change.path
        if change.before is None and any(path in gone.parents for gone in brought):
            remove_emptied(path)
        why, is_refused = _bring(change, path, call)
        if not why:
            brought.append(path)
            if change.is_made_executable:
                refused.append(f"{change.path} is brought back, but may not be executed yet: chmod +x it")
        else:
            (refused if is_refused else open_ones).append(f"{change.path} {why}")
        if not why or is_refused:
            copy.settled(number)
            del each.changes[number]
    if open_ones:
        copy.keep()
    return replace(
        report,
        files=tuple(copy.top / change.path for change in changes.values()),
        brought=tuple(brought),
        patch=each.patch,
        kept=_told_open(open_ones, refused, copy),
        diffs=tuple(diff for change in changes.values() if (diff := _diff(change, copy)) is not None),
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


def _told_open(open_ones: Sequence[str], refused: Sequence[str], copy: Copy) -> str:
    parts = [*refused, *open_ones]
    if not parts:
        return ""
    more = f"; and {len(parts) - _MOST_NAMED} more" if len(parts) > _MOST_NAMED else ""
    where = f" The copy is kept for a week: {copy.tree} {how(copy)}" if open_ones else ""
    return f"{'; '.join(parts[:_MOST_NAMED])}{more}.{where}"


def _diff(change: Change, copy: Copy) -> ShownDiff | None:
    contents = (change.before, change.after)
    if change.obstacle or any(b"\0" in content for content in contents if content is not None):
        return None
    before, after = (None if content is None else content.decode("utf-8", "replace") for content in contents)
    return ShownDiff(copy.top / change.path, before, after)
