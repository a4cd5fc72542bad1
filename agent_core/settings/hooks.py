"""What a user can set about hooks: the part `hooks` of `config.yaml`, in upstream's form and in the community's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import Field, field_validator, model_validator

from agent_core.hooks.names import ALL_NAMES, near_names
from agent_core.settings.tools import ToolPart

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
