"""The tool `skill_manage`: the model writes down how a kind of work is done, for later sessions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tools import arguments
from tools.context import require_context
from tools.errors import ToolError
from tools.registry import registry
from tools.result import ToolResult, ok
from tools.skills.asking import skills_of
from tools.skills.changing import Changes, Done

_DOING: Mapping[str, Callable[[Changes, str, Mapping[str, Any]], Done]] = {
    "create": Changes.create,
    "patch": Changes.patch,
    "edit": Changes.edit,
    "delete": Changes.delete,
    "write_file": Changes.write_file,
    "remove_file": Changes.remove_file,
}
_ACTIONS = tuple(_DOING)

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "action": {"type": "string", "enum": list(_ACTIONS)},
        "name": {"type": "string"},
        "content": {"type": "string", "description": "create, edit: the whole SKILL.md"},
        "category": {"type": "string"},
        "file_path": {"type": "string", "description": "below references, templates, scripts or assets"},
        "file_content": {"type": "string"},
        "old_string": {"type": "string"},
        "new_string": {"type": "string"},
        "replace_all": {"type": "boolean"},
    },
    "required": ["action", "name"],
}
DESCRIPTION = (
    "Write or fix a skill of the user's. SKILL.md: a YAML head between --- lines with name and description (what it "
    "does, when to use it), then instructions. patch replaces a unique old_string."
)


def skill_manage(args: Mapping[str, Any], **kw: Any) -> ToolResult:
    """Create, change or delete a skill; each file is asked about.

    Args:
        args: as in SCHEMA.
        kw: `ctx`, the call's ToolContext.

    Returns:
        JSON with name, status (created, changed, unchanged, deleted), the file and where it is; of a deleted skill
        where its copy is.

    Raises:
        ToolError: it cannot be done, is no skill any more then, or was refused; nothing was changed.
        ToolInterrupted.
    """
    ctx = require_context(kw)
    skills = skills_of(ctx)
    action = arguments.choice(args, "action", _ACTIONS, "")
    name = arguments.text(args, "name").strip()
    if not action:
        raise ToolError(f"The argument 'action' is missing: one of {', '.join(_ACTIONS)}.")
    done = _DOING[action](Changes(skills, ctx), name, args)
    payload: dict[str, Any] = {"name": done.name, "status": done.status}
    if done.file:
        payload["file"] = done.file
    if done.paths and done.status != "deleted":
        payload["path"] = done.paths[0]
    if done.copy is not None:
        payload["copy"] = str(done.copy)
    if done.status == "created" and done.file == "SKILL.md":
        payload["note"] = "The user can type it as a command now; new sessions are told of it."
    return ok(payload, *done.shown, paths=done.paths)


registry.register(
    name="skill_manage",
    toolset="skills",
    schema=SCHEMA,
    handler=skill_manage,
    description=DESCRIPTION,
)
