"""How each tool looks in the editor: one table. A new tool gets an entry here, if it deserves its own look."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from acp_adapter.cards.blocks import text_block
from acp_adapter.cards.mcp_titles import (
    PREFIX,
    called_tool_title,
    found_tool_title,
    more_tools_title,
    readable_name,
    resource_title,
)
from acp_adapter.cards.places import argument_places, edited_places, no_places
from acp_adapter.cards.titles import (
    Arguments,
    command_title,
    edit_title,
    on_path,
    one_line,
    question_title,
    read_title,
    recall_title,
    search_title,
    todo_title,
)
from acp_adapter.cards.tool_titles import (
    copying_title,
    delegation_title,
    fixed,
    goals_of,
    image_title,
    map_title,
    memory_title,
    navigate_title,
    on_element,
    process_title,
    program_title,
    skill_change_title,
    skill_title,
    web_extract_title,
    web_search_title,
)
from tools.light_dataclass import dataclass

Update = dict[str, Any]

_MAX_RAW = 2_000
_MOST_LIVE = 1_200


@dataclass(frozen=True, slots=True)
class Look:
    """How one tool is shown.

    Attributes:
        kind: the ACP tool kind.
        waiting: the title while only the tool's name is known.
        title: the title once the arguments are known; paths come relative to the session's directory.
        places: the places that the arguments name, for an editor that follows along.
        opening: content that the card has from its beginning, and keeps before the reason of a failure.
        while_running: content that stands before what the call prints while it runs.
        keeps_opening: `opening` stays before what came of the call.
        named_by: the argument that the title needs, where one is enough.
        result: what comes of it is content of the card, or goes to its terminal, or is shown elsewhere (the plan has
            its own place).
    """

    kind: str
    waiting: str
    title: Callable[[Arguments, str], str]
    places: Callable[[Arguments, str], list[Update]] = argument_places
    opening: Callable[[Arguments], list[Update]] = lambda _: []
    while_running: Callable[[Arguments], list[Update]] = lambda _: []
    result: Literal["content", "terminal", "elsewhere"] = "content"
    keeps_opening: bool = False
    named_by: str = ""


def _goals(arguments: Arguments) -> list[Update]:
    return [text_block(text) for text in goals_of(arguments)]


def _plan(arguments: Arguments) -> list[Update]:
    plan = arguments.get("plan")
    return [text_block(plan)] if isinstance(plan, str) and plan.strip() else []


def _program(arguments: Arguments) -> list[Update]:
    code = arguments.get("code")
    return [text_block(code, "python")] if isinstance(code, str) and code.strip() else []


def _short_program(arguments: Arguments) -> list[Update]:
    # What is sent again and again is short.
    code = str(arguments.get("code") or "")
    return _program({"code": code if len(code) <= _MOST_LIVE else f"{code[:_MOST_LIVE]}…"})


_LOOKS: dict[str, Look] = {
    "read_file": Look("read", "Read a file", read_title, named_by="path"),
    "write_file": Look(
        "edit", "Write a file", lambda arguments, cwd: on_path("Write", arguments, cwd), named_by="path"
    ),
    "patch": Look("edit", "Edit a file", edit_title, edited_places, named_by="path"),
    "search_files": Look("search", "Search", search_title),
    "terminal": Look("execute", "Run a command", command_title, no_places, result="terminal", named_by="command"),
    "execute_code": Look(
        "execute", "Run a program", program_title, no_places, _program, _short_program, keeps_opening=True
    ),
    "session_search": Look("search", "Search earlier sessions", recall_title, no_places),
    "todo": Look("think", "Plan", todo_title, no_places, result="elsewhere"),
    "clarify": Look("think", "Ask a question", question_title, no_places),
    "exit_plan_mode": Look("switch_mode", "Plan ready", lambda _, __: "Plan ready", no_places, _plan),
    "process": Look("execute", "Background process", process_title, no_places),
    "web_search": Look("fetch", "Search the web", web_search_title, no_places),
    "web_extract": Look("fetch", "Read the web", web_extract_title, no_places),
    "repo_map": Look("search", "Map the code", map_title),
    "vision_analyze": Look("read", "Look at an image", image_title, no_places),
    "browser_navigate": Look("fetch", "Open a page", navigate_title, no_places),
    "browser_snapshot": Look("read", "Look at the page", fixed("Look at the page"), no_places),
    "browser_vision": Look("read", "Look at the page", fixed("Take a picture of the page"), no_places),
    "browser_get_images": Look("read", "List images", fixed("List the page's images"), no_places),
    "browser_console": Look("read", "Read the console", fixed("Read the page's console"), no_places),
    "browser_click": Look("execute", "Click", on_element("Click"), no_places),
    "browser_type": Look("execute", "Type", on_element("Type into"), no_places),
    "browser_press": Look("execute", "Press a key", on_element("Press", "key"), no_places),
    "browser_scroll": Look("execute", "Scroll", on_element("Scroll", "direction"), no_places),
    "browser_back": Look("execute", "Go back", fixed("Go back"), no_places),
    "memory": Look("edit", "Remember", memory_title, no_places),
    "skills_list": Look("read", "List skills", fixed("List skills"), no_places),
    "skill_view": Look("read", "Read a skill", skill_title, no_places),
    "skill_manage": Look("edit", "Change a skill", skill_change_title, no_places),
    "mcp_list_resources": Look("read", "List resources", fixed("List resources of MCP servers"), no_places),
    "mcp_read_resource": Look("read", "Read a resource", resource_title, no_places),
    "mcp_find_tools": Look("search", "Find MCP tools", found_tool_title, no_places),
    "more_tools": Look("search", "Use another tool", more_tools_title, no_places),
    "mcp_call_tool": Look("other", "Call an MCP tool", called_tool_title, no_places),
    "delegate_task": Look("think", "Delegate", delegation_title, no_places, _goals),
    "copy_workspace": Look("other", "Copy the workspace", copying_title("Copy the workspace to", "to"), no_places),
    "bring_back": Look("edit", "Bring changes back", copying_title("Bring changes back from", "from"), no_places),
    "rewind": Look("edit", "Take back", lambda arguments, cwd: on_path("Take back", arguments, cwd)),
}


def look_of(name: str) -> Look:
    """How the tool `name` is shown; a plain look for a tool that the table does not know."""
    known = _LOOKS.get(name)
    if known is not None:
        return known
    title = one_line(readable_name(name)) or "A tool"
    # What a server of the user's calls a path need not be one here.
    return Look("other", title, lambda _, __: title, no_places if name.startswith(PREFIX) else argument_places)


def card_details(name: str, arguments: Arguments, cwd: str, by: str = "") -> Update:
    """Title, kind, places and raw input of a call; `by` is the sub-agent that makes it, '' for the agent itself."""
    look = look_of(name)
    title = one_line(look.title(arguments, cwd)) or look.waiting
    details: Update = {
        "title": one_line(f"{by}: {title}") if by else title,
        "kind": look.kind,
        "rawInput": _clipped(arguments),
    }
    if places := look.places(arguments, cwd):
        details["locations"] = places
    return details


def _clipped(value: Any) -> Any:
    match value:
        case str() if len(value) > _MAX_RAW:
            return f"{value[:_MAX_RAW]}… ({len(value) - _MAX_RAW} more characters)"
        case list():
            return [_clipped(part) for part in value]
        case Mapping():
            return {_clipped(key): _clipped(part) for key, part in value.items()}
    return value
