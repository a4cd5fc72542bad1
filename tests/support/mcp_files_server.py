"""A small MCP server over stdio that reads and writes whatever path it is given, as servers for files do.

It follows no rule of its own: what is kept from it is kept by who calls it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

_PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
_TEXT = {"type": "object", "properties": {"path": {"type": "string"}, "text": {"type": "string"}}}
_TOOLS = [
    {"name": "read", "description": "Reads a file.", "inputSchema": _PATH},
    {"name": "write", "description": "Adds to a file.", "inputSchema": _TEXT},
]


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            try:
                answer = {"result": _answered(message["method"], message.get("params", {}))}
            except (OSError, KeyError, ValueError) as problem:
                answer = {"error": {"code": -32602, "message": f"{type(problem).__name__}: {problem}"}}
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}) + "\n")
            sys.stdout.flush()


def _answered(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    match method:
        case "initialize":
            can = {"tools": {}, "resources": {}, "prompts": {}}
            info = {"name": "files", "version": "1"}
            return {"protocolVersion": params["protocolVersion"], "capabilities": can, "serverInfo": info}
        case "tools/list":
            return {"tools": _TOOLS}
        case "resources/list":
            return {"resources": [{"uri": "file:///", "name": "files"}]}
        case "resources/templates/list":
            return {"resourceTemplates": [{"uriTemplate": "file://{path}", "name": "a file"}]}
        case "resources/read":
            path = Path(unquote(urlsplit(params["uri"]).path))
            return {"contents": [{"uri": params["uri"], "text": path.read_text("utf-8", errors="replace")}]}
        case "prompts/list":
            return {"prompts": [{"name": "about", "arguments": [{"name": "path", "required": True}]}]}
        case "prompts/get":
            about = f"Look at {params['arguments']['path']}."
            return {"messages": [{"role": "user", "content": {"type": "text", "text": about}}]}
        case "tools/call":
            return {"content": [{"type": "text", "text": _done(params["name"], params["arguments"])}]}
        case _:
            return {}


def _done(tool: str, arguments: Mapping[str, Any]) -> str:
    path = Path(arguments["path"])
    if tool == "read":
        return path.read_text("utf-8", errors="replace")
    with path.open("a", encoding="utf-8") as file:
        file.write(arguments["text"])
    return "written"


if __name__ == "__main__":
    main()
