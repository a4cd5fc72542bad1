"""What the person and the model are told of a copy that is kept, because not all of it was brought back."""

from __future__ import annotations

from collections.abc import Sequence

from agent_core.background.news import News
from agent_core.delegation.copies import Change, Copy
from agent_core.delegation.leavings import how_to_apply
from tools.delegation_port import AgentReport

_MOST_NAMED = 20
_GOAL_CHARS = 200


def how(copy: Copy) -> str:
    """How the person has the rest."""
    return f"To have it: {how_to_apply(copy.top, copy.rest)}"


def kept(copy: Copy, report: AgentReport, changes: Sequence[Change]) -> News:
    """The news that these were not brought back, because the turn was over."""
    names = [str(change.path) for change in changes[:_MOST_NAMED]] or ["what it is, git could not tell"]
    more = f", and {len(changes) - _MOST_NAMED} more" if len(changes) > _MOST_NAMED else ""
    title = f"Work of a sub-agent was not all brought back, and is kept for a week: {copy.tree}"
    return _news(copy, report, title, f"the turn was cancelled. Not brought back: {', '.join(names)}{more}.")


def crashed(copy: Copy, report: AgentReport) -> News:
    """The same for the next process, where this one does not come to tell: what is open is what has a patch."""
    title = f"Work of a sub-agent may not be all brought back, and is kept for a week: {copy.tree}"
    return _news(copy, report, title, "the agent's process died. What has no patch any more is brought back.")


def _news(copy: Copy, report: AgentReport, title: str, why: str) -> News:
    goal = " ".join(report.goal.split())[:_GOAL_CHARS]
    text = (
        f"The sub-agent {report.agent} had done its work on a copy (`{goal}`), and its changes were being brought "
        f"back when {why} All of its work is in {copy.tree}, for a week. This brings the rest back: "
        f"`{how_to_apply(copy.top, copy.rest)}`. Do it only if the person wants it."
    )
    return News(report.agent, "told", title, text)
