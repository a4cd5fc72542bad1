"""The tool `skills_list`: which skills there are. Nothing is asked: it shows heads of files only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tools import arguments
from tools.context import require_context
from tools.registry import registry
from tools.result import ShownText, ToolResult, ok
from tools.skills.asking import skills_of
from tools.skills.port import SkillFacts

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"category": {"type": "string"}}}
DESCRIPTION = "List the skills, with what is wrong with broken ones."

_MOST, _MOST_PROBLEMS = 150, 20
_WIDTH, _REASON = 300, 300


def skills_list(args: Mapping[str, Any], **kw: Any) -> ToolResult:
    """List skills by name.

    Args:
        args: as in SCHEMA.
        kw: `ctx`, the call's ToolContext.

    Returns:
        JSON with skills (name, description, category, origin), and problems (place, reason).

    Raises:
        ToolError: this session has no skills at all.
    """
    skills = skills_of(require_context(kw))
    wanted = arguments.text(args, "category", "").strip().strip("/")
    found = [skill for skill in skills.listed() if not wanted or _is_in(skill, wanted)]
    payload: dict[str, Any] = {"skills": [_told(skill) for skill in found[:_MOST]]}
    problems = [] if wanted else skills.problems()
    if problems:
        payload["problems"] = [
            {"place": problem.place, "reason": problem.reason[:_REASON]} for problem in problems[:_MOST_PROBLEMS]
        ]
    if len(found) > _MOST or len(problems) > _MOST_PROBLEMS:
        left = f"{max(0, len(found) - _MOST)} skills and {max(0, len(problems) - _MOST_PROBLEMS)} problems"
        payload["note"] = f"{left} are left out: name a category."
    elif not found:
        categories = sorted({skill.category for skill in skills.listed() if skill.category})
        payload["note"] = f"There are none. Categories: {', '.join(categories) or 'none'}."
    shown = "\n".join(f"{skill.address}: {skill.description[:_WIDTH]}" for skill in found[:_MOST])
    return ok(payload, ShownText(shown or "There are none."))


def _is_in(skill: SkillFacts, category: str) -> bool:
    return skill.category == category or skill.category.startswith(f"{category}/")


def _told(skill: SkillFacts) -> dict[str, Any]:
    told = {"name": skill.address, "description": skill.description[:_WIDTH], "origin": skill.origin}
    return {**told, "category": skill.category} if skill.category else told


registry.register(
    name="skills_list",
    toolset="skills",
    schema=SCHEMA,
    handler=skills_list,
    description=DESCRIPTION,
    parallel="safe",
)
