"""The tool `todo`: the plan that the model keeps and the person sees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, get_args

from tools import arguments
from tools.context import AgentServices, TodoItem, require_context
from tools.errors import ToolError
from tools.registry import registry
from tools.result import ShownText, ToolResult, plain

Status = Literal["pending", "in_progress", "completed", "cancelled"]
Priority = Literal["high", "medium", "low"]

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "todos": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "id": {"type": "string"},
                    "content": {"type": "string"},
                    "status": {"type": "string", "enum": list(get_args(Status))},
                    "priority": {"type": "string", "enum": list(get_args(Priority))},
                },
            },
        },
        "merge": {"type": "boolean", "description": "Change items by id, keep the rest"},
    },
}
DESCRIPTION = (
    "Your plan for work of three or more steps; without todos it returns the list. "
    "Keep one item in_progress, and mark each completed as soon as it is done."
)
_MAX_ITEMS = 256
_MAX_CHARS = 4000
_MARKS = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]", "cancelled": "[-]"}


def todo(args: Mapping[str, Any], **kw: Any) -> ToolResult:
    """Show or change the plan.

    Args:
        args: todos, merge as in SCHEMA.
        kw: `ctx`, the call's ToolContext.

    With `merge`, an item that is known keeps what is not given of it, and what is new comes last; without, the list
    is the whole plan. Nothing changes unless every item is valid.

    Returns:
        how many items have each status; without `todos` the list, too.

    Raises:
        ToolError: an item is not valid, or there is no agent that keeps the plan.
    """
    agent = require_context(kw).agent
    if agent is None:
        raise ToolError("There is no plan here: this tool needs a running agent.")
    given = args.get("todos")
    if given is not None:
        _store(agent, given, merge=arguments.boolean(args, "merge"))
    return _told(agent.todos(), listed=given is None)


def _store(agent: AgentServices, given: Sequence[Mapping[str, Any]], *, merge: bool) -> None:
    before = {item.id: item for item in agent.todos()}
    kept = dict(before) if merge else {}
    seen: set[str] = set()
    for number, value in enumerate(given, 1):
        item = _merged(value, number, before) if merge else _item(value, number, {}, _hint(value, before))
        if item.id in seen:
            raise ToolError(f"Two items have the id {item.id!r}; give each its own. The plan was not changed.")
        seen.add(item.id)
        kept[item.id] = item
    if len(kept) > _MAX_ITEMS:
        raise ToolError(f"A plan holds at most {_MAX_ITEMS} items, not {len(kept)}. The plan was not changed.")
    agent.set_todos(tuple(kept.values()))


def _hint(value: Mapping[str, Any], known: Collection[str]) -> str:
    """What was probably meant by an item without content that is in the plan."""
    meant = str(value.get("id")).strip() in known
    return " To change only some fields of an item, set merge to true." if meant else ""


def _merged(value: Mapping[str, Any], number: int, before: Mapping[str, TodoItem]) -> TodoItem:
    if str(value.get("id", "")).strip() in {"", "None"}:
        raise ToolError(f"Item {number} of todos has no id; with merge each needs one. The plan was not changed.")
    return _item(value, number, before, "")


def _item(value: Mapping[str, Any], number: int, known: Mapping[str, TodoItem], hint: str) -> TodoItem:
    item_id = str(value.get("id", number)).strip()
    old = known.get(item_id)
    content = str(value.get("content") or (old.content if old else "")).strip()
    status: Status = value.get("status", old.status if old else "pending")
    priority: Priority = value.get("priority", old.priority if old else "medium")
    if not content:
        raise ToolError(f"Item {item_id!r} has no content. The plan was not changed.{hint}")
    if len(content) > _MAX_CHARS:
        raise ToolError(
            f"The content of item {item_id!r} has {len(content)} characters, and may have {_MAX_CHARS}. "
            "Shorten it; the plan was not changed."
        )
    return TodoItem(item_id, content, status, priority)


def _told(items: Sequence[TodoItem], *, listed: bool) -> ToolResult:
    counts = Counter(item.status for item in items)
    payload: dict[str, Any] = {
        "todos": [_as_json(item) for item in items],
        "counts": {"total": len(items), **{status: counts[status] for status in get_args(Status)}},
    }
    ending = [", ".join(f"{counts[status]} {status}" for status in get_args(Status) if counts[status])]
    if counts["in_progress"] > 1:
        payload["warning"] = f"{counts['in_progress']} items are in_progress; work on one at a time."
        ending.append(payload["warning"])
    shown = "\n".join(f"{_MARKS[item.status]} {item.content}" for item in items) or "The plan is empty."
    # The model has just written what it would be told.
    body = "\n".join(_line(item) for item in items) if listed else ""
    if not items:
        body = "The plan is empty."
    return plain(body, ending, payload, ShownText(shown), counts=payload["counts"])


def _line(item: TodoItem) -> str:
    priority = "" if item.priority == "medium" else f" ({item.priority})"
    return f"{_MARKS[item.status]} {item.id}: {item.content}{priority}"


def _as_json(item: TodoItem) -> dict[str, str]:
    value = {"id": item.id, "content": item.content, "status": item.status}
    return value if item.priority == "medium" else {**value, "priority": item.priority}


registry.register(
    name="todo", toolset="planning", schema=SCHEMA, handler=todo, description=DESCRIPTION, parallel="never"
)
