"""What the fake editor does for an agent that asks: files with unsaved buffers, terminals, forms."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

Params = dict[str, Any]
Handler = Callable[[Params], Awaitable[Any]]

SHELL = "/bin/sh"


class RpcError(Exception):
    """A JSON-RPC error, received or to be sent."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(f"{code}: {message}" + (f" ({data})" if data else ""))
        self.code = code
        self.message = message
        self.data = data

    def as_json(self) -> dict[str, Any]:
        return {"code": self.code, "message": self.message} | ({"data": self.data} if self.data is not None else {})


@dataclass(slots=True)
class Terminal:
    process: asyncio.subprocess.Process
    limit: int
    output: bytearray = field(default_factory=bytearray)
    truncated: bool = False
    reader: asyncio.Task[None] | None = None

    async def read(self) -> None:
        stream = self.process.stdout
        while stream is not None and (data := await stream.read(65536)):
            self.output += data
            if len(self.output) > self.limit:
                self.truncated = True
                del self.output[: len(self.output) - self.limit]
        await self.process.wait()

    def status(self) -> dict[str, Any] | None:
        code = self.process.returncode
        if code is None:
            return None
        if code < 0:
            return {"exitCode": None, "signal": signal.Signals(-code).name}
        return {"exitCode": code, "signal": None}

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)


class EditorHost:
    """The editor's own files, terminals and forms.

    `buffers` are files open in the editor: their text wins over the disk. `forms` answers elicitation/create.
    """

    def __init__(self) -> None:
        self.buffers: dict[str, str] = {}
        self.terminals: dict[str, Terminal] = {}
        self.forms: Handler = _decline
        self._numbers = count(1)

    def handlers(self) -> dict[str, Handler]:
        return {
            "fs/read_text_file": self.read_text_file,
            "fs/write_text_file": self.write_text_file,
            "terminal/create": self.create_terminal,
            "terminal/output": self.terminal_output,
            "terminal/wait_for_exit": self.wait_for_exit,
            "terminal/kill": self.kill_terminal,
            "terminal/release": self.release_terminal,
            "elicitation/create": self.fill_form,
        }

    async def read_text_file(self, params: Params) -> Any:
        lines = self._text(params["path"]).splitlines(keepends=True)
        start = max((params.get("line") or 1) - 1, 0)
        limit = params.get("limit")
        return {"content": "".join(lines[start : None if limit is None else start + limit])}

    async def write_text_file(self, params: Params) -> Any:
        _save(params["path"], params["content"])
        if params["path"] in self.buffers:
            self.buffers[params["path"]] = params["content"]
        return {}

    async def create_terminal(self, params: Params) -> Any:
        # An editor hands a command without arguments to the shell.
        words = [params["command"], *(params.get("args") or ())]
        if len(words) == 1:
            words = [SHELL, "-c", *words]
        process = await asyncio.create_subprocess_exec(
            *words,
            cwd=params.get("cwd"),
            env={**os.environ, **{item["name"]: item["value"] for item in params.get("env") or ()}},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        terminal = Terminal(process, params.get("outputByteLimit") or 1 << 20)
        terminal.reader = asyncio.create_task(terminal.read())
        terminal_id = f"term-{next(self._numbers)}"
        self.terminals[terminal_id] = terminal
        return {"terminalId": terminal_id}

    async def terminal_output(self, params: Params) -> Any:
        terminal = self._terminal(params)
        text = terminal.output.decode("utf-8", "replace")
        return {"output": text, "truncated": terminal.truncated, "exitStatus": terminal.status()}

    async def wait_for_exit(self, params: Params) -> Any:
        terminal = self._terminal(params)
        if terminal.reader is not None:
            await asyncio.shield(terminal.reader)
        return terminal.status()

    async def kill_terminal(self, params: Params) -> Any:
        self._terminal(params).kill()
        return {}

    async def release_terminal(self, params: Params) -> Any:
        await _end(self._terminal(params))
        del self.terminals[params["terminalId"]]
        return {}

    async def fill_form(self, params: Params) -> Any:
        return await self.forms(params)

    async def close(self) -> None:
        for terminal in self.terminals.values():
            await _end(terminal)
        self.terminals.clear()

    def _text(self, path: str) -> str:
        if path in self.buffers:
            return self.buffers[path]
        try:
            return Path(path).read_text(encoding="utf-8")
        except FileNotFoundError:
            raise RpcError(-32002, f"Resource not found: {path}") from None
        except (OSError, UnicodeDecodeError) as error:
            raise RpcError(-32603, f"cannot read {path}: {type(error).__name__}") from None

    def _terminal(self, params: Params) -> Terminal:
        try:
            return self.terminals[params["terminalId"]]
        except KeyError:
            raise RpcError(-32002, f"no terminal {params['terminalId']}") from None


async def _decline(params: Params) -> Any:
    return {"action": "decline"}


async def _end(terminal: Terminal) -> None:
    terminal.kill()
    if terminal.reader is not None:
        await terminal.reader


def _save(path: str, content: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(content, encoding="utf-8")
