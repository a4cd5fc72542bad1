"""What the fuzzer says: valid messages, spoiled ones, odd ids, damaged lines; and its answers to questions."""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.fuzz.grammar import Grammar
from tests.fuzz.odd_bytes import damaged
from tests.fuzz.odd_values import ODD, places, removed, replaced, spoiled
from tests.fuzz.schemas import NOTICES, REQUESTS, params_of, result_of

_RARE = 0.1
_OFTEN = {
    "authenticate": 2.0, "logout": 0.2, "session/new": 2.0, "session/load": 1.0, "session/resume": 1.0,
    "session/fork": 0.5, "session/prompt": 5.0, "session/delete": 0.3, "session/close": 0.4, "_session/steering": 1.0,
}  # fmt: skip
"""How often a method comes; the others come three times."""

_SCRIPTS = (
    "say a", "think b\nsay c", "stream 40", "run true", "read README.md", "write made.txt hello", "todo one; two",
    "sleep 30", "fail 500", 'call clarify {"question": "which?"}', "/help", "/undo", "/mode", "/context",
    "/nonsense",     "parallel\nread README.md\nread sums.py\nend", "search add",
)  # fmt: skip
_ODD_IDS = (None, "", "text", "\ud800", "x" * 10_000, 0, -7, 2**53 + 1, 2**64, 10**300, "1", "null", "\0", "🎉")
_NO_IDS = (True, 1.0, 1.5, float("nan"), [], {}, [1], {"id": 1})
_SERVERS: tuple[list[Any], ...] = ([],) * 30 + (
    [{"name": "gone", "command": "/no/such/program", "args": [], "env": []}],
    [{"type": "http", "name": "refused", "url": "http://127.0.0.1:9/mcp", "headers": []}],
)


class Messages:
    """A stream of lines for one connection. All that it does comes from `chance`.

    `sessions` is looked at each time: ids of the sessions that are there.
    """

    def __init__(self, chance: random.Random, workspace: Path, sessions: Sequence[str]) -> None:
        self.chance = chance
        self._sessions = sessions
        self._ids = itertools.count(1)
        self._workspace = str(workspace)
        self._last = b'{"jsonrpc":"2.0","method":"session/cancel"}'
        directories = (self._workspace, str(workspace / "tests"), "/no/such/place", "relative", "")
        self.grammar = Grammar(
            chance,
            {
                "cwd": (*[self._workspace] * 9, *directories),
                "additionalDirectories": (str(workspace / "tests"), self._workspace),
                "methodId": ("hermes-configured", "hermes-setup", "none"),
                "modeId": ("default", "accept_edits", "plan", "dont_ask", "auto", "no such mode"),
                "configId": ("mode", "model", "thought_level", "effort", "no such option"),
                "value": ("default", "plan", "low", "high", "offline"),
                "text": _SCRIPTS,
                "uri": (f"file://{self._workspace}/README.md", "file:///no/such/file", "https://[", "zed:///agent",
                        "a b"),
                "data": ("aGVsbG8=", "no base64!", ""),
                "mimeType": ("text/plain", "image/png", "audio/wav", "application/pdf", "x/y"),
                "command": ("/no/such/program",),
                "url": ("http://127.0.0.1:9/mcp", "ftp://a", "http://", "http://a:b"),
                "taskId": ("t1", "proc_1"),
                "cursor": ("", "x", "MjAyNg=="),
            },
        )  # fmt: skip

    def lines(self, count: int) -> Iterator[bytes]:
        """So many lines, whole and damaged, each with what ends it."""
        for _ in range(count):
            kind = self.chance.random()
            line = _encoded(self._message(kind))
            if 0.62 < kind < 0.9:
                line, self._last = damaged(self.chance, line, self._last), line
            yield line + self.chance.choice((b"\n",) * 60 + (b"\r\n", b"\n\n", b"\n \n", b""))

    def _message(self, kind: float) -> dict[str, Any]:
        message = self.valid() if kind < 0.3 or kind > 0.62 else spoiled(self.chance, self.valid())
        if kind > 0.9:
            self._renamed(message)
        return message

    def valid(self) -> dict[str, Any]:
        """A request or a notification that a client might send, with an id of its own."""
        self.grammar.known["sessionId"] = (*list(self._sessions)[-6:], *list(self._sessions)[-3:], "ses_none")
        if self.chance.random() < _RARE:
            notice = self.chance.choice(NOTICES)
            return {"jsonrpc": "2.0", "method": notice, "params": self.grammar.value(params_of(notice))}
        method = self.chance.choices(REQUESTS, [_OFTEN.get(name, 3.0) for name in REQUESTS])[0]
        return self.request(method)

    def request(self, method: str) -> dict[str, Any]:
        """A valid request of that method."""
        params = self.grammar.value(params_of(method))
        if "mcpServers" in params:
            params["mcpServers"] = self.chance.choice(_SERVERS)
        return {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params}

    def every_field_wrong(self, method: str) -> Iterator[bytes]:
        """For each field of a request of that method: every odd value in it, and the request without it."""
        for _ in range(12):
            whole = self.request(method)
            for path in places(whole):
                if path[0] == "id":
                    continue
                for odd in self.chance.sample(ODD, 6):
                    yield _encoded(replaced({**whole, "id": next(self._ids)}, path, odd())) + b"\n"
                yield _encoded(removed({**whole, "id": next(self._ids)}, path)) + b"\n"

    def _renamed(self, message: dict[str, Any]) -> None:
        """Another id, or another method."""
        what = self.chance.random()
        if what < 0.3:
            message["id"] = self.chance.choice(_ODD_IDS)
        elif what < 0.5:
            message["id"] = self.chance.choice(_NO_IDS)
        elif what < 0.7:
            message["id"] = self.chance.randrange(1, 50)
        elif what < 0.8:
            message["method"] = self.chance.choice(
                ("", "_", "session/update", "rpc.discover", "\ud800", "x" * 9_999, "_hermes/", "$/cancel_request",
                 "initialize ")
            )  # fmt: skip
        elif what < 0.9:
            message["jsonrpc"] = self.chance.choice(("1.0", 2, None))
        else:
            del message["method"]

    def answers_to(self, method: str, request_id: Any, params: dict[str, Any]) -> list[dict[str, Any]]:
        """What the editor says to a question of the agent: right, wrong, twice, or nothing."""
        schema = result_of(method)
        right: dict[str, Any] = {"jsonrpc": "2.0", "id": request_id, "result": {}}
        if schema is not None:
            options = [option["optionId"] for option in params.get("options", ())] or ["none"]
            self.grammar.known["optionId"] = options
            right["result"] = self.grammar.value(schema)
        match self.chance.choice(("right", "right", "right", "spoiled", "twice", "error", "nothing", "mad")):
            case "right":
                return [right]
            case "spoiled":
                return [spoiled(self.chance, right)]
            case "twice":
                return [right, right]
            case "error":
                return [{"jsonrpc": "2.0", "id": request_id, "error": {"code": -32000, "message": "no"}}]
            case "mad":
                return [{"jsonrpc": "2.0", "id": request_id, "error": self.chance.choice(ODD)()}]
        return []


def _encoded(message: dict[str, Any]) -> bytes:
    return json.dumps(message, ensure_ascii=_has_half_pairs(message)).encode()


def _has_half_pairs(message: dict[str, Any]) -> bool:
    """A half of a surrogate pair has no bytes in UTF-8, only an escape."""
    return "\\ud" in json.dumps(message)
