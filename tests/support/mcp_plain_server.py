"""A small MCP server over stdio without the SDK, so that it starts at once and can misbehave.

Its first argument says how: `plain`; `rich` has resources and prompts too, and wants things of its client; `modern`
is the same in the protocol without a handshake; `silent`
never answers; `exits` complains and goes; `noisy` writes lines that are no messages; `deaf` ignores the end of its
input and SIGTERM; `stuck` reads nothing more once it has told its tools. With `tools` a JSON list follows that
replaces its tools.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
NOTHING: dict[str, Any] = {"type": "object"}
TOOLS = [
    {"name": "echo", "description": "Says it again.", "inputSchema": TEXT},
    {"name": "variable", "inputSchema": TEXT},
    {"name": "pid", "inputSchema": NOTHING},
    {"name": "cwd", "inputSchema": NOTHING},
    {"name": "offspring", "inputSchema": NOTHING},
    {"name": "crash", "inputSchema": NOTHING},
    {"name": "big", "inputSchema": {"type": "object", "properties": {"size": {"type": "integer"}}}},
    {"name": "long", "inputSchema": TEXT},
    {"name": "step", "inputSchema": NOTHING},
    {"name": "refuse", "inputSchema": NOTHING},
    {"name": "fail", "inputSchema": NOTHING},
]
RICH_TOOLS = [
    {"name": "pid", "inputSchema": NOTHING},
    {"name": "crash", "inputSchema": NOTHING},
    {"name": "grow", "description": "Adds a tool and a prompt.", "inputSchema": NOTHING},
    # Sends a request of the given method to the client, and says what it answered.
    {"name": "want", "inputSchema": {"type": "object", "properties": {"method": {"type": "string"}}}},
    {"name": "picture", "inputSchema": NOTHING},
    # Asks the person something, and does not wait for the answer.
    {"name": "hasty", "inputSchema": NOTHING},
]
RESOURCES = [
    {"uri": "note://one", "name": "one", "description": "The first note.", "mimeType": "text/plain"},
    {"uri": "note://dot", "name": "dot", "mimeType": "image/png"},
]
TEMPLATES = [{"uriTemplate": "note://{name}", "name": "any note"}]
PROMPTS = [
    {
        "name": "Review",
        "description": "Looks over a file.",
        "arguments": [{"name": "path", "required": True}, {"name": "tone", "description": "How to say it."}],
    },
]
DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def main() -> None:
    mode = sys.argv[1] if len(sys.argv) > 1 else "plain"
    if mode == "exits":
        sys.stderr.write("could not open the vault with the key " + os.environ.get("VAULT_KEY", "") + "\n")
        sys.exit(3)
    if mode == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if mode == "noisy":
        _write("Starting up!\n[1, 2]\n{not json\n")
    tools = json.loads(sys.argv[2]) if mode == "tools" else RICH_TOOLS if mode in {"rich", "modern"} else TOOLS
    for line in sys.stdin:
        message = json.loads(line)
        if mode != "silent":
            {"rich": _take_rich, "modern": _take_modern}.get(mode, _take)(message, tools)
        if mode == "stuck" and message.get("params", {}).get("cursor") == "rest":
            signal.pause()
    while mode == "deaf":
        signal.pause()


def _take_rich(message: dict[str, Any], tools: list[dict[str, Any]]) -> None:
    params = message.get("params", {})
    match message.get("method"):
        case None:
            if message["id"] != "h1":
                _say(_wanted.pop(message["id"]), json.dumps(message.get("result", message.get("error"))))
        case "initialize":
            can = {"tools": {"listChanged": True}, "prompts": {}, "resources": {}}
            info = {"name": "rich", "version": "1"}
            _answer(message, {"protocolVersion": params["protocolVersion"], "capabilities": can, "serverInfo": info})
        case "tools/list":
            _answer(message, {"tools": tools, **_KEPT})
        case "resources/list":
            _answer(message, {"resources": RESOURCES, **_KEPT})
        case "resources/templates/list":
            _answer(message, {"resourceTemplates": TEMPLATES, **_KEPT})
        case "prompts/list":
            _answer(message, {"prompts": PROMPTS, **_KEPT})
        case "prompts/get":
            said = {"type": "text", "text": f"Review {json.dumps(params['arguments'], sort_keys=True)}"}
            _answer(message, {"messages": [{"role": "user", "content": said}], "resultType": "complete"})
        case "resources/read":
            uri = params["uri"]
            told = {"blob": DOT, "mimeType": "image/png"} if uri == "note://dot" else {"text": f"The note {uri}."}
            _answer(message, {"contents": [{"uri": uri, **told}], **_KEPT})
        case "tools/call":
            _call_rich(message, params["name"], params.get("arguments", {}), tools)


def _take_modern(message: dict[str, Any], tools: list[dict[str, Any]]) -> None:
    params = message.get("params", {})
    match message.get("method"):
        case "initialize":
            error = {"code": -32022, "message": "no", "data": {"supported": [MODERN], "requested": "x"}}
            _send({"jsonrpc": "2.0", "id": message["id"], "error": error})
        case "server/discover":
            can = {"tools": {"listChanged": True}, "prompts": {}, "resources": {}}
            _answer(message, {"supportedVersions": [MODERN], "capabilities": can, **_KEPT})
        case "subscriptions/listen":
            about = {"io.modelcontextprotocol/subscriptionId": message["id"]}
            _listening.append(about)
            heard = {"_meta": about, "notifications": {"toolsListChanged": True}}
            _send({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": heard})
        case "tools/call" if params["name"] == "want" and "inputResponses" not in params:
            request = {"method": params["arguments"]["method"], "params": params["arguments"]}
            asked = {"resultType": "input_required", "inputRequests": {"one": request}, "requestState": "s"}
            _answer(message, asked)
        case "tools/call" if params["name"] == "want":
            _say(message, json.dumps([params["inputResponses"]["one"], params["requestState"]]))
        case "tools/call" if params["name"] == "grow":
            tools.append({"name": f"grown{len(tools)}", "inputSchema": NOTHING})
            for about in _listening:
                told = {"method": "notifications/tools/list_changed", "params": {"_meta": about}}
                _send({"jsonrpc": "2.0", **told})
            _say(message, "grown")
        case _:
            _take_rich(message, tools)


MODERN = "2026-07-28"
_KEPT = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
_listening: list[dict[str, Any]] = []
_wanted: dict[str, dict[str, Any]] = {}


def _call_rich(message: dict[str, Any], name: str, arguments: dict[str, Any], tools: list[dict[str, Any]]) -> None:
    match name:
        case "grow":
            tools.append({"name": f"grown{len(tools)}", "inputSchema": NOTHING})
            PROMPTS.append({"name": f"grown{len(PROMPTS)}"})
            _send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
            _say(message, "grown")
        case "become":
            # Not among its tools: a test has it change one of them, or take it back.
            found = next(tool for tool in tools if tool["name"] == arguments["name"])
            found.update(arguments)
            _send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
            _say(message, "changed")
        case "want":
            _wanted["w1"] = message
            _send({"jsonrpc": "2.0", "id": "w1", "method": arguments.pop("method"), "params": arguments})
        case "hasty":
            _send({"jsonrpc": "2.0", "id": "h1", "method": "elicitation/create", "params": arguments})
            _say(message, "did not wait")
        case "picture":
            _answer(message, {"content": [{"type": "image", "data": DOT, "mimeType": "image/png"}]})
        case _ if name.startswith("grown"):
            _say(message, "grown up")
        case _:
            _call(message, name, arguments)


def _take(message: dict[str, Any], tools: list[dict[str, Any]]) -> None:
    method, params = message.get("method"), message.get("params", {})
    match method:
        case "initialize":
            _answer(
                message,
                {
                    "protocolVersion": params["protocolVersion"],
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "plain", "version": "1"},
                },
            )
        case "tools/list":
            # Two pages, to see that both are asked for.
            if params.get("cursor") == "rest":
                _answer(message, {"tools": tools[1:]})
            else:
                _answer(message, {"tools": tools[:1], "nextCursor": "rest"})
        case "tools/call":
            _call(message, params["name"], params.get("arguments", {}))
        case "notifications/cancelled":
            _note_cancel(params)


_long_calls: dict[Any, str] = {}


def _call(message: dict[str, Any], name: str, arguments: dict[str, Any]) -> None:
    match name:
        case "echo":
            _say(message, arguments["text"])
        case "variable":
            _say(message, os.environ.get(arguments["text"], "(not set)"))
        case "pid":
            _say(message, str(os.getpid()))
        case "cwd":
            _say(message, str(Path.cwd()))
        case "offspring":
            # Takes the pipes with it.
            _say(message, str(subprocess.Popen(["sleep", "600"], start_new_session=bool(arguments)).pid))
        case "crash":
            sys.stderr.write("out of cheese\n")
            sys.stderr.flush()
            os._exit(7)
        case "big":
            _say(message, "x" * arguments.get("size", 0))
        case "long":
            # Tells how far it is, and ends by a cancellation only: it is noted in the file that `text` names.
            _long_calls[message["id"]] = arguments["text"]
            _tell_progress(message)
        case "step":
            _tell_progress(message)
            _say(message, "all of it")
        case "refuse":
            _send({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32602, "message": "not like this"}})
        case "fail":
            result = {"content": [{"type": "text", "text": "no such issue"}], "isError": True}
            _answer(message, result)


def _tell_progress(message: dict[str, Any]) -> None:
    token = message["params"]["_meta"]["progressToken"]
    note = {"progressToken": token, "progress": 1, "total": 3, "message": "a third"}
    _send({"jsonrpc": "2.0", "method": "notifications/progress", "params": note})


def _note_cancel(params: dict[str, Any]) -> None:
    path = _long_calls.pop(params.get("requestId"), None)
    if path is not None:
        Path(path).touch()


def _say(message: dict[str, Any], text: str) -> None:
    _answer(message, {"content": [{"type": "text", "text": text}], "resultType": "complete"})


def _answer(message: dict[str, Any], result: dict[str, Any]) -> None:
    _send({"jsonrpc": "2.0", "id": message["id"], "result": result})


def _send(message: dict[str, Any]) -> None:
    _write(json.dumps(message) + "\n")


def _write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
