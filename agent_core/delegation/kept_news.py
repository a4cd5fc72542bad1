"""What the person and the model are told of a copy that is kept, because not all of it was brought back."""

from __future__ import annotations

from collections.abc import Sequence

from agent_core.background.news import News
from agent_core.delegation.copies import Change, Copy
from agent_core.leavings import how_to_apply
from tools.context import AgentReport

_MOST_NAMED = 20
_GOAL_CHARS = 200


def how(copy: Copy) -> str:
    """How who has had the work done has the rest, where that is told at once."""
    return f"To have it: {how_to_apply(copy.top, copy.rest)}" if copy.rest.exists() else ""


def how_later(copy: Copy) -> str:
    """The same for the person, once the turn is over, and with it any other copy that this one was made of."""
    return f"To have it: {_command(copy)}" if copy.rest.exists() else ""


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
        f"back when {why}{_of_a_copy(copy)} All of its work is in {copy.tree}, for a week. {_rest(copy)}"
    )
    return News(report.agent, "told", title, text)


def _of_a_copy(copy: Copy) -> str:
    if copy.origin == copy.top:
        return ""
    return " That was to another copy, which is given up: of what was brought back to it nothing may be there."


def _rest(copy: Copy) -> str:
    if not copy.rest.exists():
        return "There are no patches of it. Take from it only what the person wants."
    return f"This brings the rest back: `{_command(copy)}`. Do it only if the person wants it."


def _command(copy: Copy) -> str:
    return how_to_apply(copy.origin, copy.rest, settled=copy.origin != copy.top)
