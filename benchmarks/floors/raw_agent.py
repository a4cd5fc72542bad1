"""The floor: an ACP agent of the standard library only, with no checks, no store and no policy.

raw_agent.py             plays prompts itself: `stream N` (N pieces), `wait` (until cancelled), else one piece
raw_agent.py BASE_URL    asks a chat-completions server, forwards each delta, runs read_file and terminal calls
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]


def main(base_url: str | None) -> None:
    sessions = 0
    waiting: list[Any] = []
    for line in sys.stdin.buffer:
        message = json.loads(line)
        match message["method"]:
            case "initialize":
                answer(message["id"], {"protocolVersion": 1, "agentInfo": {"name": "raw", "version": "0"}})
            case "session/new":
                sessions += 1
                answer(message["id"], {"sessionId": f"session-{sessions}"})
            case "session/cancel":
                for request_id in waiting:
                    answer(request_id, {"stopReason": "cancelled"})
                waiting.clear()
            case "session/prompt" if base_url is not None:
                start_turn(base_url, message)
            case "session/prompt":
                if not play(message["params"]):
                    waiting.append(message["id"])
                else:
                    answer(message["id"], {"stopReason": "end_turn"})


def play(params: Json) -> bool:
    """Answer a prompt without a model; False for one that waits for its cancel."""
    session, text = params["sessionId"], params["prompt"][0]["text"]
    word, _, rest = text.partition(" ")
    if word == "wait":
        return False
    for number in range(int(rest) if word == "stream" else 1):
        show_text(session, f"{number:07d} ")
    return True


def start_turn(base_url: str, message: Json) -> None:
    import threading  # noqa: PLC0415 - not what a start is measured with

    threading.Thread(target=run_turn, args=(base_url, message), daemon=True).start()


def run_turn(base_url: str, message: Json) -> None:
    session = message["params"]["sessionId"]
    messages: list[Json] = [{"role": "user", "content": message["params"]["prompt"][0]["text"]}]
    model = connect(base_url)
    while True:
        calls: list[Json] = []
        for delta in ask(model, messages):
            if text := delta.get("content"):
                show_text(session, text)
            calls += delta.get("tool_calls") or ()
        if not calls:
            break
        messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        messages += [run_call(session, call) for call in calls]
    idle.append(model)
    answer(message["id"], {"stopReason": "end_turn"})


idle: list[tuple[Any, str]] = []
"""Connections that are kept for the next turn, each with its path."""


def connect(base_url: str) -> tuple[Any, str]:
    import http.client  # noqa: PLC0415
    from urllib.parse import urlsplit  # noqa: PLC0415

    if idle:
        return idle.pop()
    address = urlsplit(base_url)
    return http.client.HTTPConnection(address.netloc), f"{address.path}/chat/completions"


def ask(model: tuple[Any, str], messages: list[Json]) -> Iterator[Json]:
    connection, path = model
    body = json.dumps({"model": "bench", "messages": messages, "stream": True})
    connection.request("POST", path, body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    rest = b""
    while data := response.read1(1 << 18):
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            if line.startswith(b"data: {"):
                yield json.loads(line[6:])["choices"][0]["delta"]


def run_call(session: str, call: Json) -> Json:
    arguments = json.loads(call["function"]["arguments"])
    name = call["function"]["name"]
    show(session, {"sessionUpdate": "tool_call", "toolCallId": call["id"], "title": name, "status": "in_progress"})
    if name == "read_file":
        with open(arguments["path"], encoding="utf-8") as file:  # noqa: PTH123 - pathlib is no part of a floor
            result = file.read()
    else:
        result = run_command(arguments["command"])
    content = [{"type": "content", "content": {"type": "text", "text": result}}]
    done = {"sessionUpdate": "tool_call_update", "toolCallId": call["id"], "status": "completed", "content": content}
    show(session, done)
    return {"role": "tool", "tool_call_id": call["id"], "content": result}


def run_command(command: str) -> str:
    import subprocess  # noqa: PLC0415

    done = subprocess.run(["bash", "-c", command], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    return done.stdout.decode()


def show_text(session: str, text: str) -> None:
    show(session, {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})


def show(session: str, update: Json) -> None:
    send({"method": "session/update", "params": {"sessionId": session, "update": update}})


def answer(request_id: Any, result: Json) -> None:
    send({"id": request_id, "result": result})


def send(message: Json) -> None:
    os.write(1, json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
