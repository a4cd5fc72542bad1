"""An MCP server over stdio that cannot be relied on: it dies, hangs, answers late, and does not always come back.

Its argument is a file in which it counts its starts: of eight, one exits at once, one never answers. Of its tool
`do`, `how` says whether it answers, answers late, dies, hangs, or leaves a child with its pipes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

WAYS = ("answer", "late", "die", "hang", "leave")
_LATE = 0.05
_EXITS, _SILENT, _OF = 3, 6, 8
_DO = {
    "name": "do",
    "inputSchema": {"type": "object", "properties": {"how": {"type": "string", "enum": list(WAYS)}}},
}


def main() -> None:
    count = Path(sys.argv[1])
    start = int(count.read_text(encoding="utf-8")) + 1 if count.exists() else 1
    count.write_text(str(start), encoding="utf-8")
    if start % _OF == _EXITS:
        sys.exit(3)
    for line in sys.stdin:
        if start % _OF != _SILENT:
            _take(json.loads(line))


def _take(message: dict[str, Any]) -> None:
    match message.get("method"):
        case "initialize":
            version = message["params"]["protocolVersion"]
            info = {"name": "flapping", "version": "1"}
            _answer(message, {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info})
        case "tools/list":
            _answer(message, {"tools": [_DO]})
        case "tools/call":
            _do(message, message["params"].get("arguments", {}).get("how"))


def _do(message: dict[str, Any], how: str) -> None:
    match how:
        case "die":
            os._exit(7)
        case "hang":
            return
        case "late":
            threading.Timer(_LATE, _say, (message, "late")).start()
        case "leave":
            _say(message, str(subprocess.Popen(["sleep", "600"]).pid))
        case _:
            _say(message, "done")


def _say(message: dict[str, Any], text: str) -> None:
    _answer(message, {"content": [{"type": "text", "text": text}]})


def _answer(message: dict[str, Any], result: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
