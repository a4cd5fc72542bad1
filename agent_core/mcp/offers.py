"""What a server offers, made usable for a model: tools, prompts, resources, and the results of its tools."""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from agent_core.mcp.names import PREFIX, tool_names
from agent_core.mcp.schemas import Schema, UnusableSchema, safe_schema, short_description
from agent_core.mcp.specs import ServerPolicy, State
from agent_core.providers.choice import USUAL_WINDOW, is_small
from agent_core.settings.mcp import ToolSearch
from tools.agent_ports import CALL_BY_NAME, McpTools
from tools.approval.actions import ToolPin, pin_of
from tools.context import ToolContext, require_context
from tools.errors import ToolError
from tools.images import image_facts
from tools.light_dataclass import dataclass
from tools.registry import ToolEntry
from tools.result import ResultImage, ToolResult, error
from tools.toolsets import find
from tools.untrusted.invisible import made_visible, without_controls

# What can be used of it.

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
        if (name := _offered_name(entry))
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
        if (name := _offered_name(entry))
    )


def _offered_name(entry: Mapping[str, Any]) -> str:
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


# What a server's tool answered, for the model: text joined, everything else told in words.

_BASE64_BYTES = 3 / 4
_KILO = 1000


def to_result(raw: Mapping[str, Any]) -> ToolResult:
    """The `CallToolResult` of the protocol, as JSON, as a tool's result.

    `isError` makes it a failed one. Content of kinds that are not known is told by its kind.
    """
    content = raw.get("content")
    blocks = [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []
    text = _text(blocks, raw.get("structuredContent"))
    if raw.get("isError"):
        return error(text or "The tool failed and did not say why.")
    return ToolResult(text or "(The tool returned nothing.)", images=tuple(_images(blocks)))


def to_contents(raw: Mapping[str, Any]) -> ToolResult:
    """The `ReadResourceResult` of the protocol, as JSON, as a tool's result."""
    contents = raw.get("contents")
    found = [part for part in contents if isinstance(part, Mapping)] if isinstance(contents, list) else []
    blocks = [{"type": "resource", "resource": part} for part in found]
    if len(found) == 1 and isinstance(found[0].get("text"), str):
        return ToolResult(found[0]["text"] or "(The resource is empty.)")
    return ToolResult(told_blocks(blocks) or "(The resource is empty.)", images=tuple(_images(blocks)))


def to_words(raw: Mapping[str, Any]) -> ToolResult:
    """The `GetPromptResult` of the protocol, as JSON, as one text; with who says what where several do.

    It goes to the model in the person's place, who sees all of it: what nobody sees is left out.
    """
    messages = raw.get("messages")
    found = [message for message in messages if isinstance(message, Mapping)] if isinstance(messages, list) else []
    said = [
        (_plain(message.get("role", "user")), without_controls(told_blocks(_blocks(message.get("content")))))
        for message in found
    ]
    said = [(role, words) for role, words in said if words]
    if not said:
        return error("The prompt is empty.")
    if all(role == "user" for role, _ in said):
        return ToolResult("\n\n".join(words for _, words in said))
    return ToolResult("\n\n".join(f"[{role}]\n{words}" for role, words in said))


def told_blocks(blocks: Sequence[Mapping[str, Any]]) -> str:
    """Blocks of content as text; what is none is told in words."""
    return "\n".join(part for part in map(_told, blocks) if part)


def _blocks(content: object) -> list[Mapping[str, Any]]:
    entries = content if isinstance(content, list) else [content]
    return [entry for entry in entries if isinstance(entry, Mapping)]


def _images(blocks: Sequence[Mapping[str, Any]]) -> Iterator[ResultImage]:
    for block in blocks:
        held = block.get("resource") if block.get("type") == "resource" else block
        coded = (held.get("blob") or held.get("data")) if isinstance(held, Mapping) else None
        if str(block.get("type")) not in {"image", "resource"} or not coded:
            continue
        with contextlib.suppress(TypeError, ValueError):  # no base64: its words say what came
            data = base64.b64decode(coded, validate=True)
            if image_facts(data) is not None:
                yield ResultImage(data, str(held.get("mimeType", "")) if isinstance(held, Mapping) else "")


def _text(blocks: Sequence[Mapping[str, Any]], structured: object) -> str:
    parts = [_told(block) for block in blocks]
    has_words = any(str(block.get("type")) in {"text", "resource"} for block in blocks)
    if structured is not None and not has_words:
        parts.append(json.dumps(structured, ensure_ascii=False))
    return "\n".join(part for part in parts if part)


def _told(block: Mapping[str, Any]) -> str:
    match block.get("type"):
        case "text":
            return str(block.get("text", ""))
        case "image" | "audio" as kind:
            return f"[{kind} {_plain(block.get('mimeType', 'of an unknown kind'))}, {_size(block.get('data'))}]"
        case "resource_link":
            name = _plain(block.get("title") or block.get("name") or "")
            return f"[resource {_plain(block.get('uri', '?'))} {name}".rstrip() + "]"
        case "resource":
            resource = block.get("resource")
            return _resource_text(resource) if isinstance(resource, Mapping) else "[resource]"
        case kind:
            return f"[{_plain(kind)}]"


def _plain(value: object) -> str:
    """A name, a title or an address on one line, as it can be seen: it stands outside of what is quoted."""
    return " ".join(without_controls(str(value)).split())


def _resource_text(resource: Mapping[str, Any]) -> str:
    uri = _plain(resource.get("uri", "?"))
    text = resource.get("text")
    if isinstance(text, str):
        return f"[resource {uri}]\n{text}"
    return f"[resource {uri} {_plain(resource.get('mimeType', ''))}".rstrip() + f", {_size(resource.get('blob'))}]"


def _size(data: object) -> str:
    """How much base64 `data` holds."""
    count = int(len(data.rstrip("=")) * _BASE64_BYTES) if isinstance(data, str) else 0
    return f"{count} bytes" if count < _KILO else f"{round(count / _KILO)} kB"


# The tools of a server as the agent's own tools, and the few that are there for all servers.

LIST_RESOURCES, READ_RESOURCE = "mcp_list_resources", "mcp_read_resource"
FIND, CALL = "mcp_find_tools", CALL_BY_NAME

_TOOLSET = "mcp-servers"
_SERVER = {"type": "string", "description": "The server's name."}


def tool_entries(server: str, label: str, tools: Iterable[OfferedTool]) -> list[ToolEntry]:
    """An entry for each tool of the server `server`, whose cleaned name is `label`."""
    offered = tuple(tools)
    names = tool_names(label, (tool.name for tool in offered))
    return [
        ToolEntry(
            name=names[tool.name],
            toolset=f"mcp-{label}",
            schema=tool.schema,
            handler=_handler(server, tool.name),
            description=tool.description or f"The tool {tool.name} of the MCP server {server}.",
            # A server's own word for it (readOnlyHint) is not to be trusted.
            parallel="never",
            untrusted=True,
        )
        for tool in offered
    ]


def resource_entries() -> tuple[ToolEntry, ...]:
    """The tools for resources, where a server has some."""
    return (
        _entry(
            LIST_RESOURCES,
            "List the resources (data with an address) that MCP servers offer.",
            {"server": {**_SERVER, "description": "Only this server's."}},
            lambda mcp, arguments, _: ToolResult(mcp.resources(str(arguments.get("server") or ""))),
        ),
        _entry(
            READ_RESOURCE,
            f"Read a resource of an MCP server. {LIST_RESOURCES} tells which there are.",
            {"server": _SERVER, "uri": {"type": "string", "description": "The resource's address."}},
            lambda mcp, arguments, ctx: mcp.read(
                str(arguments["server"]), str(arguments["uri"]), ctx.interrupt, ctx.progress
            ),
            required=("server", "uri"),
        ),
    )


def search_entries(servers: Iterable[str]) -> tuple[ToolEntry, ...]:
    """The tools that stand for those of all servers, where these are too long to tell; `servers` are their names."""
    names = ", ".join(servers)
    return (
        _entry(
            FIND,
            f"Find tools of the MCP servers ({names}) that are not in your list. Use the result with {CALL}.",
            {"query": {"type": "string", "description": "What the tool should do, in a few words, or its name."}},
            lambda mcp, arguments, _: ToolResult(mcp.find(str(arguments["query"]))),
            required=("query",),
        ),
        _entry(
            CALL,
            f"Call a tool that {FIND} has found.",
            {
                "name": {"type": "string", "description": f"Its name, as {PREFIX}server__tool."},
                "arguments": {"type": "object", "description": "Its arguments, as its schema says."},
            },
            _call_by_name,
            required=("name",),
        ),
    )


Work = Callable[[McpTools, Mapping[str, Any], ToolContext], ToolResult]


def _entry(
    name: str, description: str, properties: Mapping[str, Any], work: Work, *, required: tuple[str, ...] = ()
) -> ToolEntry:
    def handle(arguments: dict[str, Any], **kwargs: Any) -> ToolResult:
        ctx = require_context(kwargs)
        if ctx.mcp is None:
            raise ToolError("There are no MCP servers in this session.")
        return work(ctx.mcp, arguments, ctx)

    schema: dict[str, Any] = {"type": "object", "properties": dict(properties)}
    if required:
        schema["required"] = list(required)
    return ToolEntry(name, _TOOLSET, schema, handle, description, untrusted=True)


def _call_by_name(mcp: McpTools, arguments: Mapping[str, Any], ctx: ToolContext) -> ToolResult:
    name, given = str(arguments["name"]), arguments.get("arguments") or {}
    found = mcp.locate(name)
    if found is None:
        raise ToolError(f"There is no MCP tool {name!r}. Look for it with {FIND}.")
    if not isinstance(given, Mapping):
        raise ToolError("`arguments` must be an object, as the tool's schema says.")
    return mcp.call(*found, dict(given), ctx.interrupt, ctx.progress)


def _handler(server: str, tool: str) -> Callable[..., ToolResult]:
    def handle(arguments: dict[str, Any], **kwargs: Any) -> ToolResult:
        ctx = require_context(kwargs)
        if ctx.mcp is None:
            raise ToolError(f"The MCP server {server!r} is not connected in this session.")
        return ctx.mcp.call(server, tool, arguments, ctx.interrupt, ctx.progress)

    return handle


# The tools of all servers of a session, as the model gets them: each by itself, or behind a search.

_SIGNS_OF_TOKEN = 4


class ToolShelf:
    """Makes entries of what servers offer. An entry stays the same object while its tool does.

    Args:
        labels: servers' names to those that tools' names begin with.
        search, share: when the tools are put behind a search: «auto» for from that share of the window on.
    """

    def __init__(self, labels: Mapping[str, str], search: ToolSearch = "auto", share: float = 0.1) -> None:
        self._labels = labels
        self._search = search
        self._share = share
        self._window = USUAL_WINDOW
        self._apart = False
        self._made: dict[str, tuple[tuple[OfferedTool, ...], tuple[ToolEntry, ...]]] = {}
        self._tools: tuple[ToolEntry, ...] = ()
        self._by_name: Mapping[str, tuple[str, str]] = {}
        self._resources: tuple[ToolEntry, ...] = ()
        self._searching: tuple[ToolEntry, ...] = ()
        self.entries: tuple[ToolEntry, ...] = ()

    def fit(self, window: int | None) -> None:
        """The model takes so many tokens. Tools that are behind the search stay there.

        In a small window all tools but a few are behind one, these too: they need no search of their own.
        """
        self._apart = is_small(window) and self._search != "on"
        if not self._apart:
            self._window = window or USUAL_WINDOW
        self._arrange()

    def update(self, servers: Mapping[str, Snapshot]) -> None:
        """What the servers offer now."""
        entries: list[ToolEntry] = []
        by_name: dict[str, tuple[str, str]] = {}
        for server, now in servers.items():
            entries += self._entries_of(server, now.tools)
            names = tool_names(self._labels[server], (tool.name for tool in now.tools))
            by_name |= {name: (server, tool) for tool, name in names.items()}
        self._tools = tuple(sorted(entries, key=lambda entry: entry.name))
        self._by_name = by_name
        # Once there, they stay: each change costs the model's server what it has kept of the conversation.
        if not self._resources and any(now.resources for now in servers.values()):
            self._resources = resource_entries()
        self._arrange()

    def locate(self, name: str) -> tuple[str, str] | None:
        """The server and the tool that a name means."""
        return self._by_name.get(name)

    def find(self, query: str) -> str:
        """The tools that fit best, as JSON lines; words for where there are none."""
        return find(self._tools, query)

    def _entries_of(self, server: str, tools: tuple[OfferedTool, ...]) -> tuple[ToolEntry, ...]:
        known = self._made.get(server)
        if known is None or known[0] != tools:
            known = self._made[server] = (tools, tuple(tool_entries(server, self._labels[server], tools)))
        return known[1]

    def _arrange(self) -> None:
        if self._apart:
            self.entries = (*self._tools, *self._resources)
            return
        if not self._searching and self._is_too_long():
            self._searching = search_entries(self._labels)
        self.entries = (*(self._searching or self._tools), *self._resources)

    def _is_too_long(self) -> bool:
        if self._search != "auto" or not self._tools:
            return self._search == "on" and bool(self._tools)
        return _length(self._tools) > self._share * self._window * _SIGNS_OF_TOKEN


def _length(entries: Sequence[ToolEntry]) -> int:
    return sum(len(json.dumps(entry.definition(), ensure_ascii=False, default=str)) for entry in entries)
