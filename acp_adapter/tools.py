"""How each tool looks in the editor: kind, title, places, content, raw input and output; one table."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from acp_adapter.capabilities import ClientCapabilities
from agent_core.events import ToolAnnounced, ToolFinished, ToolOutput, ToolRequested, ToolRunning
from agent_core.live_output import readable_error
from agent_core.messages import INTERRUPTED_RESULT
from tools.result import Shown, ShownDiff, ShownOutput, ShownText, ToolResult
from tools.text.terminal_output import plain_text

Update = dict[str, Any]
Arguments = Mapping[str, Any]

_MAX_TITLE = 200
_MAX_RAW = 2_000
_MAX_TEXT = 20_000
_MAX_DIFF = 1024 * 1024
_MAX_LINE_NUMBER = 2**32 - 1  # clients read it as an unsigned number of 32 bits


@dataclass(frozen=True, slots=True)
class Look:
    """How one tool is shown.

    Attributes:
        kind: the ACP tool kind.
        waiting: the title while only the tool's name is known.
        title: the title once the arguments are known; paths come relative to the session's directory.
        is_terminal: its output is a terminal's.
        is_shown_elsewhere: what comes of it is not content of the card (the plan has its own place).
    """

    kind: str
    waiting: str
    title: Callable[[Arguments, str], str]
    is_terminal: bool = False
    is_shown_elsewhere: bool = False


def _path(arguments: Arguments, cwd: str) -> str:
    full = _absolute(arguments.get("path"), cwd)
    if full is None:
        return "?"
    relative = os.path.relpath(full, cwd)
    return full if relative.startswith("..") else relative


def _read_title(arguments: Arguments, cwd: str) -> str:
    offset = arguments.get("offset")
    start = f" from line {offset}" if isinstance(offset, int) and offset > 1 else ""
    return f"Read {_path(arguments, cwd)}{start}"


def _command_title(arguments: Arguments, cwd: str) -> str:  # noqa: ARG001 - every title has the same form
    return str(arguments.get("command", "?"))


def _todo_title(arguments: Arguments, cwd: str) -> str:  # noqa: ARG001 - every title has the same form
    return "Update the plan" if arguments.get("todos") else "Look at the plan"


def _search_title(arguments: Arguments, cwd: str) -> str:
    where = "" if arguments.get("path") in (None, "", ".") else f" in {_path(arguments, cwd)}"
    return f"Search {str(arguments.get('pattern', '?'))!r}{where}"


def _recall_title(arguments: Arguments, cwd: str) -> str:  # noqa: ARG001 - every title has the same form
    if query := arguments.get("query"):
        return f"Search sessions for {str(query)!r}"
    return "Read an earlier session" if arguments.get("session_id") else "Look at the latest sessions"


_LOOKS: dict[str, Look] = {
    "read_file": Look("read", "Read a file", _read_title),
    "write_file": Look("edit", "Write a file", lambda arguments, cwd: f"Write {_path(arguments, cwd)}"),
    "patch": Look("edit", "Edit a file", lambda arguments, cwd: f"Edit {_path(arguments, cwd)}"),
    "search_files": Look("search", "Search", _search_title),
    "terminal": Look("execute", "Run a command", _command_title, is_terminal=True),
    "session_search": Look("search", "Search earlier sessions", _recall_title),
    "todo": Look("think", "Plan", _todo_title, is_shown_elsewhere=True),
    "rewind": Look("edit", "Take back", lambda arguments, cwd: f"Take back {_path(arguments, cwd)}"),
}


def look_of(name: str) -> Look:
    """How the tool `name` is shown; a plain look for a tool that the table does not know."""
    return _LOOKS.get(name) or Look("other", name, lambda _, __: name)


def requested_call(event: ToolAnnounced | ToolRequested, client: ClientCapabilities) -> Update:
    """The card of a call that waits: made at its first sight, completed when its arguments are known."""
    look = look_of(event.name)
    if isinstance(event, ToolAnnounced):
        return _create(event.call_id, look, event.cwd, client, {"title": look.waiting})
    details = card_details(event.name, event.arguments, event.cwd)
    if event.announced:
        return {"sessionUpdate": "tool_call_update", "toolCallId": event.call_id, **details}
    return _create(event.call_id, look, event.cwd, client, details)


def card_details(name: str, arguments: Arguments, cwd: str) -> Update:
    """Title, kind, places and raw input of a call."""
    look = look_of(name)
    details: Update = {
        "title": _title(look, arguments, cwd),
        "kind": look.kind,
        "rawInput": _clipped_values(arguments),
    }
    if full := _absolute(arguments.get("path"), cwd):
        details["locations"] = [_location(full, arguments.get("offset"))]
    return details


def running_call(event: ToolRunning) -> Update:
    """The card of a call that runs, with its own details again: a question may have put its reason among them."""
    return {
        "sessionUpdate": "tool_call_update",
        "toolCallId": event.call_id,
        "status": "in_progress",
        **card_details(event.name, event.arguments, event.cwd),
    }


def live_output(event: ToolOutput, client: ClientCapabilities) -> Update:
    """What a running tool prints: the new text for a client with a terminal, else a picture of its last lines."""
    update: Update = {"sessionUpdate": "tool_call_update", "toolCallId": event.call_id}
    if client.terminal_output:
        return {
            **update,
            "_meta": {"terminal_output": {"terminal_id": terminal_id(event.call_id), "data": event.text}},
        }
    return {**update, "content": [_text_block(_fenced(plain_text(event.tail), ""))]}


def finished_call(event: ToolFinished, client: ClientCapabilities) -> list[Update]:
    """The last update of a card: its status, what came of it, and where."""
    result = event.result
    update: Update = {
        "sessionUpdate": "tool_call_update",
        "toolCallId": event.call_id,
        "status": "failed" if result.failed else "completed",
    }
    look = look_of(event.name)
    if result.failed:
        # A question that was refused has left its reason in the title and in the raw input.
        update |= card_details(event.name, event.arguments, event.cwd)
    if result.facts:
        update["rawOutput"] = dict(result.facts)
        if isinstance(path := result.facts.get("path"), str) and os.path.isabs(path):  # noqa: PTH117
            update["locations"] = [_location(path, result.facts.get("line"))]
    output = next((shown for shown in result.shown if isinstance(shown, ShownOutput)), None)
    told = output is not None or result.text == INTERRUPTED_RESULT
    if event.ran and told and look.is_terminal and client.terminal_output:
        code, signal = (output.exit_code, output.signal) if output is not None else (None, None)
        ended = {"terminal_id": terminal_id(event.call_id), "exit_code": code, "signal": signal}
        return [{**update, "_meta": {"terminal_exit": ended}}]
    if look.is_shown_elsewhere and not result.failed:
        return [update]
    return [{**update, "content": _content(result)}]


def terminal_id(call_id: str) -> str:
    """The id of the terminal that shows a call's output."""
    return f"terminal-{call_id}"


def diff_block(diff: ShownDiff) -> Update:
    """A diff as tool content; a huge one as a note."""
    if len(diff.before or "") + len(diff.after or "") > _MAX_DIFF:
        return _text_block(f"The change of {diff.path} is too large to show here.")
    return {"type": "diff", "path": str(diff.path), "oldText": diff.before, "newText": diff.after or ""}


def text_block(text: str, language: str | None = None) -> Update:
    """Text as tool content, in a code block where a language (or '') is given."""
    shown = _clip(text, _MAX_TEXT)
    return _text_block(shown if language is None else _fenced(shown, language))


def _create(call_id: str, look: Look, cwd: str, client: ClientCapabilities, details: Update) -> Update:
    card = {"sessionUpdate": "tool_call", "toolCallId": call_id, "kind": look.kind, "status": "pending", **details}
    if look.is_terminal and client.terminal_output:
        card["content"] = [{"type": "terminal", "terminalId": terminal_id(call_id)}]
        card["_meta"] = {"terminal_info": {"terminal_id": terminal_id(call_id), "cwd": cwd}}
    return card


def _content(result: ToolResult) -> list[Update]:
    if result.shown:
        return [_block(shown) for shown in result.shown]
    return [text_block(readable_error(result.text), None if result.failed else "")]


def _block(shown: Shown) -> Update:
    match shown:
        case ShownDiff():
            return diff_block(shown)
        case ShownText(text=text, language=language):
            return text_block(text, language)
        case ShownOutput(output=output, exit_code=exit_code, signal=signal):
            ended = f"ended by {signal}" if signal else f"exit code {exit_code}"
            return _text_block(f"{_fenced(_clip(plain_text(output), _MAX_TEXT), '')}\n{ended}")


def _absolute(path: object, cwd: str) -> str | None:
    if not isinstance(path, str) or not path or "\0" in path:
        return None
    return os.path.normpath(os.path.join(cwd, os.path.expanduser(path)))  # noqa: PTH111, PTH118


def _title(look: Look, arguments: Arguments, cwd: str) -> str:
    return _clip(look.title(arguments, cwd), _MAX_TITLE)


def _location(path: str, line: object) -> Update:
    is_line = isinstance(line, int) and not isinstance(line, bool) and 0 < line <= _MAX_LINE_NUMBER
    return {"path": path, "line": line} if is_line else {"path": path}


def _clipped_values(arguments: Arguments) -> dict[str, Any]:
    return {key: _clipped(value) for key, value in arguments.items()}


def _clipped(value: Any) -> Any:
    match value:
        case str():
            return _clip(value, _MAX_RAW)
        case list():
            return [_clipped(part) for part in value]
        case dict():
            return {key: _clipped(part) for key, part in value.items()}
    return value


def _clip(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text) - limit} more characters)"


def _fenced(text: str, language: str) -> str:
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2) if "```" in text else 2
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.rstrip(chr(10))}\n{fence}"


def _text_block(text: str) -> Update:
    return {"type": "content", "content": {"type": "text", "text": text}}
