"""Where tools get the session's skills from."""

from __future__ import annotations

from tools.context import ToolContext
from tools.errors import ToolError
from tools.skills.port import Skills


def skills_of(ctx: ToolContext) -> Skills:
    """The session's skills.

    Raises:
        ToolError: there are none here.
    """
    skills = ctx.agent.skills() if ctx.agent is not None else None
    if skills is None:
        raise ToolError("There are no skills in this session: go on without them.")
    return skills
