"""The events that hooks hear of, by the names that people write: ours, upstream's, and the community's."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Literal, get_args

HookName = Literal[
    "session_start",
    "session_end",
    "prompt",
    "pre_model_call",
    "post_model_call",
    "pre_tool_call",
    "post_tool_call",
    "permission",
    "notification",
    "pre_compact",
    "stop",
    "subagent_stop",
]

HOOK_NAMES: tuple[HookName, ...] = get_args(HookName)

COMMUNITY: Mapping[str, HookName] = {
    "SessionStart": "session_start",
    "SessionEnd": "session_end",
    "UserPromptSubmit": "prompt",
    "PreToolUse": "pre_tool_call",
    "PostToolUse": "post_tool_call",
    "PermissionRequest": "permission",
    "Notification": "notification",
    "PreCompact": "pre_compact",
    "Stop": "stop",
    "SubagentStop": "subagent_stop",
}
"""As command hooks of many agents have them; whoever writes these gets the JSON of that form."""

UPSTREAM: Mapping[str, HookName] = {
    "on_session_start": "session_start",
    "on_session_end": "session_end",
    "pre_llm_call": "prompt",
    "pre_api_request": "pre_model_call",
    "post_api_request": "post_model_call",
    "transform_tool_result": "post_tool_call",
    "pre_approval_request": "permission",
    "post_llm_call": "stop",
}
"""Those of upstream that are called otherwise here."""

OBSERVERS = frozenset(
    {"pre_api_request", "post_api_request", "pre_approval_request", "post_llm_call", "on_session_end"}
)
"""Names of upstream under which a hook only looks: what it answers is passed over."""

ALL_NAMES = frozenset({*HOOK_NAMES, *COMMUNITY, *UPSTREAM})

_TOOLS: Mapping[str, str] = {
    "Bash": "terminal",
    "Read": "read_file",
    "Write": "write_file",
    "Edit": "patch",
    "MultiEdit": "patch",
    "Grep": "search_files",
    "Glob": "search_files",
    "WebFetch": "web_extract",
    "WebSearch": "web_search",
    "TodoWrite": "todo",
    "Task": "delegate_task",
    "Skill": "skill_view",
}


def event_of(written: str) -> HookName | None:
    """The event that a name means; None where there is no such one."""
    if written in COMMUNITY:
        return COMMUNITY[written]
    if written in UPSTREAM:
        return UPSTREAM[written]
    return next((name for name in HOOK_NAMES if name == written), None)


def near_names(written: str) -> str:
    """The names that somebody may have meant, in a sentence; '' for none."""
    near = difflib.get_close_matches(written, sorted(ALL_NAMES), n=2)
    return f"did you mean {' or '.join(near)}?" if near else ""


def community_tool(name: str) -> str:
    """What the community calls a tool of ours; its own name where it has no other."""
    return next((theirs for theirs, ours in _TOOLS.items() if ours == name), name)


def names_of_tool(name: str) -> tuple[str, ...]:
    """All names by which a tool may be meant, ours first."""
    return (name, *(theirs for theirs, ours in _TOOLS.items() if ours == name))
