"""A language server for tests: complains about each «BAD» of a line. Run as `python language_server.py MODE [LOG]`.

Modes: `push` (tells versions), `unnumbered` (does not), `pull`, `silent`, `unstartable` (never answers), `late`
(publishes nothing until a file LOG.go is there), `crash` (at the first document), `crash-once`, `flood`
(publishes without end), `stale` (first publishes an older version's errors), `rubbish` (prints instead of messages),
`deaf` (does not read). LOG gets a line for each message and start: «start PID», «didOpen /srv/a.py 1».
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

MODE = sys.argv[1] if len(sys.argv) > 1 else "push"
LOG = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(os.devnull)
texts: dict[str, tuple[Any, str]] = {}
writing = threading.Lock()


def note(line: str) -> None:
    with LOG.open("a", encoding="utf-8") as log:
        log.write(line + "\n")


def send(message: dict[str, Any]) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    with writing:
        sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        sys.stdout.buffer.flush()


def receive() -> dict[str, Any] | None:
    length = 0
    while (line := sys.stdin.buffer.readline()) != b"\r\n":
        if not line:
            return None
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return json.loads(sys.stdin.buffer.read(length))


def complaints(text: str) -> list[dict[str, Any]]:
    found = []
    for number, line in enumerate(text.split("\n")):
        for word, severity in (("BAD", 1), ("ODD", 2)):
            if word in line:
                at = len(line[: line.index(word)].encode("utf-16-le")) // 2
                place = {"line": number, "character": at}
                span = {"start": place, "end": place}
                found.append({"range": span, "severity": severity, "message": f"{word} is wrong", "source": "fake"})
    return found


def publish(uri: str) -> None:
    version, text = texts[uri]
    params: dict[str, Any] = {"uri": uri, "diagnostics": complaints(text)}
    if MODE != "unnumbered":
        params["version"] = version
    send({"method": "textDocument/publishDiagnostics", "params": params})


def changed(uri: str, version: Any, text: str) -> None:
    texts[uri] = (version, text)
    if MODE == "crash" or (MODE == "crash-once" and LOG.read_text(encoding="utf-8").count("start ") == 1):
        sys.stderr.write("BAD things happened\n")
        sys.stderr.flush()
        os._exit(3)
    if MODE == "late":
        while not Path(f"{LOG}.go").exists():
            time.sleep(0.01)
    if MODE == "stale":
        wrong = {"uri": uri, "version": version - 1, "diagnostics": complaints("BAD stale")}
        send({"method": "textDocument/publishDiagnostics", "params": wrong})
    if MODE not in {"silent", "pull"}:
        publish(uri)
    if MODE == "flood":
        threading.Thread(target=flood, args=(uri,), daemon=True).start()


def flood(uri: str) -> None:
    while True:
        publish(uri)
        send({"method": "window/logMessage", "params": {"type": 4, "message": "x" * 1000}})


def answer(message: dict[str, Any]) -> object:
    match message["method"]:
        case "initialize":
            # Its own requests have numbers of their own, which may be ours.
            items = [{"section": "python"}, {}]
            send({"id": message["id"], "method": "workspace/configuration", "params": {"items": items}})
            note("key " + os.environ.get("MODEL_API_KEY", "unseen"))
            can: dict[str, Any] = {"textDocumentSync": {"openClose": True, "change": 1, "save": {}}}
            return {"capabilities": can | ({"diagnosticProvider": {"identifier": "fake"}} if MODE == "pull" else {})}
        case "textDocument/diagnostic":
            return {"kind": "full", "items": complaints(texts[message["params"]["textDocument"]["uri"]][1])}
    return None


def main() -> None:
    note(f"start {os.getpid()}")
    if MODE == "rubbish":
        sys.stdout.write("Hello, I am no language server.\n" * 500)
        sys.stdout.flush()
    if MODE == "deaf":
        threading.Event().wait()
    while (message := receive()) is not None:
        method, params = message.get("method"), message.get("params", {})
        if method is None:
            continue
        document = params.get("textDocument", {})
        note(f"{method.rpartition('/')[2]} {document.get('uri', '').removeprefix('file://')}".strip())
        match method:
            case "exit":
                return
            case "textDocument/didOpen":
                changed(document["uri"], document["version"], document["text"])
            case "textDocument/didChange":
                changed(document["uri"], document["version"], params["contentChanges"][0]["text"])
        if "id" in message and MODE != "unstartable":
            send({"id": message["id"], "result": answer(message)})


if __name__ == "__main__":
    main()
