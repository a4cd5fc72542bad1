"""An MCP server over stdio that says what a test has it say, byte for byte.

The first argument is what it answers to `initialize` in base64, or `-` for a proper answer. Its tool `answer` takes
`writes`, byte strings in base64 that are written one after the other, with `@ID@` for the call's own id; `hold` keeps
its own id for the next call, as `@HELD@`, and writes nothing.
"""

from __future__ import annotations

import base64
import json
import sys
from typing import Any


def main() -> None:
    greeting = sys.argv[1]
    held = b""
    for line in sys.stdin:
        message = json.loads(line)
        match message.get("method"):
            case "initialize" if greeting != "-":
                _write(greeting, message["id"], held)
            case "initialize":
                version = message["params"]["protocolVersion"]
                info = {"name": "misspeaking", "version": "1"}
                _answer(message, {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info})
            case "tools/list":
                tools = [{"name": name, "inputSchema": {"type": "object"}} for name in ("answer", "echo")]
                _answer(message, {"tools": tools})
            case "tools/call" if message["params"]["name"] == "echo":
                said = json.dumps(message["params"].get("arguments"), sort_keys=True)
                _answer(message, {"content": [{"type": "text", "text": said}]})
            case "tools/call" if message["params"]["arguments"].get("hold"):
                held = str(message["id"]).encode()
                _note(message)
            case "tools/call":
                for written in message["params"]["arguments"]["writes"]:
                    _write(written, message["id"], held)


def _note(message: dict[str, Any]) -> None:
    """Tell that the call has come."""
    token = message["params"]["_meta"]["progressToken"]
    told = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": 1}}
    _put(json.dumps(told).encode() + b"\n")


def _answer(message: dict[str, Any], result: dict[str, Any]) -> None:
    _put(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode() + b"\n")


def _write(coded: str, request: Any, held: bytes) -> None:
    _put(base64.b64decode(coded).replace(b"@ID@", str(request).encode()).replace(b"@HELD@", held))


def _put(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
