"""The smallest agent there is: plays the JSON steps of its command line for each prompt, one step an argument.

{"update": {…}} sends a session/update, {"raw": "…"} writes a line, {"stderr": "…"} too, {"exit": n} ends,
{"deaf": true} hears nothing any more.
"""

from __future__ import annotations

import json
import signal
import sys
from typing import Any

SESSION = "session-1"


def main(steps: list[dict[str, Any]]) -> None:
    while message := _read():
        match message.get("method"):
            case "initialize":
                _answer(message, {"protocolVersion": 1})
            case "session/new":
                _answer(message, {"sessionId": SESSION})
            case "session/prompt":
                for step in steps:
                    _play(step)
                _answer(message, {"stopReason": "end_turn"})
            case "session/cancel" | None:
                pass
            case method:
                error = {"code": -32601, "message": f"Method not found: {method}"}
                _send({"id": message["id"], "error": error})


def _play(step: dict[str, Any]) -> None:
    match step:
        case {"update": update}:
            _send({"method": "session/update", "params": {"sessionId": SESSION, "update": update}})
        case {"raw": line}:
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
        case {"stderr": line}:
            sys.stderr.write(f"{line}\n")
        case {"exit": code}:
            sys.exit(code)
        case {"deaf": True}:
            signal.pause()


def _answer(request: dict[str, Any], result: dict[str, Any]) -> None:
    _send({"id": request["id"], "result": result})


def _send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def _read() -> dict[str, Any]:
    line = sys.stdin.readline()
    return json.loads(line) if line else {}


if __name__ == "__main__":
    main([json.loads(step) for step in sys.argv[1:]])
