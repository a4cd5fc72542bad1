"""What a user can set about hooks: the part `hooks` of `config.yaml`, in upstream's form and in the community's."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, get_args

from pydantic import Field, field_validator, model_validator

from agent_core.settings.sections import ToolPart

# The events that hooks hear of, by the names that people write: ours, upstream's, and the community's.

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


_LONGEST = 600.0
_OWN_KEYS = frozenset({"may_allow", "max_continues"})
_ENTRY_KEYS = ("event", "command", "matcher", "timeout", "async", "fail_closed")


class CommandHookPart(ToolPart):
    """A command that is run at an event."""

    event: str = Field(description="The event, by any of its names.")
    command: str = Field(
        min_length=1, description="Run by `/bin/sh` in the session's directory; gets JSON on its standard input."
    )
    matcher: str = Field(
        "", description="Which tools (or whatever the event is told apart by), a regular expression; empty: all."
    )
    timeout: float = Field(60.0, gt=0, allow_inf_nan=False, description="Seconds, 600 at most.")
    in_background: bool = Field(False, alias="async", description="Nobody waits for it, and it decides nothing.")
    refuses: bool | None = Field(
        None,
        alias="fail_closed",
        description="Where it cannot be asked, it is a no; empty: so before tool calls alone. Also `failClosed`.",
    )

    @field_validator("matcher", mode="before")
    @classmethod
    def _an_expression(cls, value: object) -> object:
        text = "" if value is None else value
        if isinstance(text, str) and text not in {"", "*"}:
            try:
                re.compile(text)
            except re.error as problem:
                raise ValueError(f"it must be a regular expression ({problem})") from problem
        return text

    @field_validator("timeout", mode="after")
    @classmethod
    def _not_too_long(cls, value: float) -> float:
        return min(value, _LONGEST)


class HooksPart(ToolPart):
    """Commands of the user's that hear of what happens in a session, and may have a say in it."""

    may_allow: bool = Field(False, description="A hook's yes stands for yours.")
    max_continues: int = Field(
        3, ge=0, le=20, description="How often in one turn hooks may send the model on that wants to end."
    )
    commands: tuple[CommandHookPart, ...] = Field((), description="The hooks, whichever way they are written.")

    left_out: tuple[str, ...] = Field((), description="What of it this program does not know.")

    @model_validator(mode="before")
    @classmethod
    def _as_written(cls, value: object) -> object:
        if not isinstance(value, Mapping):
            return value
        own = {key: value[key] for key in _OWN_KEYS if key in value}
        # The community's files have the events in a `hooks` of their own.
        inner = value.get("hooks")
        events = {**value, **inner} if isinstance(inner, Mapping) else value
        found = [hook for event in events if event in ALL_NAMES for hook in _hooks(event, events[event])]
        ours = [hook for hook in found if hook.get("type", "command") == "command"]
        left_out = [f"{hook['event']} has a hook of type {hook['type']!r}" for hook in found if hook not in ours]
        unknown = [str(key) for key in events if key not in ALL_NAMES | _OWN_KEYS | {"hooks"}]
        left_out += [f"there is no event {name!r}; {near_names(name)}".rstrip("; ") for name in unknown]
        return {**own, "commands": [_entry(hook) for hook in ours], "left_out": left_out}


def _hooks(event: str, written: object) -> Iterator[dict[str, Any]]:
    """The hooks of one event: entries with a command, or groups of them with one matcher.

    Raises:
        ValueError: it is no list of either.
    """
    if written is None:
        return
    if not isinstance(written, list):
        raise _malformed(event)
    for entry in written:
        if not isinstance(entry, Mapping):
            raise _malformed(event)
        inner = entry.get("hooks")
        for hook in inner if isinstance(inner, list) else [entry]:
            if not isinstance(hook, Mapping):
                raise _malformed(event)
            yield {"matcher": entry.get("matcher"), **hook, "event": event}


def _entry(hook: Mapping[str, Any]) -> dict[str, Any]:
    if not isinstance(hook.get("command"), str):
        raise _malformed(hook["event"])
    found = {key: hook[key] for key in _ENTRY_KEYS if hook.get(key) is not None}
    if "failClosed" in hook:
        found.setdefault("fail_closed", hook["failClosed"])
    return found


def _malformed(event: str) -> ValueError:
    return ValueError(f"{event} must be a list of entries with a command")
