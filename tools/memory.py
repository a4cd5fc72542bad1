"""The tool `memory`: short entries that later sessions begin with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from tools import arguments
from tools.context import require_context
from tools.errors import ToolError
from tools.memory_port import MemoryAction, MemoryChange, MemoryOperation, MemoryTarget
from tools.registry import registry
from tools.result import ShownDiff, ShownText, ToolResult, ok

_STEP: dict[str, Any] = {
    "action": {"type": "string", "enum": list(get_args(MemoryAction))},
    "content": {"type": "string"},
    "old_text": {"type": "string"},
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "action": _STEP["action"],
        "target": {
            "type": "string",
            "enum": list(get_args(MemoryTarget)),
            "description": "memory: your notes; user: who the user is and wants",
        },
        "content": {"type": "string", "description": "The new entry"},
        "old_text": {"type": "string", "description": "Unique part of the entry to change"},
        "operations": {
            "type": "array",
            "items": {"type": "object", "properties": _STEP},
            "description": "Several steps, all or none",
        },
    },
}
DESCRIPTION = "Remember short facts over sessions, or forget them. What you remember is in your instructions."
_MOST_OPERATIONS = 50
_ACTIONS: Mapping[str, MemoryAction] = {each: each for each in get_args(MemoryAction)}
_TARGETS: Mapping[str, MemoryTarget] = {each: each for each in get_args(MemoryTarget)}


def memory(args: Mapping[str, Any], **kw: Any) -> ToolResult:
    """Change one of the two memory files.

    Args:
        args: action, target, content, old_text, or operations in their place, as in SCHEMA.
        kw: `ctx`, the call's ToolContext.

    Returns:
        JSON with how full the file is, and the difference for the person.

    Raises:
        ToolError: it cannot be done as asked; nothing was changed. Denied: it may not be done.
    """
    notes = require_context(kw).memory
    if notes is None:
        raise ToolError("Nothing can be remembered here: no memory belongs to this session, or it may only be read.")
    target = _TARGETS[arguments.choice(args, "target", list(_TARGETS), "memory")]
    change = notes.plan(target, _operations(args))
    # Where nothing changes, nobody has to be asked.
    done = change if change.after == change.before and not change.notes else notes.commit(change)
    return _told(done)


def _operations(args: Mapping[str, Any]) -> Sequence[MemoryOperation]:
    given = args.get("operations")
    if not given:
        return (_operation(args, ""),)
    if args.get("action"):
        raise ToolError("Give either action or operations, not both. Nothing was changed.")
    if len(given) > _MOST_OPERATIONS:
        raise ToolError(f"A batch has at most {_MOST_OPERATIONS} operations, not {len(given)}. Nothing was changed.")
    return [_operation(each, f"Operation {number}: ") for number, each in enumerate(given, 1)]


def _operation(args: Mapping[str, Any], where: str) -> MemoryOperation:
    action = _ACTIONS.get(arguments.text(args, "action", "").strip().lower())
    if action is None:
        raise ToolError(f"{where}action has to be add, replace or remove. Nothing was changed.")
    content, old_text = arguments.text(args, "content", ""), arguments.text(args, "old_text", "")
    if action != "remove" and not content.strip():
        raise ToolError(f"{where}{action} needs content, the text of the entry. Nothing was changed.")
    # Some models name what is to go in `content`.
    wanted = old_text or (content if action == "remove" else "")
    if action != "add" and not wanted.strip():
        raise ToolError(f"{where}{action} needs old_text, a unique part of the entry. Nothing was changed.")
    return MemoryOperation(action, content if action != "remove" else "", wanted if action != "add" else "")


def _told(change: MemoryChange) -> ToolResult:
    is_changed = change.after != change.before
    payload: dict[str, Any] = {
        "result": "Saved; later sessions begin with it." if is_changed else "It is there already: nothing changed.",
        "usage": change.usage,
        "entries": change.entries,
    }
    if change.notes:
        payload["notes"] = list(change.notes)
    shown = (ShownDiff(change.path, change.before or None, change.after),) if is_changed else ()
    return ok(payload, *shown, ShownText("\n".join([f"{change.path.name}: {change.usage}", *change.notes])))


registry.register(
    name="memory", toolset="memory", schema=SCHEMA, handler=memory, description=DESCRIPTION, parallel="never"
)
