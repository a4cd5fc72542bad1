"""What a message says, in a few words."""

from __future__ import annotations

from typing import Any

from acp_adapter.recording.exchanges import Row

_MOST = 160


def hint(row: Row) -> str:
    """The words beside a row's name: the beginning of a text, a title, a path, an outcome; '' for none."""
    return _short(_hint(row))


def text_of(row: Row) -> str:
    """The whole text of a row that stands for pieces of one; '' for another row."""
    return "".join(_content_text(_update(frame.message).get("content")) for frame in row.frames)


def _hint(row: Row) -> str:
    if row.kind == "stray":
        return row.first.stray
    if row.update:
        return _of_update(row)
    message = row.first.message or {}
    if row.kind == "error":
        error = message.get("error")
        return str(error.get("message", error)) if isinstance(error, dict) else str(error)
    if row.kind == "answer":
        return _of_result(message.get("result"))
    return _of_params(message.get("params"))


def _of_update(row: Row) -> str:
    update = row.update
    kind = str(update.get("sessionUpdate", ""))
    if kind.endswith("_chunk"):
        pieces = f" ×{len(row.frames)}" if len(row.frames) > 1 else ""
        return f"{kind}{pieces}: {text_of(row)}"
    words = (update.get("status"), update.get("title") or update.get("toolCallId"), update.get("currentModeId"))
    return f"{kind}: {' '.join(str(word) for word in words if word)}".removesuffix(": ")


def _of_params(params: Any) -> str:
    match params:
        case {"prompt": [*blocks]}:
            return " ".join(filter(None, map(_content_text, blocks)))
        case {"toolCall": {"title": str(title)}}:
            return title
        case {"path": str(path)}:
            return path
        case {"command": str(command)}:
            return command
        case {"cwd": str(cwd)}:
            return cwd
        case {"modeId": str(chosen)} | {"methodId": str(chosen)} | {"terminalId": str(chosen)}:
            return chosen
        case {"clientInfo": {"name": str(name)}}:
            return name
    return ""


def _of_result(result: Any) -> str:
    match result:
        case {"stopReason": str(reason)}:
            return reason
        case {"outcome": {"outcome": str(outcome), **rest}}:
            return f"{outcome} {rest.get('optionId', '')}".strip()
        case {"agentInfo": {"name": str(name)}}:
            return name
        case {"content": str(content)}:
            return content
        case {"terminalId": str(chosen)} | {"sessionId": str(chosen)}:
            return chosen
    return ""


def _update(message: dict[str, Any] | None) -> dict[str, Any]:
    match message:
        case {"params": {"update": dict(update)}}:
            return update
    return {}


def _content_text(content: Any) -> str:
    match content:
        case {"type": "text", "text": str(text)}:
            return text
        case {"type": "resource_link", "uri": str(uri)} | {"type": "resource", "resource": {"uri": str(uri)}}:
            return uri
        case {"type": str(kind)}:
            return f"[{kind}]"
    return ""


def _short(words: str) -> str:
    line = " ".join(words[: 2 * _MOST].split())
    return line if len(line) <= _MOST else f"{line[: _MOST - 1]}…"
