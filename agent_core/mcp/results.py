"""What a server's tool answered, for the model: text joined, everything else told in words."""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tools.images import image_facts
from tools.result import ResultImage, ToolResult, error

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


def _images(blocks: Sequence[Mapping[str, Any]]) -> Iterator[ResultImage]:
    for block in blocks:
        if block.get("type") != "image":
            continue
        with contextlib.suppress(TypeError, ValueError):  # no base64: its words say what came
            data = base64.b64decode(block["data"], validate=True) if block.get("data") else b""
            if image_facts(data) is not None:
                yield ResultImage(data, str(block.get("mimeType", "")))


def _text(blocks: Sequence[Mapping[str, Any]], structured: object) -> str:
    parts = [_told(block) for block in blocks]
    has_words = any(block.get("type") in {"text", "resource"} for block in blocks)
    if structured is not None and not has_words:
        parts.append(json.dumps(structured, ensure_ascii=False))
    return "\n".join(part for part in parts if part)


def _told(block: Mapping[str, Any]) -> str:
    match block.get("type"):
        case "text":
            return str(block.get("text", ""))
        case "image" | "audio" as kind:
            return f"[{kind} {block.get('mimeType', 'of an unknown kind')}, {_size(block.get('data'))}]"
        case "resource_link":
            name = block.get("title") or block.get("name") or ""
            return f"[resource {block.get('uri', '?')} {name}".rstrip() + "]"
        case "resource":
            resource = block.get("resource")
            return _resource(resource) if isinstance(resource, Mapping) else "[resource]"
        case kind:
            return f"[{kind}]"


def _resource(resource: Mapping[str, Any]) -> str:
    uri = resource.get("uri", "?")
    text = resource.get("text")
    if isinstance(text, str):
        return f"[resource {uri}]\n{text}"
    return f"[resource {uri} {resource.get('mimeType', '')}".rstrip() + f", {_size(resource.get('blob'))}]"


def _size(data: object) -> str:
    """How much base64 `data` holds."""
    count = int(len(data.rstrip("=")) * _BASE64_BYTES) if isinstance(data, str) else 0
    return f"{count} bytes" if count < _KILO else f"{round(count / _KILO)} kB"
