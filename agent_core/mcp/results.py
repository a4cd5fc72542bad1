"""What a server's tool answered, for the model: text joined, everything else told in words."""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tools.images import image_facts
from tools.result import ResultImage, ToolResult, error
from tools.untrusted.invisible import without_controls

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
        (_name(message.get("role", "user")), without_controls(told_blocks(_blocks(message.get("content")))))
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
            return f"[{kind} {_name(block.get('mimeType', 'of an unknown kind'))}, {_size(block.get('data'))}]"
        case "resource_link":
            name = _name(block.get("title") or block.get("name") or "")
            return f"[resource {_name(block.get('uri', '?'))} {name}".rstrip() + "]"
        case "resource":
            resource = block.get("resource")
            return _resource(resource) if isinstance(resource, Mapping) else "[resource]"
        case kind:
            return f"[{_name(kind)}]"


def _name(value: object) -> str:
    """A name, a title or an address on one line, as it can be seen: it stands outside of what is quoted."""
    return " ".join(without_controls(str(value)).split())


def _resource(resource: Mapping[str, Any]) -> str:
    uri = _name(resource.get("uri", "?"))
    text = resource.get("text")
    if isinstance(text, str):
        return f"[resource {uri}]\n{text}"
    return f"[resource {uri} {_name(resource.get('mimeType', ''))}".rstrip() + f", {_size(resource.get('blob'))}]"


def _size(data: object) -> str:
    """How much base64 `data` holds."""
    count = int(len(data.rstrip("=")) * _BASE64_BYTES) if isinstance(data, str) else 0
    return f"{count} bytes" if count < _KILO else f"{round(count / _KILO)} kB"
