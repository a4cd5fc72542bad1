"""What a server offers, as far as it can be used: tools, prompts, resources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from agent_core.mcp.schemas import Schema, UnusableSchema, safe_schema, short_description
from agent_core.mcp.specs import ServerPolicy, State
from tools.approval.mcp_pins import ToolPin, pin_of
from tools.light_dataclass import dataclass
from tools.untrusted.invisible import made_visible, without_controls

_MOST_PROMPTS = 100
_MOST_RESOURCES = 1_000
_LONGEST_LINE = 300


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool as its server names it, with a schema that models' servers take.

    Attributes:
        pin: of all that the server says of it, as it came.
    """

    name: str
    description: str
    schema: Schema
    pin: ToolPin = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class PromptArgument:
    """Something that a prompt wants to know."""

    name: str
    description: str = ""
    required: bool = False


@dataclass(frozen=True, slots=True)
class OfferedPrompt:
    """A prompt as its server names it."""

    name: str
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()


@dataclass(frozen=True, slots=True)
class OfferedResource:
    """A resource, or with `is_template` a kind of them, whose `uri` has parts in braces to be filled in."""

    uri: str
    name: str = ""
    description: str = ""
    kind: str = ""
    is_template: bool = False


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A server's state as it was last; replaced as a whole, so any thread may read it.

    Attributes:
        left_out: for each of its tools that cannot be used, why.
        retry: when a failed one is tried again, in words; '' where it is not.
        fault: why its calls fail although it is connected; '' while they do not.
    """

    state: State = "connecting"
    error: str = ""
    tools: tuple[OfferedTool, ...] = ()
    left_out: tuple[str, ...] = ()
    prompts: tuple[OfferedPrompt, ...] = ()
    resources: tuple[OfferedResource, ...] = ()
    retry: str = ""
    fault: str = ""


def usable_tools(
    raw: Sequence[Mapping[str, Any]], policy: ServerPolicy, program: Mapping[str, Any]
) -> tuple[tuple[OfferedTool, ...], tuple[str, ...]]:
    """The tools that are used, and for those that cannot be, why.

    Args:
        program: what their server is.
    """
    tools: dict[str, OfferedTool] = {}
    left_out: list[str] = []
    for tool in raw:
        name = tool.get("name")
        if not isinstance(name, str) or not name or name in tools:
            left_out.append(f"{name!r}: its name is missing or taken")
            continue
        if not _is_visible(name):
            left_out.append(f"{made_visible(name)}: its name holds characters that nobody sees")
            continue
        if not policy.uses(name):
            continue
        try:
            schema = safe_schema(tool.get("inputSchema"))
        except UnusableSchema as problem:
            left_out.append(f"{name}: {without_controls(str(problem))}")
            continue
        description = short_description(tool.get("description") or tool.get("title"))
        tools[name] = OfferedTool(name, description, schema, pin_of(program, tool))
    return tuple(tools.values()), tuple(left_out)


def usable_prompts(raw: Sequence[Mapping[str, Any]]) -> tuple[OfferedPrompt, ...]:
    """The prompts that have a name that can be seen, by name; at most a hundred."""
    found = {
        name: OfferedPrompt(name, _line(entry, "description", "title"), _arguments(entry.get("arguments")))
        for entry in raw
        if (name := _name(entry))
    }
    return tuple(found[name] for name in sorted(found))[:_MOST_PROMPTS]


def usable_resources(
    raw: Sequence[Mapping[str, Any]], templates: Sequence[Mapping[str, Any]]
) -> tuple[OfferedResource, ...]:
    """The resources that have an address that can be seen, then the kinds of them."""
    found = [_resource(entry, "uri") for entry in raw] + [_resource(entry, "uriTemplate") for entry in templates]
    return tuple(resource for resource in found if resource.uri)[:_MOST_RESOURCES]


def _resource(entry: Mapping[str, Any], key: str) -> OfferedResource:
    uri = entry.get(key)
    return OfferedResource(
        uri if isinstance(uri, str) and _is_visible(uri) else "",
        _line(entry, "title", "name"),
        _line(entry, "description"),
        _line(entry, "mimeType"),
        key == "uriTemplate",
    )


def _arguments(raw: object) -> tuple[PromptArgument, ...]:
    entries = [entry for entry in raw if isinstance(entry, Mapping)] if isinstance(raw, list) else []
    return tuple(
        PromptArgument(name, _line(entry, "description", "title"), entry.get("required") is True)
        for entry in entries
        if (name := _name(entry))
    )


def _name(entry: Mapping[str, Any]) -> str:
    """The name by which the server knows it; '' where there is none, or it cannot be seen."""
    name = entry.get("name")
    return _line(entry, "name") if isinstance(name, str) and _is_visible(name) else ""


def _is_visible(name: str) -> bool:
    """Whether a name can be shown, and sent back, as it is."""
    return without_controls(name) == name


def _line(entry: Mapping[str, Any], *keys: str) -> str:
    """The first of these that is a text, on one line, as it can be seen."""
    found = next((value for key in keys if isinstance(value := entry.get(key), str) and value.strip()), "")
    return " ".join(without_controls(found).split())[:_LONGEST_LINE]
